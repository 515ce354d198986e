// Package changes says for people what differs between two states of an object: one
// line for each value that came, went or changed.
//
// Start reading at Between.
package changes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Between returns what differs, sorted by path, as "spec.replicas: 2 → 3". Paths are in
// Runnel's grammar, but that elements of lists are named by what tells them apart:
// "status.conditions[Ready].status". The resourceVersion, which always differs, is left
// out unless it alone does. Both states must be JSON objects.
func Between(before, after []byte) ([]string, error) {
	b, err := decode(before)
	if err != nil {
		return nil, err
	}
	a, err := decode(after)
	if err != nil {
		return nil, err
	}
	d := differ{}
	d.objects("", b, a)
	if len(d.lines) > 1 {
		d.lines = slices.DeleteFunc(d.lines, func(line string) bool { return strings.HasPrefix(line, "metadata.resourceVersion: ") })
	}
	return d.lines, nil
}

func decode(data []byte) (object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // shown as they are written
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return object, nil
}

type differ struct{ lines []string }

// missing stands for a value that is not there, which null is not.
type missing struct{}

func (d *differ) objects(path string, before, after map[string]any) {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, held := before[name]; !held {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.values(member(path, name), valueOf(before, name), valueOf(after, name))
	}
}

func valueOf(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return missing{}
}

func (d *differ) values(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			d.objects(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			d.lists(path, b, a)
			return
		}
	}
	d.lines = append(d.lines, path+": "+text(before)+" → "+text(after))
}

// lists compares the elements that have the same key, or else the same place.
func (d *differ) lists(path string, before, after []any) {
	for _, key := range []string{"name", "type", "uid", "ip"} {
		b, ok := keyed(before, key)
		if !ok {
			continue
		}
		if a, ok := keyed(after, key); ok {
			names := slices.Sorted(maps.Keys(b))
			for name := range a {
				if _, held := b[name]; !held {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			if reflect.DeepEqual(a, b) {
				d.lines = append(d.lines, path+": in another order")
			}
			for _, name := range names {
				d.values(path+"["+name+"]", valueOf(b, name), valueOf(a, name))
			}
			return
		}
	}
	for i := range max(len(before), len(after)) {
		at := func(list []any) any {
			if i < len(list) {
				return list[i]
			}
			return missing{}
		}
		d.values(fmt.Sprintf("%s[%d]", path, i), at(before), at(after))
	}
}

// keyed maps the elements by a member that all of them have and none shares.
func keyed(list []any, key string) (byKey map[string]any, ok bool) {
	byKey = map[string]any{}
	for _, element := range list {
		object, _ := element.(map[string]any)
		name, isText := object[key].(string)
		if _, twice := byKey[name]; !isText || twice {
			return nil, false
		}
		byKey[name] = element
	}
	return byKey, true
}

func member(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, " \t\r\n.,=!()[]'\""):
		return path + "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
	case path == "":
		return name
	}
	return path + "." + name
}

// longest is how much of a value is shown.
const longest = 60

// text shows a string without quotes where nobody can take it for anything else.
func text(value any) string {
	var s string
	switch v := value.(type) {
	case missing:
		return "(none)"
	case string:
		s = v
		if v == "" || v != strings.TrimSpace(v) || json.Valid([]byte(v)) || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) }) {
			s = quoted(v)
		}
	default:
		s = quoted(v)
	}
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return s
}

func quoted(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
