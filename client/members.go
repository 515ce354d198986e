package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// member is a member of a JSON object.
type member struct {
	// name is what quoted means: names are compared by it, as "\u0061" is "a".
	name string
	// quoted and value are the text, without white space around it. They alias the
	// object.
	quoted []byte
	value  jsontext.Value
}

var errNotObject = errors.New("not a JSON object")

// parseMembers reads one level of a JSON object, which must be all of the data.
func parseMembers(data []byte) ([]member, error) {
	// Duplicate names, and escapes that are half of a character, are the API
	// server's business.
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	read := func() (jsontext.Value, error) {
		value, err := dec.ReadValue() // good until the next call; data is for longer
		end := dec.InputOffset()
		return data[end-int64(len(value)) : end], err
	}
	if token, err := dec.ReadToken(); err != nil {
		return nil, err
	} else if token.Kind() != jsontext.KindBeginObject {
		return nil, errNotObject
	}
	var members []member
	for dec.PeekKind() != jsontext.KindEndObject {
		quoted, err := read()
		if err != nil {
			return nil, err
		}
		name, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			name = quoted // half a character: equal only to itself
		}
		value, err := read()
		if err != nil {
			return nil, err
		}
		members = append(members, member{string(name), quoted, value})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after its end", errNotObject)
	}
	return members, nil
}
