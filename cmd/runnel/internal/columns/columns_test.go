package columns

import (
	"testing"
	"time"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

func mustDecode(t testing.TB, text string) Object {
	t.Helper()
	o, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNumbersAreShownAsTheyAreWritten(t *testing.T) {
	for _, number := range []string{"0", "-1", "9007199254740993", "18446744073709551617", "0.5", "1.0", "1e3", "0.1000"} {
		if got := mustDecode(t, `{"n":`+number+`}`).text("n"); got != number {
			t.Errorf("%s is shown as %s", number, got)
		}
	}
}

func TestPathsFindWhatRunnelsGrammarNames(t *testing.T) {
	o := mustDecode(t, `{"spec":{"nodeName":"n1","none":null,"map":{"a":1},"$ref":"r"},"metadata":{"labels":{"a.b/c":"x","it's":"y","sp ace":"z"}},
		"status":{"conditions":[{"type":"A"},{"type":"B"}]},"kind":"Pod"}`)
	for path, want := range map[string]string{
		"kind":                          "Pod",
		"spec.nodeName":                 "n1",
		"spec['nodeName']":              "n1",
		`["spec"].nodeName`:             "n1",
		"metadata.labels['a.b/c']":      "x",
		`metadata.labels["a.b/c"]`:      "x",
		`metadata.labels['it\'s']`:      "y",
		"metadata.labels['sp ace']":     "z",
		"status.conditions[*].type":     "A,B",
		"status.conditions[*]['type']":  "A,B",
		"status.conditions[*]":          `{"type":"A"},{"type":"B"}`,
		"spec.map":                      `{"a":1}`,
		"spec.$ref":                     "r",
		"spec.none":                     "",
		"spec.missing.deeper":           "",
		"spec.nodeName.deeper":          "",
		"status.conditions[*].missing":  "",
		"metadata.labels['not.there/']": "",
	} {
		columns, err := Paths([]string{path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := columns[1].Cell(o, time.Time{}); got != want || columns[1].Name != path {
			t.Errorf("%s: column %s is %q, want %q", path, columns[1].Name, got, want)
		}
	}
}

func TestPathsMustBeOfRunnelsGrammar(t *testing.T) {
	for _, path := range []string{"", ".spec", "a[0]", "a[?(@.b==1)]", "a['b"} {
		if _, err := Paths([]string{path}); err == nil {
			t.Errorf("%q was taken", path)
		}
	}
}

func TestEventsOfBothGroupsReadTheSame(t *testing.T) {
	now := time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC)
	core := mustDecode(t, `{"lastTimestamp":"2024-01-01T00:58:00Z","count":7,"source":{"component":"kubelet","host":"n1"},"type":"Normal","reason":"R","message":"m","involvedObject":{"kind":"Pod","name":"web"}}`)
	other := mustDecode(t, `{"deprecatedLastTimestamp":"2024-01-01T00:58:00Z","deprecatedCount":7,"deprecatedSource":{"component":"kubelet","host":"n1"},"type":"Normal","reason":"R","note":"m","regarding":{"kind":"Pod","name":"web"}}`)
	for _, c := range events() {
		if c.Cell == nil {
			continue
		}
		if a, b := c.Cell(core, now), c.Cell(other, now); a != b {
			t.Errorf("%s: %q of the core group, %q of events.k8s.io", c.Name, a, b)
		}
	}
}

func TestCustomResourcesWithoutColumnsHaveTheDefaultOnes(t *testing.T) {
	if got := Custom(nil); len(got) != 2 || got[1].Name != "AGE" {
		t.Errorf("%+v", got)
	}
	// The API server takes paths that nobody can follow.
	if got := Custom([]resources.PrinterColumn{{Name: "a", JSONPath: ".a["}, {Name: "b", JSONPath: ".b"}}); len(got) != 2 || got[1].Name != "B" {
		t.Errorf("%+v", got)
	}
}

// Whatever an object looks like, a table can be made of it.
func FuzzCells(f *testing.F) {
	for _, sample := range samples() {
		f.Add(sample)
	}
	f.Add(`{"spec":[],"status":{"conditions":{},"containerStatuses":[1,null,[]],"addresses":"x"},"metadata":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Decode([]byte(text))
		if err != nil {
			return
		}
		for _, r := range resources.Builtin() {
			for _, c := range For(r) {
				if c.Cell != nil {
					c.Cell(o, time.Time{})
				}
			}
		}
	})
}

// A path is either refused or followed, and never panics.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"spec.nodeName", "a['b.c']", `a["b"]`, "a[*].b", "['", "]", "a]", "[*]", "range", "a['range x']", `a['\\\\']`, "a[?(@.b==1)]"} {
		f.Add(seed)
	}
	o := mustDecode(f, `{"a":[{"b":1}],"spec":{"nodeName":"n"}}`)
	f.Fuzz(func(t *testing.T, path string) {
		columns, err := Paths([]string{path})
		if err != nil {
			return
		}
		columns[1].Cell(o, time.Time{})
	})
}
