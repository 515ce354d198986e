package mergepatch

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPatchesSayTheDifference(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{`{"a":1}`, `{"a":2}`, `{"a":2}`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740992}`},
		{`{"a":1,"b":2}`, `{"b":2}`, `{"a":null}`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3,"d":4}}`, `{"a":{"c":3,"d":4}}`},
		{`{"a":{"b":1}}`, `{"a":5}`, `{"a":5}`},
		{`{"a":5}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"a":[1,2]}`, `{"a":[1,null]}`, `{"a":[1,null]}`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{}`},
		{`{"a":{"x":1,"y":2},"b":1}`, `{"a":{"y":2,"x":1},"b":2}`, `{"b":2}`},
		{`{"a":null}`, `{"a":null,"b":1}`, `{"b":1}`},
		{`{"a":null}`, `{}`, `{"a":null}`},
		{`{}`, `{"\"":"\u2028"}`, `{"\"":"\u2028"}`},
	} {
		got, ok := Diff([]byte(tt.from), []byte(tt.to))
		if !ok || string(got) != tt.want {
			t.Errorf("%s to %s is %s, %v; want %s", tt.from, tt.to, got, ok, tt.want)
		}
	}
}

func TestNoPatchCanSetNull(t *testing.T) {
	for _, tt := range []struct{ from, to string }{
		{`{}`, `{"a":null}`},
		{`{"a":1}`, `{"a":null}`},
		{`{}`, `{"a":{"b":null}}`},
		{`{"a":1}`, `{"a":{"b":{"c":null}}}`},
		{`{"a":{"b":1}}`, `{"a":{"b":null}}`},
	} {
		if got, ok := Diff([]byte(tt.from), []byte(tt.to)); ok {
			t.Errorf("%s to %s is %s", tt.from, tt.to, got)
		}
	}
}

// apply is RFC 7386's algorithm, word for word, on decoded values.
func apply(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = apply(t[name], value)
		}
	}
	return t
}

func decode(t interface{ Fatal(...any) }, data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAppliedPatchYieldsTheObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, err := json.Marshal(values(3).Filter(isMap).Draw(t, "from"))
		if err != nil {
			t.Fatal(err)
		}
		to, err := json.Marshal(values(3).Filter(isMap).Draw(t, "to"))
		if err != nil {
			t.Fatal(err)
		}
		patch, ok := Diff(from, to)
		if !ok {
			if !bytes.Contains(to, []byte("null")) {
				t.Fatalf("no patch from %s to %s", from, to)
			}
			return
		}
		if diff := cmp.Diff(decode(t, to), apply(decode(t, from), decode(t, patch))); diff != "" {
			t.Fatalf("%s with %s: %s", from, patch, diff)
		}
	})
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

// values are JSON values with few names, so that objects have them in common.
func values(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](""), rapid.Just[any]("x\"\\ "),
		rapid.Just[any](json.Number("9007199254740993")), rapid.Just[any](json.Number("-1.50")),
	)
	if depth == 0 {
		return scalars
	}
	below := rapid.Deferred(func() *rapid.Generator[any] { return values(depth - 1) })
	names := rapid.SampledFrom([]string{"a", "b", "c", "d\"", ""})
	return rapid.OneOf(
		scalars,
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(names, below, 0, 4), func(v map[string]any) any { return v }),
		rapid.Map(rapid.MapOfN(names, below, 1, 4), func(v map[string]any) any { return v }),
	)
}
