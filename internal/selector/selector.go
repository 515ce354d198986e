// Package selector decides which objects a view holds.
//
// A Criteria is canonical: two that are written differently but select alike by the
// rules below have one Key, and so share views. In a namespace, or in all, it is a
// Selector. Both are immutable and safe for concurrent use. Subscribers' requests
// make selectors; sources ask Matches for every change, from the informer's
// handler, so whoever makes one bounds the number of its requirements.
//
// labels.go and fields.go are the two kinds of requirements, parse.go the grammar of
// the latter, computed.go what the API server adds to fields.
package selector

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/runnel-dev/runnel/internal/record"
)

// Criteria selects objects of one resource by everything but the namespace.
type Criteria struct {
	names  []string
	labels []labelRequirement
	fields Fields
	key    string
}

// NewCriteria returns the criteria that objects meet which have one of the names
// (none for all), labels that meet the requirements, and such fields.
func NewCriteria(names []string, requirements labels.Requirements, fields Fields) *Criteria {
	c := &Criteria{names: slices.Compact(slices.Sorted(slices.Values(names)))}
	var key []byte
	for _, name := range c.names {
		key = append(strconv.AppendQuote(key, name), ',')
	}
	var labelsForm, fieldsForm string
	c.labels, labelsForm = canonicalLabels(requirements)
	c.fields, fieldsForm = canonicalFields(fields)
	c.key = string(key) + ";" + labelsForm + ";" + fieldsForm
	return c
}

// In returns the selector of what meets the criteria in the namespace, or in all
// for "". It shares the criteria's memory.
func (c *Criteria) In(namespace string) *Selector { return &Selector{namespace, c} }

// Key is the canonical form, equal for equal criteria.
func (c *Criteria) Key() string { return c.key }

// Selector selects objects of one resource, in one namespace or in all.
type Selector struct {
	namespace string
	criteria  *Criteria
}

// Key is equal for equal selectors. It is comparable, and shares their memory.
type Key struct{ namespace, criteria string }

// Key is the canonical form.
func (s *Selector) Key() Key { return Key{s.namespace, s.criteria.key} }

// Namespace is the one namespace that the selector is limited to, or "".
func (s *Selector) Namespace() string { return s.namespace }

// Matches tells whether the selector selects the object.
func (s *Selector) Matches(r *record.Record) bool {
	c := s.criteria
	if s.namespace != "" && s.namespace != r.Namespace {
		return false
	}
	if len(c.names) > 0 {
		if _, ok := slices.BinarySearch(c.names, r.Name); !ok {
			return false
		}
	}
	for i := range c.labels {
		if !c.labels[i].matches(r.Labels) {
			return false
		}
	}
	for i := range c.fields {
		if !c.fields[i].matches(r.Raw) {
			return false
		}
	}
	return true
}
