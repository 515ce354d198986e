package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decoder turns the JSON of one resource into records. It is safe for concurrent
// use.
type Decoder struct {
	// OnInvalidUTF8, if not nil, is told of each object in which invalid bytes were
	// replaced, and how many there have been. It is set before the first use.
	OnInvalidUTF8 func(objects uint64)

	prefix string
	kind   string

	invalidUTF8 atomic.Uint64
}

// NewDecoder returns a decoder for objects of the kind. The kind fills in the
// TypeMeta that list items lack.
func NewDecoder(gvk schema.GroupVersionKind) *Decoder {
	return &Decoder{prefix: typeMeta(gvk), kind: gvk.Kind}
}

// StatusError is an API server's Status in the place of an object.
type StatusError struct{ Status *metav1.Status }

func (e *StatusError) Error() string { return e.Status.Message }

var errNoMetadata = errors.New("object has no metadata")

// Decode reads one object. It keeps no reference to data. A Status yields a
// *StatusError. Bookmarks decode as records without a name.
func (d *Decoder) Decode(data []byte) (*Record, error) {
	if !utf8.Valid(data) {
		if n := d.invalidUTF8.Add(1); d.OnInvalidUTF8 != nil {
			d.OnInvalidUTF8(n)
		}
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	var (
		obj  = newReader(data)
		rest []byte
		meta metadata
		seen bool
		// Items of lists may have none.
		apiVersion, kind []byte
	)
	err := obj.members(func(name, value []byte) error {
		switch string(name) {
		case `"apiVersion"`:
			apiVersion = value
		case `"kind"`:
			kind = value
			if string(value) == `"Status"` && d.kind != "Status" {
				return decodeStatus(data)
			}
		case `"metadata"`:
			seen = true
			return meta.decode(value)
		default:
			rest = appendMember(rest, name, value)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode %s: %w", d.kind, err)
	case !seen:
		return nil, fmt.Errorf("decode %s: %w", d.kind, errNoMetadata)
	}
	prefix := d.prefix
	if kind != nil && apiVersion != nil {
		// A CRD that was installed anew may have another kind than ours.
		prefix = `{"apiVersion":` + string(apiVersion) + `,"kind":` + string(kind)
	}
	const field = `,"metadata":`
	raw := make([]byte, 0, len(prefix)+len(field)+len(meta.json)+len(rest)+1)
	raw = append(raw, prefix...)
	raw = append(raw, field...)
	raw = append(raw, meta.json...)
	r := meta.record()
	r.metadataEnd = len(raw)
	raw = append(raw, rest...)
	r.Raw = append(raw, '}')
	r.Version = Hash(r.Raw)
	return r, nil
}

// List is a decoded list, or a page of one. It implements runtime.Object.
type List struct {
	metav1.ListMeta
	// Items are the objects, each marked as listed.
	Items []*Record
}

// DecodeList reads a list. It keeps no reference to data.
func (d *Decoder) DecodeList(data []byte) (*List, error) {
	list := &List{}
	err := newReader(data).members(func(name, value []byte) error {
		switch string(name) {
		case `"kind"`:
			if string(value) == `"Status"` {
				return decodeStatus(data)
			}
		case `"metadata"`:
			return json.Unmarshal(value, &list.ListMeta)
		case `"items"`:
			if string(value) == "null" {
				return nil
			}
			return newReader(value).elements(func(item []byte) error {
				r, err := d.Decode(item)
				if err != nil {
					return err
				}
				r.Listed = true
				list.Items = append(list.Items, r)
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("decode list of %s: %w", d.kind, err)
	}
	return list, nil
}

func decodeStatus(data []byte) error {
	status := &metav1.Status{}
	if err := json.Unmarshal(data, status); err != nil {
		return err
	}
	return &StatusError{Status: status}
}

// metadata is an object's metadata while it is read.
type metadata struct {
	json                                  []byte
	namespace, name, uid, resourceVersion string
	labels                                Labels
	annotations                           []byte
}

func (m *metadata) decode(value []byte) error {
	m.json = make([]byte, 0, len(value))
	err := newReader(value).members(func(name, value []byte) error {
		var err error
		switch string(name) {
		case `"managedFields"`:
			return nil
		case `"namespace"`:
			m.namespace, err = text(value)
		case `"name"`:
			m.name, err = text(value)
		case `"uid"`:
			m.uid, err = text(value)
		case `"resourceVersion"`:
			m.resourceVersion, err = text(value)
		case `"labels"`:
			m.labels, err = decodeLabels(value)
		case `"annotations"`:
			m.annotations = value
		}
		m.json = appendMember(m.json, name, value)
		return err
	})
	if len(m.json) == 0 {
		m.json = []byte("{}")
		return err
	}
	m.json[0] = '{'
	m.json = append(m.json, '}')
	return err
}

// record puts all of the identity into one allocation, of which the strings
// are parts: what keeps one alive keeps some hundred bytes, not the JSON.
func (m *metadata) record() *Record {
	s := m.name + m.uid + m.resourceVersion
	if m.namespace != "" {
		s = m.namespace + "/" + s
	}
	take := func(n int) (part string) {
		part, s = s[:n], s[n:]
		return part
	}
	r := &Record{Labels: m.labels}
	key := s
	if m.namespace != "" {
		r.Namespace = take(len(m.namespace))
		take(len("/"))
	}
	r.Name = take(len(m.name))
	r.key = key[:len(key)-len(s)]
	r.UID = take(len(m.uid))
	r.ResourceVersion = take(len(m.resourceVersion))
	r.initialEventsEnd = m.name == "" && bytes.Contains(m.annotations, []byte(`"`+metav1.InitialEventsAnnotationKey+`":"true"`))
	return r
}

func decodeLabels(value []byte) (Labels, error) {
	var ls Labels
	if string(value) == "null" {
		return nil, nil
	}
	err := newReader(value).members(func(name, value []byte) error {
		k, err := text(name)
		if err != nil {
			return err
		}
		v, err := text(value)
		if err != nil {
			return err
		}
		// Label keys and most values repeat from object to object.
		ls = append(ls, Label{unique.Make(k).Value(), unique.Make(v).Value()})
		return nil
	})
	slices.SortFunc(ls, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return slices.Clip(ls), err
}

func appendMember(dst, name, value []byte) []byte {
	dst = append(append(dst, ','), name...)
	return append(append(dst, ':'), value...)
}
