// Package fieldpath names parts of JSON objects, finds them, keeps them and drops
// them.
//
// A Path is written like "spec.nodeName", "metadata.annotations['a.b/c']" or
// "status.conditions[*].type":
//
//	path    = first *( "." name | bracket )
//	first   = name | bracket
//	bracket = "[*]" | "['" text "']" | `["` text `"]`
//	name    = one or more characters other than white space . , = ! < > ( ) [ ] ' "
//
// In quotes, a backslash takes the next character as it is. [*] stands for every
// element of a list.
//
// All functions work on the JSON as it is, without decoding it: numbers, unknown
// members, order and escapes are untouched. Data must be valid JSON, as records
// are. Paths and Trees are immutable and safe for concurrent use.
package fieldpath

import (
	"errors"
	"fmt"
	"strings"

	"github.com/runnel-dev/runnel/internal/rawjson"
)

// Path is a path into a JSON object.
type Path struct {
	steps []step
	text  string
}

// step is a member's name or, if each, all elements of a list.
type step struct {
	name string
	each bool
}

// deepest bounds the recursion that a Path causes; no API type comes near.
const deepest = 64

const notInNames = " \t\r\n.,=!<>()[]'\""

// Parse reads a path. The error says what is wrong with it.
func Parse(text string) (Path, error) {
	var p Path
	rest := text
	for first := true; first || rest != ""; first = false {
		s, after, err := parseStep(rest, first)
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		p.steps = append(p.steps, s)
		rest = after
	}
	if len(p.steps) > deepest {
		return Path{}, fmt.Errorf("path %q: deeper than %d", text, deepest)
	}
	p.text = format(p.steps)
	return p, nil
}

func parseStep(text string, first bool) (s step, rest string, err error) {
	if strings.HasPrefix(text, "[*]") {
		return step{each: true}, text[len("[*]"):], nil
	}
	if strings.HasPrefix(text, "['") || strings.HasPrefix(text, `["`) {
		return parseQuoted(text[1:])
	}
	if !first {
		var dot bool
		if text, dot = strings.CutPrefix(text, "."); !dot {
			return step{}, "", fmt.Errorf("%q where a . or a [ is expected", text)
		}
	}
	end := strings.IndexAny(text, notInNames)
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return step{}, "", errors.New("a name is missing")
	}
	return step{name: text[:end]}, text[end:], nil
}

// parseQuoted reads what follows a [, from its quote to the ].
func parseQuoted(text string) (s step, rest string, err error) {
	var name strings.Builder
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			if i+1 == len(text) || text[i+1] != ']' {
				return step{}, "", errors.New("a ] is missing after a quoted name")
			}
			return step{name: name.String()}, text[i+2:], nil
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		name.WriteByte(text[i])
	}
	return step{}, "", errors.New("a quoted name does not end")
}

// String is the path in canonical form, equal for equal paths.
func (p Path) String() string { return p.text }

// Scalar tells whether the path leads to at most one value: it has no [*].
func (p Path) Scalar() bool {
	for _, s := range p.steps {
		if s.each {
			return false
		}
	}
	return true
}

// HasPrefix tells whether the path is other, or leads to a part of it.
func (p Path) HasPrefix(other Path) bool {
	if len(other.steps) > len(p.steps) {
		return false
	}
	for i, s := range other.steps {
		if s != p.steps[i] {
			return false
		}
	}
	return true
}

func format(steps []step) string {
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.each:
			b.WriteString("[*]")
		case s.name == "" || strings.ContainsAny(s.name, notInNames):
			b.WriteString("['")
			b.WriteString(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s.name))
			b.WriteString("']")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// Lookup returns the JSON at a Scalar path. A value that is null counts as absent;
// what lies beyond a list or a scalar is absent.
func (p Path) Lookup(data []byte) (value []byte, ok bool) {
	for _, s := range p.steps {
		if data, ok = member(data, s.name); !ok {
			return nil, false
		}
	}
	return data, !rawjson.IsNull(data)
}

func member(data []byte, name string) (value []byte, ok bool) {
	for m := range rawjson.Members(data) {
		if m.Named(name) {
			return m.Value, true
		}
	}
	return nil, false
}
