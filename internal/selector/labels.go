package selector

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/runnel-dev/runnel/internal/record"
)

// ParseLabels reads a Kubernetes label selector. The error names the offending
// part.
func ParseLabels(text string) (labels.Requirements, error) {
	return labels.ParseToRequirements(text)
}

// labelRequirement is a Kubernetes requirement whose values are looked up, however
// many they are.
type labelRequirement struct {
	labels.Requirement
	values map[string]struct{}
}

func newLabelRequirement(r labels.Requirement) labelRequirement {
	values := r.ValuesUnsorted()
	set := make(map[string]struct{}, len(values))
	for _, v := range values {
		set[v] = struct{}{}
	}
	return labelRequirement{r, set}
}

func (r *labelRequirement) matches(ls record.Labels) bool {
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		value, there := ls.Lookup(r.Key())
		_, in := r.values[value]
		return there && in
	case selection.NotIn, selection.NotEquals:
		value, there := ls.Lookup(r.Key())
		_, in := r.values[value]
		return !there || !in
	}
	return r.Matches(ls)
}

// canonicalLabels brings requirements that mean the same into one form: "a in (b)",
// "a==b" and "a=b" become the last, "a notin (b)" becomes "a!=b", and the order and
// number of repetitions do not matter.
func canonicalLabels(requirements labels.Requirements) ([]labelRequirement, string) {
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
	all := make([]labelRequirement, len(forms))
	for i, form := range forms {
		all[i] = newLabelRequirement(byForm[form])
	}
	return all, strings.Join(forms, ",")
}
