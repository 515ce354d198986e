package fieldpath

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPathsHaveOneCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		"spec.nodeName":             "spec.nodeName",
		`metadata.labels['a.b/c']`:  "metadata.labels['a.b/c']",
		`metadata.labels["a.b/c"]`:  "metadata.labels['a.b/c']",
		`metadata['labels']["app"]`: "metadata.labels.app",
		`['spec'].x`:                "spec.x",
		`a['it\'s'].b`:              `a['it\'s'].b`,
		`a["say \"\\\""]`:           `a['say "\\"']`,
		"status.conditions[*].type": "status.conditions[*].type",
		"a[*][*]":                   "a[*][*]",
		"a['']":                     "a['']",
		"a/b-c:d":                   "a/b-c:d",
	} {
		p, err := Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%s is %s, %v; want %s", text, p, err, want)
			continue
		}
		if again, err := Parse(p.String()); err != nil || again.String() != want {
			t.Errorf("%s again is %s, %v", p, again, err)
		}
	}
}

func TestMalformedPathsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a name is missing",
		".a":                           "a name is missing",
		"a.":                           "a name is missing",
		"a..b":                         "a name is missing",
		"a b":                          "where a . or a [ is expected",
		"a[0]":                         "where a . or a [ is expected",
		"a['b'":                        "a ] is missing",
		"a['b":                         "does not end",
		"a['b']c":                      "where a . or a [ is expected",
		strings.Repeat("a.", 70) + "a": "deeper than",
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, p, err, want)
		}
	}
}

func parseAll(t testing.TB, texts ...string) []Path {
	t.Helper()
	var paths []Path
	for _, text := range texts {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

const object = `{"kind":"Pod","metadata":{"name":"a","annotations":{"leader":"x"},"labels":{"a.b/c":"d"}},` +
	`"spec":{"n":9007199254740993,"none":null,"list":[1,2]},"status":{"conditions":[{"type":"Ready","at":"1"},{"at":"2"}],"empty":{}}}`

func TestLookupFindsScalarsAndNothingBeyond(t *testing.T) {
	for path, want := range map[string]string{
		"spec.n": "9007199254740993", "metadata.labels['a.b/c']": `"d"`, "spec.list": "[1,2]", "status.empty": "{}",
		"spec.none": "", "spec.list.x": "", "spec.n.x": "", "nothing": "", "metadata.labels.a": "",
	} {
		value, ok := parseAll(t, path)[0].Lookup([]byte(object))
		if ok != (want != "") || ok && string(value) != want {
			t.Errorf("%s is %s, %v; want %s", path, value, ok, want)
		}
	}
}

func TestKeepHoldsWhatLiesAtThePaths(t *testing.T) {
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"spec.n"}, `{"spec":{"n":9007199254740993}}`},
		{[]string{"spec"}, `{"spec":{"n":9007199254740993,"none":null,"list":[1,2]}}`},
		{[]string{"spec.n", "metadata.name", "kind"}, `{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":9007199254740993}}`},
		{[]string{"status.conditions[*].type"}, `{"status":{"conditions":[{"type":"Ready"},{}]}}`},
		{[]string{"status.conditions[*].type", "status.conditions[*].at"}, `{"status":{"conditions":[{"type":"Ready","at":"1"},{"at":"2"}]}}`},
		{[]string{"status.conditions[*]"}, `{"status":{"conditions":[{"type":"Ready","at":"1"},{"at":"2"}]}}`},
		{[]string{"status.empty"}, `{"status":{"empty":{}}}`},
		{[]string{"spec.none"}, `{"spec":{"none":null}}`},
		{[]string{"nothing.here", "kind"}, `{"kind":"Pod"}`},
		{[]string{"status.conditions.type", "kind"}, `{"kind":"Pod"}`}, // not through lists
		{[]string{"status.conditions[*].other", "kind"}, `{"kind":"Pod"}`},
		{[]string{"kind.x", "kind"}, `{"kind":"Pod"}`},
	} {
		got, ok := NewTree(parseAll(t, tt.paths...)).Keep(nil, []byte(object))
		if !ok || string(got) != tt.want {
			t.Errorf("%v keeps %s, %v\nwant %s", tt.paths, got, ok, tt.want)
		}
	}
}

func TestDropLeavesTheRest(t *testing.T) {
	const small = `{"a":{"b":1,"c":[{"d":1,"e":2},{"d":3}]},"f":{"g":{"h":1}},"i":[]}`
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"a"}, `{"f":{"g":{"h":1}},"i":[]}`},
		{[]string{"a.c[*].d"}, `{"a":{"b":1,"c":[{"e":2},{}]},"f":{"g":{"h":1}},"i":[]}`},
		{[]string{"a.c[*]"}, `{"a":{"b":1},"f":{"g":{"h":1}},"i":[]}`},
		{[]string{"f.g.h"}, `{"a":{"b":1,"c":[{"d":1,"e":2},{"d":3}]},"i":[]}`}, // whether f was there does not matter
		{[]string{"i[*].x"}, `{"a":{"b":1,"c":[{"d":1,"e":2},{"d":3}]},"f":{"g":{"h":1}}}`},
		{[]string{"nothing", "a.b.x"}, small},
		{[]string{"a.b", "a.c", "f"}, `{"i":[]}`},
	} {
		got, ok := NewTree(parseAll(t, tt.paths...)).Drop(nil, []byte(small))
		if !ok || string(got) != tt.want {
			t.Errorf("without %v: %s, %v\nwant %s", tt.paths, got, ok, tt.want)
		}
	}
}

func TestTreesOfTheSamePathsAreTheSame(t *testing.T) {
	want := []string{"a", "b.c", "b['x.y']", "d[*].e"}
	for _, paths := range [][]string{
		{"a", "b.c", `b["x.y"]`, "d[*].e"},
		{"d[*].e", "a.b.c", "a", "b['c']", "a.x", "b['x.y']", "b['x.y'].z"},
	} {
		if got := NewTree(parseAll(t, paths...)).Paths(); !slices.Equal(got, want) {
			t.Errorf("%v are %v, want %v", paths, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a.b", "a['b'][*].c", `a["\""]`, "["} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is %q, and that is %q, %v", text, p, again, err)
		}
	})
}

// What is kept and what is dropped are JSON, whatever the object.
func FuzzKeepAndDropYieldJSON(f *testing.F) {
	f.Add([]byte(object), "spec.n", "status.conditions[*].type")
	f.Fuzz(func(t *testing.T, data []byte, first, second string) {
		if !json.Valid(data) {
			return
		}
		a, err := Parse(first)
		b, err2 := Parse(second)
		if err != nil || err2 != nil {
			return
		}
		tree := NewTree([]Path{a, b})
		if got, ok := tree.Keep(nil, data); ok && !json.Valid(got) {
			t.Errorf("keeps %s", got)
		}
		if got, ok := tree.Drop(nil, data); ok && !json.Valid(got) {
			t.Errorf("leaves %s", got)
		}
	})
}
