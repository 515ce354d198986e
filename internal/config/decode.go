package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder reads a YAML document into a Config and collects what is wrong. It walks
// the nodes of the document itself, because decoders into structs stop at the first
// wrong type, and forget the lines.
//
// The walk follows the Go types, of which none contains itself: neither can the
// depth of a document, nor an alias to what is around it, make it endless.
type decoder struct {
	file     string
	problems Problems
	// lines are where fields are set, by path.
	lines map[string]int
	// unread are the paths of fields whose value could not be read: they have their
	// default, and what follows from that is noise.
	unread map[string]bool
}

// decode reads the document into config. Only the fields that are set change.
func (d *decoder) decode(data []byte, config *Config) {
	var document yaml.Node
	stream := yaml.NewDecoder(bytes.NewReader(data))
	err := stream.Decode(&document)
	if err == nil {
		if !errors.Is(stream.Decode(&yaml.Node{}), io.EOF) {
			err = errors.New("more than one document")
		}
	}
	switch {
	case errors.Is(err, io.EOF): // an empty file sets nothing
	case err != nil:
		d.syntax(err)
	default:
		d.value("", document.Content[0], reflect.ValueOf(config).Elem())
	}
}

// yamlLine is how the YAML parser tells where it stopped.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func (d *decoder) syntax(err error) {
	text, line := err.Error(), 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	d.misread(line, "", errors.New(strings.TrimPrefix(text, "yaml: ")))
}

// misread rejects the value of a field.
func (d *decoder) misread(line int, path string, err error) {
	d.unread[path] = true
	d.reject(line, path, err)
}

func (d *decoder) reject(line int, path string, err error) {
	d.problems = append(d.problems, Problem{Field: path, File: d.file, Line: line, Err: err})
}

// value reads the node into v, or rejects it.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.lines[path] = n.Line
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // as in Kubernetes: the default
	}
	text, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch {
	case isText && n.Kind == yaml.ScalarNode:
		if err := text.UnmarshalText([]byte(n.Value)); err != nil {
			d.misread(n.Line, path, err)
		}
	case v.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		d.mapping(path, n, v)
	case v.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, item := range n.Content {
			d.value(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i))
		}
		v.Set(list)
	case v.Kind() == reflect.String && n.Tag == "!!str":
		v.SetString(n.Value)
	case v.Kind() == reflect.Bool && n.Tag == "!!bool":
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case v.Kind() == reflect.Int && n.Tag == "!!int":
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			d.misread(n.Line, path, fmt.Errorf("%q is no decimal number in range", n.Value))
		}
		v.SetInt(int64(i))
	default:
		d.misread(n.Line, path, fmt.Errorf("%s expected, and this is %s", expected(v, isText), found(n)))
	}
}

func (d *decoder) mapping(path string, n *yaml.Node, v reflect.Value) {
	names := fieldNames(v.Type())
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		if key.Kind != yaml.ScalarNode {
			d.reject(key.Line, path, errors.New("the name of a field expected, and this is "+found(key)))
			continue
		}
		field := name
		if path != "" {
			field = path + "." + name
		}
		if line, dup := seen[name]; dup {
			d.reject(key.Line, field, fmt.Errorf("set twice, first in line %d", line))
			continue
		}
		seen[name] = key.Line
		index := slices.Index(names, name)
		if index < 0 {
			d.reject(key.Line, field, fmt.Errorf("unknown field%s", suggest(name, names)))
			continue
		}
		d.value(field, value, v.Field(index))
		d.lines[field] = key.Line
	}
}

// fieldNames are those of the struct's fields in YAML, in order.
func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("json")
	}
	return names
}

// suggest points out a name that differs in case, hyphens or underscores only.
func suggest(name string, names []string) string {
	bare := strings.NewReplacer("-", "", "_", "")
	for _, known := range names {
		if strings.EqualFold(bare.Replace(name), known) {
			return fmt.Sprintf("; %s is meant?", known)
		}
	}
	return "; known here are " + strings.Join(names, ", ")
}

func expected(v reflect.Value, isText bool) string {
	switch kind := v.Kind(); {
	case isText:
		return "a single value"
	case kind == reflect.Struct:
		return "a mapping"
	case kind == reflect.Slice:
		return "a list"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Int:
		return "a whole number"
	}
	return "text"
}

func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!int", "!!float":
			return "the number " + n.Value + "; quotes make it text"
		case "!!bool":
			return n.Value + "; quotes make it text"
		}
		return strconv.Quote(n.Value)
	}
	return "something else"
}
