package record

import (
	"slices"
	"strings"
)

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels are an object's labels, sorted by key. They implement labels.Labels,
// in a fraction of a map's memory.
type Labels []Label

// Has tells whether the label exists.
func (l Labels) Has(key string) bool {
	_, ok := l.Lookup(key)
	return ok
}

// Get returns the label's value, or "".
func (l Labels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// Lookup returns the label's value and whether it exists.
func (l Labels) Lookup(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(l, key, func(l Label, key string) int {
		return strings.Compare(l.Key, key)
	})
	if !ok {
		return "", false
	}
	return l[i].Value, true
}
