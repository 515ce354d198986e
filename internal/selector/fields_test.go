package selector

import (
	"strings"
	"testing"

	"github.com/runnel-dev/runnel/internal/record"
)

func parseFields(t testing.TB, text, resource string) *Selector {
	t.Helper()
	fields, err := ParseFields(text, "", resource)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return NewCriteria(nil, nil, fields).In("")
}

func TestFieldSelectorsCompareTextOfScalars(t *testing.T) {
	object := &record.Record{Raw: []byte(`{"metadata":{"name":"a","labels":{"a.b/c":"d,e"}},` +
		`"spec":{"nodeName":"n1","replicas":3,"big":9007199254740993,"on":true,"off":false,"none":null,"empty":"","list":["x"],"text":"a=(b) c"}}`)}
	for text, want := range map[string]bool{
		"":                                     true,
		"spec.nodeName=n1":                     true,
		"spec.nodeName==n1":                    true,
		" spec.nodeName = n1 , spec.on = true": true,
		"spec.nodeName=n2":                     false,
		"spec.nodeName!=n2":                    true,
		"spec.nodeName!=n1":                    false,
		"spec.nodeName in (n0, n1)":            true,
		"spec.nodeName in (n0)":                false,
		"spec.nodeName notin (n0,n2)":          true,
		"spec.nodeName notin(n1)":              false,
		"spec.nodeName":                        true,
		"!spec.nodeName":                       false,
		"spec.nodeName=n1,spec.replicas=4":     false,
		"spec.replicas=3":                      true,
		"spec.big=9007199254740993":            true,
		"spec.big=9007199254740992":            false,
		"spec.off=false":                       true,
		"spec.other=":                          true, // absent is empty, as for the API server
		"spec.other!=x":                        true,
		"spec.other=x":                         false,
		"spec.other in (,x)":                   true,
		"spec.other":                           false,
		"!spec.other":                          true,
		"spec.none":                            false,
		"spec.none=":                           true,
		"spec.empty":                           true,
		"spec.list=x":                          false, // no scalar equals nothing
		"spec.list=":                           false,
		"spec.list!=x":                         true,
		"spec.list":                            true,
		"spec.list.x=":                         true,
		`spec.text=a\=\(b\) c`:                 true,
		`metadata.labels['a.b/c']=d\,e`:        true,
		`metadata.labels["a.b/c"] in (d\,e)`:   true,
		"metadata.labels['a.b/c']":             true,
		"!metadata.labels['a=b']":              true,
	} {
		if got := parseFields(t, text, "things").Matches(object); got != want {
			t.Errorf("%q matches: %v, want %v", text, got, want)
		}
	}
}

func TestComputedFieldsHaveTheAPIServersDefaults(t *testing.T) {
	empty, set := &record.Record{Raw: []byte(`{}`)}, &record.Record{Raw: []byte(`{"spec":{"unschedulable":true,"hostNetwork":true}}`)}
	for _, tt := range []struct {
		resource, text string
		object         *record.Record
		want           bool
	}{
		{"nodes", "spec.unschedulable=false", empty, true},
		{"nodes", "spec.unschedulable=true", set, true},
		{"nodes", "spec.unschedulable!=true", empty, true},
		{"pods", "spec.hostNetwork=false", empty, true},
		{"pods", "spec.hostNetwork in (true)", set, true},
		{"things", "spec.hostNetwork=false", empty, false},
		{"events", "source=kubelet", &record.Record{Raw: []byte(`{"source":{"component":"kubelet"},"reportingComponent":"x"}`)}, true},
		{"events", "source=x", &record.Record{Raw: []byte(`{"source":{},"reportingComponent":"x"}`)}, true},
		{"events", "source=", empty, true},
	} {
		if got := parseFields(t, tt.text, tt.resource).Matches(tt.object); got != tt.want {
			t.Errorf("%s of %s in %s: %v", tt.text, tt.resource, tt.object.Raw, got)
		}
	}
}

func TestFieldSelectorsThatMeanTheSameHaveOneKey(t *testing.T) {
	for _, same := range [][]string{
		{"a=b", "a==b", " a = b", "a in (b)", "['a'] in (b,b)", "a=b,a=b"},
		{"a!=b", "a notin (b)", "a!=b,a notin ( b )"},
		{"a in (b,c),!d,e", "e,!d,a in (c, b)", "e, ! d,a in (c,b,c)"},
		{`a=b\,c`, `a in (b\,c)`},
		{"", " "},
	} {
		for _, text := range same {
			if got, want := parseFields(t, text, "things").Key(), parseFields(t, same[0], "things").Key(); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
	keys := map[Key]string{}
	for _, text := range []string{"", "a", "!a", "a=", "a=b", "a!=b", "a in (b,c)", "a notin (b,c)", `a=b\,c`, "a.b", "a['b.c']", "a.b.c"} {
		key := parseFields(t, text, "things").Key()
		if other, taken := keys[key]; taken {
			t.Errorf("%q and %q share %q", text, other, key)
		}
		keys[key] = text
	}
}

func TestMalformedFieldSelectorsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		",":          "a path is missing",
		"a,":         "a path is missing",
		"=b":         "a path is missing",
		"a..b=c":     "a name is missing",
		"a[*]=b":     "only single values",
		"a[0]=b":     "where a . or a [ is expected",
		"a=b=c":      "needs a backslash",
		"a in b":     "a ( is missing",
		"a in (b":    "a ) is missing",
		"a notin":    "a comma or the end is expected",
		`a=b\`:       "a backslash at the end",
		"a b":        "a comma or the end is expected",
		"!a=b":       "a comma or the end is expected",
		"a in (b) c": "a comma or the end is expected",
		"a['b=c":     "does not end",
		"a>b":        "where a . or a [ is expected",
		"a=(b)":      "needs a backslash",
	} {
		if fields, err := ParseFields(text, "", "things"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d requirements, %v; want %q", text, len(fields), err, want)
		}
	}
}

func FuzzParseFields(f *testing.F) {
	for _, seed := range []string{"a.b=c,d in (e,f),!g,h notin (i)", `a['\'']=b\,`, "a[", "!"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := ParseFields(text, "", "pods")
		if err != nil {
			return
		}
		_, form := canonicalFields(fields)
		again, err := ParseFields(form, "", "pods")
		if err != nil {
			t.Fatalf("%q is %q: %v", text, form, err)
		}
		if _, twice := canonicalFields(again); twice != form {
			t.Errorf("%q is %q, and that is %q", text, form, twice)
		}
	})
}
