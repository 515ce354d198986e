package client

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMergePatchKeepsWhatThePatchDoesNotName(t *testing.T) {
	for _, tt := range []struct{ name, object, patch, want string }{
		{"nothing", `{"a":1}`, `{}`, `{"a":1}`},
		{"nothing of nothing", `{}`, `{}`, `{}`},
		{"a member changes in its place", `{"a":1,"b":2,"c":3}`, `{"b":"x"}`, `{"a":1,"b":"x","c":3}`},
		{"new members come last, in the patch's order", `{"b":1}`, `{"z":1,"a":2}`, `{"b":1,"z":1,"a":2}`},
		{"null removes", `{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		{"null removes the last one", `{"a":1}`, `{"a":null}`, `{}`},
		{"null removes what is not there", `{"a":1}`, `{"b":null}`, `{"a":1}`},
		{"objects merge", `{"s":{"a":1,"b":2},"t":0}`, `{"s":{"b":3,"c":4}}`, `{"s":{"a":1,"b":3,"c":4},"t":0}`},
		{"an object empties and stays", `{"s":{"a":1}}`, `{"s":{"a":null}}`, `{"s":{}}`},
		{"a scalar becomes an object", `{"s":1}`, `{"s":{"a":1}}`, `{"s":{"a":1}}`},
		{"an object becomes a list", `{"s":{"a":1}}`, `{"s":[1]}`, `{"s":[1]}`},
		{"lists are replaced", `{"l":[{"a":1},{"b":2}]}`, `{"l":[{"a":null}]}`, `{"l":[{"a":null}]}`},
		{"a new object loses its nulls", `{}`, `{"s":{"a":null,"t":{"b":null,"c":1}}}`, `{"s":{"t":{"c":1}}}`},
		{"a null that is held stays", `{"a":null,"b":1}`, `{"b":2}`, `{"a":null,"b":2}`},
		{"a null that is held gets a value", `{"a":null}`, `{"a":1}`, `{"a":1}`},
		{"numbers of any size", `{"n":9007199254740993,"m":1.0e400,"b":1}`, `{"b":18446744073709551617}`,
			`{"n":9007199254740993,"m":1.0e400,"b":18446744073709551617}`},
		{"numbers as they are written", `{"n":1.0,"m":-0,"e":1E+2,"b":1}`, `{"b":2.50}`, `{"n":1.0,"m":-0,"e":1E+2,"b":2.50}`},
		{"unicode and escapes", `{"s":"ü\u00fc\u2028<&>\ud83d\ude00","b":1}`, `{"b":"\u00e9é"}`, `{"s":"ü\u00fc\u2028<&>\ud83d\ude00","b":"\u00e9é"}`},
		{"half a character", `{"s":"\ud800","\ud800":1,"\udc00":2}`, `{"\udc00":3}`, `{"s":"\ud800","\ud800":1,"\udc00":3}`},
		{"names are compared by what they mean", `{"a/b":1}`, `{"\u0061\/b":2}`, `{"a/b":2}`},
		{"the empty name", `{"":{"":1}}`, `{"":{"":2}}`, `{"":{"":2}}`},
		{"a name that is there twice", `{"a":1,"b":2,"a":3}`, `{"a":4}`, `{"a":4,"b":2,"a":4}`},
		{"white space", " { \"a\" : [ 1 ] ,\n\"b\":2 } ", ` { "b" : 3 } `, `{"a":[ 1 ],"b":3}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			object, patch := []byte(tt.object), []byte(tt.patch)
			got, err := mergePatch(object, patch)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s with %s: %s, %v; want %s", tt.object, tt.patch, got, err, tt.want)
			}
			clear(got) // nothing of the arguments is in it
			if string(object) != tt.object || string(patch) != tt.patch {
				t.Error("the result aliases an argument")
			}
		})
	}
}

// The examples of RFC 7386, appendix A, as far as both are objects.
func TestMergePatchFollowsTheRFC(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		if got, err := mergePatch([]byte(tt[0]), []byte(tt[1])); err != nil || string(got) != tt[2] {
			t.Errorf("%s with %s: %s, %v; want %s", tt[0], tt[1], got, err, tt[2])
		}
	}
}

func TestMergePatchRefusesWhatIsNoObject(t *testing.T) {
	for _, tt := range [][2]string{
		{`[]`, `{}`}, {`{}`, `[]`}, {`{}`, `null`}, {``, `{}`}, {`{}`, ``}, {`{"a":1`, `{}`}, {`{}`, `{"a"`}, {`{}`, `{"a":tru}`},
		{`{}`, `{} {}`}, {`{}x`, `{}`}, {`{}`, `{"a":1,"a":2}`}, {`{}`, `{"a":1,"\u0061":2}`}, {`{}`, `{"s":{"a":1,"a":2}}`},
	} {
		if got, err := mergePatch([]byte(tt[0]), []byte(tt[1])); err == nil {
			t.Errorf("%q with %q: %s, want an error", tt[0], tt[1], got)
		}
	}
}

