package mergepatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patchOf is the patch, however long it is.
func patchOf(from, to []byte) (patch []byte, ok bool) { return differ{1 << 20}.diff(nil, from, to) }

func TestPatchThatIsNoShorterIsNone(t *testing.T) {
	from, to := []byte(`{"a":{"b":1},"c":1}`), []byte(`{"a":{"b":2},"c":1}`)
	if patch, ok := Diff(from, to); !ok || string(patch) != `{"a":{"b":2}}` {
		t.Errorf("patch is %s, %v", patch, ok)
	}
	if patch, ok := Diff([]byte(`{"a":1,"b":1}`), []byte(`{"a":2,"b":2}`)); ok {
		t.Errorf("patch is %s", patch)
	}
}

func TestNoPatchTellsMembersOfOneNameApart(t *testing.T) {
	for _, tt := range []struct{ from, to string }{
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":1,"a":2}`, `{"a":1}`},
		{`{"a":1,"a":2}`, `{"a":3,"a":4}`},
		{`{"a":1,"b":{"c":1,"c":2}}`, `{"a":1,"b":{"c":2}}`},
	} {
		if got, ok := patchOf([]byte(tt.from), []byte(tt.to)); ok {
			t.Errorf("%s to %s is %s", tt.from, tt.to, got)
		}
	}
	if got, ok := patchOf([]byte(`{"a":1}`), []byte(`{"a":1,"a":2}`)); !ok || string(got) != `{"a":2}` {
		t.Errorf("patch is %s, %v", got, ok) // the last one counts
	}
}

func TestNamesAreFoundInAnyOrder(t *testing.T) {
	if patch, ok := patchOf([]byte(`{"a":1,"b":1,"c":1,"d":1}`), []byte(`{"c":1,"b":1,"a":1}`)); !ok || string(patch) != `{"d":null}` {
		t.Errorf("patch is %s, %v", patch, ok)
	}
}

// BenchmarkOtherNames has no name in common: the cost per name must not depend on
// how many there are.
func BenchmarkOtherNames(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("names=%d", n), func(b *testing.B) {
			object := func(prefix string) []byte {
				var o bytes.Buffer
				for i := range n {
					fmt.Fprintf(&o, `,"%s%d":1`, prefix, i)
				}
				return append(append([]byte{'{'}, o.Bytes()[1:]...), '}')
			}
			from, to := object("a"), object("b")
			for b.Loop() {
				patchOf(from, to)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/name")
		})
	}
}

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
		got, ok := patchOf([]byte(tt.from), []byte(tt.to))
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
		if got, ok := patchOf([]byte(tt.from), []byte(tt.to)); ok {
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
		patch, ok := patchOf(from, to)
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

// A patch of whatever two JSON objects yields the second.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[1,null]}}`), []byte(`{"b":{"c":[],"d":"\u2028"}}`))
	f.Add([]byte(`{"a":1,"a":{"b":2}}`), []byte(` { "a" : {"b" : 2 , "b" : 3} } `))
	f.Add([]byte(`{"\u0061":1}`), []byte(`{"a":null}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		for _, data := range [][]byte{from, to} {
			if !json.Valid(data) || !utf8.Valid(data) || !isMap(decode(t, data)) {
				return
			}
		}
		patch, ok := patchOf(from, to)
		if !ok {
			return
		}
		if diff := cmp.Diff(decode(t, to), apply(decode(t, from), decode(t, patch))); diff != "" {
			t.Errorf("%s with %s is not %s: %s", from, patch, to, diff)
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
