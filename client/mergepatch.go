package client

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// mergePatch applies an RFC 7386 merge patch to an object; both must be JSON objects.
// It copies text and decodes nothing but member names: numbers of any size, escapes
// and members that the patch does not name keep their bytes and their order, and new
// members follow in the patch's order (D14). The result aliases neither argument.
//
// Where the object has a name twice, the patch applies to each of them. A patch that
// has a name twice in one object is refused: what it means is not defined.
func mergePatch(object, patch []byte) ([]byte, error) {
	m := merger{dst: make([]byte, 0, len(object)+len(patch))}
	held, err := parseMembers(object)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	if err := m.object(held, patch); err != nil {
		return nil, err
	}
	return m.dst, nil
}

// merger appends the result to dst as it goes.
type merger struct{ dst []byte }

// object appends what the patch, an object, makes of the members.
func (m *merger) object(held []member, patch []byte) error {
	changes, err := parseMembers(patch)
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	byName := make(map[string]int, len(changes))
	for i, c := range changes {
		if _, twice := byName[c.name]; twice {
			return fmt.Errorf("patch: %s comes twice", c.quoted)
		}
		byName[c.name] = i
	}
	start := len(m.dst)
	applied := make([]bool, len(changes))
	for _, h := range held {
		i, changed := byName[h.name]
		switch {
		case !changed:
			m.member(h.quoted)
			m.dst = append(m.dst, h.value...)
			continue
		case changes[i].value.Kind() == jsontext.KindNull:
			continue
		}
		applied[i] = true
		m.member(h.quoted)
		if err := m.value(h.value, changes[i].value); err != nil {
			return err
		}
	}
	for i, c := range changes {
		if applied[i] || c.value.Kind() == jsontext.KindNull {
			continue
		}
		m.member(c.quoted)
		if err := m.value(nil, c.value); err != nil {
			return err
		}
	}
	if len(m.dst) == start {
		m.dst = append(m.dst, '{')
	}
	m.dst[start] = '{'
	m.dst = append(m.dst, '}')
	return nil
}

// member begins a member. What stands before the first becomes the brace.
func (m *merger) member(quoted []byte) {
	m.dst = append(append(append(m.dst, ','), quoted...), ':')
}

// value appends what the patch makes of a value, which is nil where there was none.
// Only an object is merged into, everything else is replaced.
func (m *merger) value(value, patch jsontext.Value) error {
	if patch.Kind() != jsontext.KindBeginObject {
		m.dst = append(m.dst, patch...)
		return nil
	}
	var held []member
	if value.Kind() == jsontext.KindBeginObject {
		var err error
		if held, err = parseMembers(value); err != nil {
			return fmt.Errorf("object: %w", err)
		}
	}
	return m.object(held, patch)
}
