package selector

import (
	"errors"
	"fmt"
	"strings"

	"github.com/runnel-dev/runnel/internal/fieldpath"
)

// ParseFields reads a selector for objects of the resource. The error names the
// offending part.
func ParseFields(text, group, resource string) (Fields, error) {
	p := fieldParser{rest: text}
	if p.skipSpace(); p.rest == "" {
		return nil, nil
	}
	for {
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		r.computed = computed[groupResource{group, resource}][r.path.String()]
		p.fields = append(p.fields, r)
		if p.skipSpace(); p.rest == "" {
			return p.fields, nil
		}
		if !p.take(",") {
			return nil, fmt.Errorf("%q where a comma or the end is expected", p.rest)
		}
	}
}

type fieldParser struct {
	rest   string
	fields Fields
}

func (p *fieldParser) requirement() (fieldRequirement, error) {
	p.skipSpace()
	absent := p.take("!")
	p.skipSpace()
	path, err := p.path()
	if err != nil {
		return fieldRequirement{}, err
	}
	r := fieldRequirement{path: path}
	p.skipSpace()
	switch {
	case absent:
		r.op = fieldNotExists
		return r, nil
	case p.take("!="):
		r.op = fieldNotIn
	case p.take("=="), p.take("="):
	case p.takeWord("in"):
		r.values, err = p.list()
		return r, err
	case p.takeWord("notin"):
		r.op = fieldNotIn
		r.values, err = p.list()
		return r, err
	default:
		r.op = fieldExists
		return r, nil
	}
	value, err := p.value(",")
	r.values = map[string]struct{}{value: {}}
	return r, err
}

// path reads up to an operator, a comma, white space or the end, outside of
// brackets' quotes.
func (p *fieldParser) path() (fieldpath.Path, error) {
	end, quote := 0, byte(0)
	for ; end < len(p.rest); end++ {
		c := p.rest[end]
		switch {
		case quote != 0:
			switch c {
			case '\\':
				end++
			case quote:
				quote = 0
			}
			continue
		case (c == '\'' || c == '"') && end > 0 && p.rest[end-1] == '[':
			quote = c
			continue
		}
		if strings.IndexByte("=!,() \t\r\n", c) >= 0 {
			break
		}
	}
	end = min(end, len(p.rest))
	text := p.rest[:end]
	if text == "" {
		return fieldpath.Path{}, fmt.Errorf("a path is missing before %q", p.rest)
	}
	p.rest = p.rest[end:]
	path, err := fieldpath.Parse(text)
	if err == nil && !path.Scalar() {
		err = fmt.Errorf("path %q: [*] cannot be compared; only single values can", text)
	}
	return path, err
}

// list reads values in parentheses.
func (p *fieldParser) list() (map[string]struct{}, error) {
	if p.skipSpace(); !p.take("(") {
		return nil, errors.New("a ( is missing after in or notin")
	}
	values := map[string]struct{}{}
	for {
		value, err := p.value(",)")
		if err != nil {
			return nil, err
		}
		values[value] = struct{}{}
		switch {
		case p.take(")"):
			return values, nil
		case !p.take(","):
			return nil, errors.New("a ) is missing after the values")
		}
	}
}

// value reads up to one of the characters of end.
func (p *fieldParser) value(end string) (string, error) {
	p.skipSpace()
	var b strings.Builder
	length := 0 // without white space at the end
	i := 0
	for ; i < len(p.rest) && strings.IndexByte(end, p.rest[i]) < 0; i++ {
		c := p.rest[i]
		switch {
		case c == '\\':
			if i++; i == len(p.rest) {
				return "", errors.New("a backslash at the end")
			}
			c = p.rest[i]
			b.WriteByte(c)
			length = b.Len()
			continue
		case strings.IndexByte("=()", c) >= 0:
			return "", fmt.Errorf(`%q in a value needs a backslash before it`, c)
		}
		b.WriteByte(c)
		if !isSpace(c) {
			length = b.Len()
		}
	}
	p.rest = p.rest[i:]
	return b.String()[:length], nil
}

func (p *fieldParser) take(token string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, token)
	return ok
}

// takeWord takes a word that a space or parenthesis ends.
func (p *fieldParser) takeWord(word string) bool {
	rest, ok := strings.CutPrefix(p.rest, word)
	if !ok || rest == "" || (rest[0] != '(' && !isSpace(rest[0])) {
		return false
	}
	p.rest = rest
	return true
}

func (p *fieldParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
