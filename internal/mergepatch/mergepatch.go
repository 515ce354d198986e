// Package mergepatch makes RFC 7386 merge patches between versions of an object.
//
// It works on the JSON as it is, so that numbers and text stay as exact in a patch
// as in the object. The functions are safe for concurrent use.
package mergepatch

import (
	"bytes"

	"github.com/runnel-dev/runnel/internal/rawjson"
)

// Diff returns the patch that makes one object into another, both valid JSON. The
// result of applying it is equal to the other as JSON; its members may stand in
// another order. ok is false where no patch can say the difference, for a merge patch
// cannot set a member to null nor tell two of one name apart, and where it would not
// be shorter than the object that it makes. The patch aliases neither argument.
func Diff(from, to []byte) (patch []byte, ok bool) {
	patch, ok = differ{len(to)}.diff(nil, from, to)
	return patch, ok && len(patch) < len(to)
}

// differ gives up where a patch is as long as the limit.
type differ struct{ limit int }

// diff appends the patch between two objects to dst.
func (d differ) diff(dst, from, to []byte) (patch []byte, ok bool) {
	var old members
	for m := range rawjson.Members(from) {
		old.list = append(old.list, m)
	}
	found := make([]bool, len(old.list))
	dst = append(dst, '{')
	begin, next := len(dst), 0
	for m := range rawjson.Members(to) {
		if len(dst) >= d.limit {
			return nil, false
		}
		i := old.find(next, m)
		if i >= 0 {
			found[i] = true
			next = i + 1
			if bytes.Equal(old.list[i].Value, m.Value) {
				continue
			}
		}
		if i >= 0 && old.ambiguous() {
			return nil, false
		}
		mark := len(dst)
		dst = appendName(dst, m.Quoted, len(dst) > begin)
		if i >= 0 && isObject(old.list[i].Value) && isObject(m.Value) {
			value := len(dst)
			if dst, ok = d.diff(dst, old.list[i].Value, m.Value); !ok {
				return nil, false
			}
			if len(dst)-value == len("{}") { // equal but for order or white space
				dst = dst[:mark]
			}
			continue
		}
		if holdsNull(m.Value) {
			return nil, false
		}
		dst = append(dst, m.Value...)
	}
	for i, m := range old.list {
		if !found[i] {
			if old.ambiguous() {
				return nil, false
			}
			dst = append(appendName(dst, m.Quoted, len(dst) > begin), "null"...)
		}
	}
	return append(dst, '}'), true
}

// ambiguous tells whether two members have one name. Aggregated APIs can send that,
// and what a patch of it means is not defined.
func (ms *members) ambiguous() bool {
	ms.index()
	return len(ms.byName) < len(ms.list)
}

// members are those of an object, to be found by name.
type members struct {
	list []rawjson.Member
	// byName is made when it is first needed.
	byName map[string]int
}

// find returns the index of the member of that name, or -1. The API server writes
// members in one order, so it is the next one as a rule.
func (ms *members) find(next int, m rawjson.Member) int {
	name := m.Name()
	if next < len(ms.list) && bytes.Equal(ms.list[next].Name(), name) {
		return next
	}
	ms.index()
	if i, ok := ms.byName[string(name)]; ok {
		return i
	}
	return -1
}

func (ms *members) index() {
	if ms.byName != nil {
		return
	}
	ms.byName = make(map[string]int, len(ms.list))
	for i, m := range ms.list {
		ms.byName[string(m.Name())] = i
	}
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// holdsNull tells whether the value is null or an object with a null in it, which a
// patch would take for a removal. Lists are replaced as they are.
func holdsNull(value []byte) bool {
	if rawjson.IsNull(value) {
		return true
	}
	for m := range rawjson.Members(value) {
		if holdsNull(m.Value) {
			return true
		}
	}
	return false
}

func appendName(dst, quoted []byte, comma bool) []byte {
	if comma {
		dst = append(dst, ',')
	}
	return append(append(dst, quoted...), ':')
}
