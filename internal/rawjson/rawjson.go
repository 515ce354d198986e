// Package rawjson steps over JSON without decoding it. It looks at each byte once
// and allocates nothing, which is what lets every change of every object be
// compared, cut and searched.
//
// Data must be valid JSON, as records are: what is not yields nonsense, but no
// panic. Values alias the data that they were found in. The functions are safe for
// concurrent use.
package rawjson

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object.
type Member struct {
	// Quoted is the name as it stands there, with its quotes and escapes.
	Quoted []byte
	// Value is the JSON of the value.
	Value []byte
}

// Named tells whether the member has that name.
func (m Member) Named(name string) bool {
	inner := m.Quoted[1 : len(m.Quoted)-1]
	if string(inner) == name {
		return true
	}
	return string(m.Name()) == name
}

// Name is the member's name. It may alias the data.
func (m Member) Name() []byte {
	inner := m.Quoted[1 : len(m.Quoted)-1]
	for _, c := range inner {
		if c == '\\' {
			name, err := jsontext.AppendUnquote(nil, m.Quoted)
			if err == nil {
				return name
			}
			break
		}
	}
	return inner
}

// Members yields the members of an object; none of what is not one.
func Members(data []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		i := space(data, 0)
		if i >= len(data) || data[i] != '{' {
			return
		}
		for i = space(data, i+1); i < len(data) && data[i] == '"'; {
			begin := i
			i = skipString(data, i)
			quoted := data[begin:i]
			i = space(data, i) + 1 // the colon
			i = space(data, i)
			begin = min(i, len(data))
			i = skip(data, begin)
			if len(quoted) < 2 || i == begin || !yield(Member{quoted, data[begin:i]}) {
				return
			}
			i = next(data, i)
		}
	}
}

// Elements yields the elements of a list; none of what is not one.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := space(data, 0)
		if i >= len(data) || data[i] != '[' {
			return
		}
		for i = space(data, i+1); i < len(data) && data[i] != ']'; {
			begin := i
			i = skip(data, i)
			if i == begin || !yield(data[begin:i]) {
				return
			}
			i = next(data, i)
		}
	}
}

// next steps over a comma and the white space around it.
func next(data []byte, i int) int {
	i = space(data, i)
	if i < len(data) && data[i] == ',' {
		i = space(data, i+1)
	}
	return i
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index after the value that begins at i.
func skip(data []byte, i int) int {
	if i == len(data) {
		return i
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		depth := 0
		for i < len(data) {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				break
			}
		}
		return i
	}
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// IsNull tells whether the value is null.
func IsNull(value []byte) bool { return len(value) > 0 && value[0] == 'n' }

// Text is a scalar JSON value as selectors compare it: the content of a string,
// and the literal of a number or boolean. ok is false for objects and lists.
func Text(value []byte) (text string, ok bool) {
	if len(value) == 0 {
		return "", false
	}
	switch value[0] {
	case '{', '[':
		return "", false
	case '"':
		return string(Member{Quoted: value}.Name()), true
	}
	return string(value), true
}
