package selector

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/runnel-dev/runnel/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, namespace string, names []string, text string) *Selector {
	t.Helper()
	requirements, err := ParseLabels(text)
	if err != nil {
		t.Fatal(err)
	}
	return NewCriteria(names, requirements, nil).In(namespace)
}

func TestLabelSelectorsMatchAsKubernetesDoes(t *testing.T) {
	labelled := func(labels ...record.Label) *record.Record { return &record.Record{Name: "o", Labels: labels} }
	none, a, b := labelled(), labelled(record.Label{Key: "app", Value: "a"}), labelled(record.Label{Key: "app", Value: "b"})
	five := labelled(record.Label{Key: "app", Value: "5"})
	both := labelled(record.Label{Key: "app", Value: "a"}, record.Label{Key: "tier", Value: "x"})
	for _, test := range []struct {
		text     string
		in, rest []*record.Record
	}{
		{"", []*record.Record{none, a, both}, nil},
		{"app", []*record.Record{a, b, both}, []*record.Record{none}},
		{"!app", []*record.Record{none}, []*record.Record{a, b}},
		{"app=a", []*record.Record{a, both}, []*record.Record{none, b}},
		{"app==a", []*record.Record{a, both}, []*record.Record{none, b}},
		{"app!=a", []*record.Record{none, b}, []*record.Record{a, both}},
		{"app in (a, 5)", []*record.Record{a, five}, []*record.Record{none, b}},
		{"app notin (a,b)", []*record.Record{none, five}, []*record.Record{a, b}},
		{"app=", nil, []*record.Record{none, a}},
		{"app>4", []*record.Record{five}, []*record.Record{none, a}},
		{"app<4", nil, []*record.Record{none, five, a}},
		{"app=a,tier", []*record.Record{both}, []*record.Record{none, a}},
		{"app=a,app=b", nil, []*record.Record{none, a, b}},
	} {
		s := parse(t, "", nil, test.text)
		for _, r := range test.in {
			if !s.Matches(r) {
				t.Errorf("%q does not match %v", test.text, r.Labels)
			}
		}
		for _, r := range test.rest {
			if s.Matches(r) {
				t.Errorf("%q matches %v", test.text, r.Labels)
			}
		}
	}
}

func TestNamespaceAndNamesLimitWhatMatches(t *testing.T) {
	s := parse(t, "n", []string{"c", "a", "c"}, "")
	for key, want := range map[[2]string]bool{
		{"n", "a"}: true, {"n", "c"}: true, {"n", "b"}: false, {"m", "a"}: false, {"", "a"}: false,
	} {
		if got := s.Matches(&record.Record{Namespace: key[0], Name: key[1]}); got != want {
			t.Errorf("%v: %v", key, got)
		}
	}
	if s.Namespace() != "n" {
		t.Errorf("namespace %q", s.Namespace())
	}
}

// A thousand namespaces times ten thousand names is one list of names.
func TestNamespacesShareTheCriteria(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("name-%d", i)
	}
	c := NewCriteria(names, nil, nil)
	keys := map[Key]bool{}
	allocations := testing.AllocsPerRun(1, func() {
		for i := range 1000 {
			keys[c.In(strconv.Itoa(i)).Key()] = true
		}
	})
	if allocations > 5000 {
		t.Errorf("%v allocations for 1,000 namespaces", allocations)
	}
	if len(keys) != 1000 {
		t.Errorf("%d keys, want 1,000", len(keys))
	}
}

func TestLabelSetsOfAnySizeAreLookedUp(t *testing.T) {
	values := make([]string, 5000)
	for i := range values {
		values[i] = fmt.Sprintf("v%d", i)
	}
	text := "(" + strings.Join(values, ",") + ")"
	r := &record.Record{Labels: record.Labels{{Key: "app", Value: "v4999"}}}
	other := &record.Record{Labels: record.Labels{{Key: "app", Value: "v"}}}
	if s := parse(t, "", nil, "app in "+text); !s.Matches(r) || s.Matches(other) || s.Matches(&record.Record{}) {
		t.Error("in a large set")
	}
	if s := parse(t, "", nil, "app notin "+text); s.Matches(r) || !s.Matches(other) || !s.Matches(&record.Record{}) {
		t.Error("not in a large set")
	}
}

