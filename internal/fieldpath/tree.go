package fieldpath

import (
	"maps"
	"slices"

	"github.com/runnel-dev/runnel/internal/rawjson"
)

// Tree is a set of paths. The nil Tree is the empty set.
type Tree struct {
	// all says that the path to this node is in the set, and so is all below it.
	all     bool
	members map[string]*Tree
	each    *Tree
}

// NewTree returns the set of the paths.
func NewTree(paths []Path) *Tree {
	if len(paths) == 0 {
		return nil
	}
	root := &Tree{}
	for _, p := range paths {
		t := root
		for _, s := range p.steps {
			if t.all {
				break
			}
			t = t.child(s)
		}
		*t = Tree{all: true}
	}
	return root
}

func (t *Tree) child(s step) *Tree {
	if s.each {
		if t.each == nil {
			t.each = &Tree{}
		}
		return t.each
	}
	if t.members == nil {
		t.members = map[string]*Tree{}
	}
	if t.members[s.name] == nil {
		t.members[s.name] = &Tree{}
	}
	return t.members[s.name]
}

// Paths are the paths of the set in canonical form, sorted, without those that
// another one covers.
func (t *Tree) Paths() []string {
	paths := t.appendPaths(nil, nil)
	slices.Sort(paths)
	return paths
}

func (t *Tree) appendPaths(paths []string, prefix []step) []string {
	if t == nil {
		return paths
	}
	if t.all {
		return append(paths, format(prefix))
	}
	for name := range maps.Keys(t.members) {
		paths = t.members[name].appendPaths(paths, append(slices.Clip(prefix), step{name: name}))
	}
	return t.each.appendPaths(paths, append(slices.Clip(prefix), step{each: true}))
}

// Keep appends to dst what data holds at the paths, in data's order. Objects and
// lists on the way are there only if something is in them; elements of lists keep
// their places. ok is false, and dst as it was, if there is nothing.
func (t *Tree) Keep(dst, data []byte) (out []byte, ok bool) {
	if t.all {
		return append(dst, data...), true
	}
	begin := len(dst)
	dst, count, found := append(dst, '{'), 0, false
	for m := range t.selected(data) {
		mark := len(dst)
		dst = appendName(dst, m.Quoted, count)
		if dst, ok = t.members[string(m.Name())].Keep(dst, m.Value); !ok {
			dst = dst[:mark]
			continue
		}
		count++
	}
	if count > 0 {
		return append(dst, '}'), true
	}
	if t.each == nil {
		return dst[:begin], false
	}
	dst = append(dst[:begin], '[')
	for value := range rawjson.Elements(data) {
		if count++; count > 1 {
			dst = append(dst, ',')
		}
		if dst, ok = t.each.Keep(dst, value); !ok {
			dst = append(dst, "{}"...)
		}
		found = found || ok
	}
	if !found {
		return dst[:begin], false
	}
	return append(dst, ']'), true
}

// selected yields the members that have a node of their own.
func (t *Tree) selected(data []byte) func(yield func(rawjson.Member) bool) {
	return func(yield func(rawjson.Member) bool) {
		if len(t.members) == 0 {
			return
		}
		for m := range rawjson.Members(data) {
			if t.members[string(m.Name())] != nil && !yield(m) {
				return
			}
		}
	}
}

// Drop appends data to dst without what it holds at the paths. An object or list
// from which something could be dropped and that holds nothing is dropped, too, so
// that it does not matter whether it was there; ok is false if that is data itself.
// Elements of lists keep their places.
func (t *Tree) Drop(dst, data []byte) (out []byte, ok bool) {
	if t.all {
		return dst, false
	}
	begin, count := len(dst), 0
	switch data[0] {
	case '{':
		if len(t.members) == 0 {
			return append(dst, data...), true
		}
		dst = append(dst, '{')
		for m := range rawjson.Members(data) {
			mark := len(dst)
			dst = appendName(dst, m.Quoted, count)
			below := t.members[string(m.Name())]
			if below == nil {
				dst = append(dst, m.Value...)
			} else if dst, ok = below.Drop(dst, m.Value); !ok {
				dst = dst[:mark]
				continue
			}
			count++
		}
		if count == 0 {
			return dst[:begin], false
		}
		return append(dst, '}'), true
	case '[':
		if t.each == nil {
			return append(dst, data...), true
		}
		if t.each.all {
			return dst, false
		}
		dst = append(dst, '[')
		for value := range rawjson.Elements(data) {
			if count++; count > 1 {
				dst = append(dst, ',')
			}
			if dst, ok = t.each.Drop(dst, value); !ok {
				dst = append(dst, "{}"...)
			}
		}
		if count == 0 {
			return dst[:begin], false
		}
		return append(dst, ']'), true
	}
	return append(dst, data...), true
}

func appendName(dst, quoted []byte, count int) []byte {
	if count > 0 {
		dst = append(dst, ',')
	}
	return append(append(dst, quoted...), ':')
}
