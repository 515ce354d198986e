package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Object is an object's decoded JSON.
type Object map[string]any

// Decode decodes an object. Numbers become int64 or float64 where that is what they
// are, so that they can be compared, and stay a json.Number where it is not: they are
// shown as they are written.
func Decode(data []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var o map[string]any
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	return numbers(o).(map[string]any), nil
}

func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == string(v) {
			return f
		}
	}
	return value
}

// at is the value at a path of member names; nil where there is none.
func (o Object) at(path string) any {
	var value any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[name]
	}
	return value
}

func (o Object) text(path string) string { return text(o.at(path)) }

func (o Object) int(path string) int64 {
	n, _ := o.at(path).(int64)
	return n
}

func (o Object) object(path string) Object {
	m, _ := o.at(path).(map[string]any)
	return m
}

// list are the objects in the list at a path.
func (o Object) list(path string) []Object {
	l, _ := o.at(path).([]any)
	var objects []Object
	for _, element := range l {
		if m, ok := element.(map[string]any); ok {
			objects = append(objects, m)
		}
	}
	return objects
}

// texts are the scalars in the list at a path.
func (o Object) texts(path string) []string {
	l, _ := o.at(path).([]any)
	var texts []string
	for _, element := range l {
		texts = append(texts, text(element))
	}
	return texts
}

// pairs are an object's members as "a=1,b=2".
func (o Object) pairs(path string) string {
	m := o.object(path)
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, name+"="+text(m[name]))
	}
	return strings.Join(pairs, ",")
}

// condition is the status of a condition; empty if there is none of the type.
func (o Object) condition(kind string) string {
	for _, c := range o.list("status.conditions") {
		if c.text("type") == kind {
			return c.text("status")
		}
	}
	return ""
}

// text is a value for people: a scalar as it is, anything else as JSON.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return string(v)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ago is how long before now a time of an object was.
func ago(at string, now time.Time) string {
	if at == "" {
		return "<unknown>"
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "<invalid>"
	}
	return duration.HumanDuration(now.Sub(t))
}
