// Package selector decides which objects a view holds.
//
// A Selector is canonical: two that are written differently but select alike by
// the rules below have one Key, and so share a view. It is immutable and safe for
// concurrent use. Subscribers' requests make selectors; sources ask Matches for
// every change, from the informer's handler.
package selector

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/runnel-dev/runnel/internal/record"
)

// Selector selects objects of one resource, in one namespace or in all.
type Selector struct {
	namespace string
	names     []string
	labels    labels.Selector
	fields    Fields
	key       string
}

// New returns the selector for the objects in the namespace ("" for all) that
// have one of the names (none for all), labels that meet the requirements, and
// such fields.
func New(namespace string, names []string, requirements labels.Requirements, fields Fields) *Selector {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	s := &Selector{namespace: namespace, names: names}
	key := strconv.AppendQuote(nil, namespace)
	for _, name := range names {
		key = strconv.AppendQuote(append(key, ','), name)
	}
	var labelsForm, fieldsForm string
	s.labels, labelsForm = canonical(requirements)
	s.fields, fieldsForm = canonicalFields(fields)
	s.key = string(key) + ";" + labelsForm + ";" + fieldsForm
	return s
}

// Matches tells whether the selector selects the object.
func (s *Selector) Matches(r *record.Record) bool {
	if s.namespace != "" && s.namespace != r.Namespace {
		return false
	}
	if len(s.names) > 0 {
		if _, ok := slices.BinarySearch(s.names, r.Name); !ok {
			return false
		}
	}
	if !s.labels.Matches(r.Labels) {
		return false
	}
	for i := range s.fields {
		if !s.fields[i].matches(r.Raw) {
			return false
		}
	}
	return true
}

// Namespace is the one namespace that the selector is limited to, or "".
func (s *Selector) Namespace() string { return s.namespace }

// Key is the canonical form, equal for equal selectors.
func (s *Selector) Key() string { return s.key }

// ParseLabels reads a Kubernetes label selector. The error names the offending
// part.
func ParseLabels(text string) (labels.Requirements, error) {
	return labels.ParseToRequirements(text)
}

// canonical brings requirements that mean the same into one form: "a in (b)",
// "a==b" and "a=b" become the last, "a notin (b)" becomes "a!=b", and
// the order and number of repetitions do not matter.
func canonical(requirements labels.Requirements) (labels.Selector, string) {
	forms := make([]string, 0, len(requirements))
	byForm := make(map[string]labels.Requirement, len(requirements))
	for _, r := range requirements {
		if values := r.ValuesUnsorted(); len(values) == 1 {
			op := r.Operator()
			switch op {
			case selection.In, selection.DoubleEquals:
				op = selection.Equals
			case selection.NotIn:
				op = selection.NotEquals
			}
			if c, err := labels.NewRequirement(r.Key(), op, values); err == nil {
				r = *c
			}
		}
		form := r.String()
		if _, dup := byForm[form]; !dup {
			byForm[form] = r
			forms = append(forms, form)
		}
	}
	slices.Sort(forms)
	s := labels.NewSelector()
	for _, form := range forms {
		s = s.Add(byForm[form])
	}
	return s, strings.Join(forms, ",")
}
