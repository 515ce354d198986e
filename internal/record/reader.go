package record

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Members calls f with the name and value of each member of a JSON object. The
// value aliases data.
func Members(data []byte, f func(name string, value jsontext.Value) error) error {
	return newReader(data).members(func(quoted, value []byte) error {
		name, err := text(quoted)
		if err != nil {
			return err
		}
		return f(name, value)
	})
}

// reader walks one level of a JSON value.
type reader struct{ dec *jsontext.Decoder }

func newReader(data []byte) reader {
	return reader{jsontext.NewDecoder(bytes.NewBuffer(data),
		// Duplicate names are the API server's business, and looking for them
		// costs a table per object.
		jsontext.AllowDuplicateNames(true),
		// Decode has replaced invalid bytes, object by object.
		jsontext.AllowInvalidUTF8(true))}
}

// members calls f with each member's quoted name and its value. Both alias the
// reader's input.
func (r reader) members(f func(name, value []byte) error) error {
	return r.each('{', '}', func() error {
		name, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		value, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		return f(name, value)
	})
}

// elements calls f with each element, which aliases the reader's input.
func (r reader) elements(f func(value []byte) error) error {
	return r.each('[', ']', func() error {
		value, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		return f(value)
	})
}

func (r reader) each(open, end jsontext.Kind, f func() error) error {
	token, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != open {
		return fmt.Errorf("found %v instead of %v", token.Kind(), open)
	}
	for r.dec.PeekKind() != end {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// text is the content of a JSON string.
func text(value []byte) (string, error) {
	if len(value) == 0 || value[0] != '"' {
		return "", fmt.Errorf("%s: not a string", value)
	}
	s, err := jsontext.AppendUnquote(nil, value)
	return string(s), err
}