func TestSelectorsThatMeanTheSameHaveOneKey(t *testing.T) {
	for _, same := range [][]*Selector{
		{parse(t, "", nil, "a=b"), parse(t, "", nil, "a==b"), parse(t, "", nil, "a in (b)"), parse(t, "", nil, " a = b , a in (b)")},
		{parse(t, "", nil, "a!=b"), parse(t, "", nil, "a notin (b)"), parse(t, "", nil, "a notin (b,b)")},
		{parse(t, "", nil, "a in (b,c),d"), parse(t, "", nil, "d,a in (c,b)"), parse(t, "", nil, "d,a in (c,b,c)")},
		{parse(t, "", nil, "a="), parse(t, "", nil, "a in ()")},
		{parse(t, "n", []string{"x", "y"}, ""), parse(t, "n", []string{"y", "x", "y"}, "")},
		{parse(t, "", nil, ""), NewCriteria([]string{}, nil, nil).In("")},
	} {
		for _, s := range same[1:] {
			if s.Key() != same[0].Key() {
				t.Errorf("%q and %q", same[0].Key(), s.Key())
			}
		}
	}
}

func TestOrderOfRequirementsDoesNotMatter(t *testing.T) {
	requirements, err := ParseLabels("a=b,!c,d in (e,f)")
	if err != nil {
		t.Fatal(err)
	}
	key := NewCriteria(nil, requirements, nil).In("").Key()
	slices.Reverse(requirements)
	if again := NewCriteria(nil, requirements, nil).In("").Key(); again != key {
		t.Errorf("%q and %q", key, again)
	}
}

func TestSelectorsThatMeanOtherThingsHaveOtherKeys(t *testing.T) {
	keys := map[Key]int{}
	for i, s := range []*Selector{
		parse(t, "", nil, ""), parse(t, "n", nil, ""), parse(t, "", []string{"n"}, ""), parse(t, "", []string{"n", "m"}, ""),
		parse(t, "", []string{"m,n"}, ""), parse(t, `n","m`, nil, ""), parse(t, "", nil, "n"), parse(t, "", nil, "!n"),
		parse(t, "", nil, "n=m"), parse(t, "", nil, "n!=m"), parse(t, "", nil, "n in (m,o)"), parse(t, "", nil, "n notin (m,o)"),
		parse(t, "", nil, "n="), parse(t, "", nil, "n>1"), parse(t, "", nil, "n<1"), parse(t, "", nil, "n,m"),
	} {
		if j, ok := keys[s.Key()]; ok {
			t.Errorf("selectors %d and %d share %q", i, j, s.Key())
		}
		keys[s.Key()] = i
	}
}

func TestMalformedLabelSelectorIsAnError(t *testing.T) {
	for _, text := range []string{"a=b=c", "a in b", "-a=b", "a=b,", "a>x", ",", "a notin (", "a=é"} {
		if r, err := ParseLabels(text); err == nil {
			t.Errorf("%q: %v", text, r)
		}
	}
}

// What a selector's canonical form selects is what its text selects.
func FuzzParseLabels(f *testing.F) {
	for _, s := range []string{"", "a=b", "a==b,c!=d", "a in (b,c),!d", "a notin (b),e>1", "a in (,x)", "a=", "a in (b),a notin (b)"} {
		f.Add(s, "a", "b")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		requirements, err := ParseLabels(text)
		if err != nil {
			return
		}
		s := NewCriteria(nil, requirements, nil).In("")
		if again := NewCriteria(nil, requirements, nil).In(""); again.Key() != s.Key() {
			t.Errorf("keys %q and %q", s.Key(), again.Key())
		}
		for _, labels := range []record.Labels{nil, {{Key: key, Value: value}}} {
			want := true
			for _, r := range requirements {
				want = want && r.Matches(labels)
			}
			if got := s.Matches(&record.Record{Labels: labels}); got != want {
				t.Errorf("%q of %v: %v, want %v", text, labels, got, want)
			}
		}
	})
}