func TestMergePatchMakesTheNewObjectOfTheOld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := anyObject(3).Draw(t, "before")
		after := change(t, before)
		patch := diff(before, after)
		oldText := text(t, before)
		got, err := mergePatch([]byte(oldText), []byte(text(t, patch)))
		if err != nil {
			t.Fatalf("%s with %v: %v", oldText, patch, err)
		}
		if difference := cmp.Diff(after, decode(t, got)); difference != "" {
			t.Fatalf("%s with %s (-want +got):\n%s", oldText, text(t, patch), difference)
		}
		// What stays keeps its order, and what is new follows.
		var want []string
		for _, m := range members(t, []byte(oldText)) {
			if _, stays := after[m]; stays {
				want = append(want, m)
			}
		}
		if names := members(t, got); !slices.Equal(names[:len(want)], want) {
			t.Fatalf("members %q, want first %q", names, want)
		}
	})
}

// FuzzMergePatch compares with a merge of decoded objects.
func FuzzMergePatch(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1,"b":{"c":[1,2]}}`, `{"b":{"c":null,"d":9007199254740993}}`},
		{`{"a":null}`, `{"x":{"y":null}}`}, {`{"\ud800":1}`, `{"a":"\u0000"}`}, {`{"a":1,"a":2}`, `{"a":{}}`}, {`{}`, `[]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, object, patch string) {
		got, err := mergePatch([]byte(object), []byte(patch))
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q with %q: not JSON: %q", object, patch, got)
		}
		if strings.Contains(object+patch, `\u`) || !utf8.ValidString(object+patch) {
			return // encoding/json takes all that is no character for one
		}
		if want := merge(decode(t, []byte(object)), decode(t, []byte(patch))); !reflect.DeepEqual(decode(t, got), want) {
			t.Errorf("%q with %q: %s, want %v", object, patch, got, want)
		}
	})
}

// merge is the algorithm of RFC 7386 on decoded values.
func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged := map[string]any{}
	if held, ok := target.(map[string]any); ok {
		for k, v := range held {
			merged[k] = v
		}
	}
	for k, v := range p {
		if v == nil {
			delete(merged, k)
		} else {
			merged[k] = merge(merged[k], v)
		}
	}
	return merged
}

// diff is a merge patch that makes after of before.
func diff(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for k := range before {
		if _, stays := after[k]; !stays {
			patch[k] = nil
		}
	}
	for k, a := range after {
		b, held := before[k]
		am, aObject := a.(map[string]any)
		bm, bObject := b.(map[string]any)
		switch {
		case held && reflect.DeepEqual(a, b):
		case aObject && bObject:
			patch[k] = diff(bm, am)
		default:
			patch[k] = a
		}
	}
	return patch
}

// anyObject draws objects with every kind of value; nulls, too: they are held, though a
// patch could not bring them.
func anyObject(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(anyName(), rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth, true) }), 0, 4)
}

func anyName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "a/b", "", "ü", "\u2028", `"`}), rapid.String())
}

func anyValue(depth int, null bool) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SampledFrom([]json.Number{"0", "-1", "1.0", "1e3", "9007199254740993", "18446744073709551617", "0.1"}),
			func(n json.Number) any { return n }),
	}
	if null {
		kinds = append(kinds, rapid.Just[any](nil))
	}
	if depth > 0 {
		kinds = append(kinds,
			// In a list a patch may bring nulls: lists are replaced as they are.
			rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth-1, true) }), 0, 3),
				func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(anyName(), rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth-1, null) }), 0, 4),
				func(m map[string]any) any { return m }))
	}
	return rapid.OneOf(kinds...)
}

// change draws what an object becomes: members stay, go, change inside or get another
// value, and new ones come.
func change(t *rapid.T, before map[string]any) map[string]any {
	after := map[string]any{}
	names := make([]string, 0, len(before))
	for k := range before {
		names = append(names, k)
	}
	slices.Sort(names) // so that a failure can be drawn again
	for _, k := range names {
		switch rapid.IntRange(0, 3).Draw(t, "what happens to "+k) {
		case 0:
			after[k] = before[k]
		case 1:
			after[k] = anyValue(2, false).Draw(t, "new value")
		case 2:
			after[k] = before[k]
			if m, ok := before[k].(map[string]any); ok {
				after[k] = change(t, m)
			}
		}
	}
	for k, v := range rapid.MapOfN(anyName(), anyValue(2, false), 0, 2).Draw(t, "new members") {
		after[k] = v
	}
	return after
}

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func text(t tester, value any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

func decode(t tester, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return value
}

func members(t tester, data []byte) []string {
	t.Helper()
	all, err := parseMembers(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.name)
	}
	return names
}
