package record

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	`{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","labels":{"a":"b","\u0061":"c"},"managedFields":[{}]},"spec":{"x":[1,2]}}`,
	`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`,
	`{"kind":"Status","code":410}`,
	"{\"metadata\":{\"name\":\"\xff\"},\"s\":\"\\ud800\"}",
	` { "metadata" : { "labels" : null } , "spec" : 1e400 } trailing`,
	`{"metadata":{}`,
}

// What decodes is valid JSON in valid UTF-8, named by its hash, and decodes again
// to the same.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewDecoder(thing).Decode(data)
		if err == nil {
			checkRecord(t, r)
		}
	})
}

func FuzzDecodeList(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(`{"metadata":{"resourceVersion":"1"},"items":[` + s + `]}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := NewDecoder(thing).DecodeList(data)
		if err != nil {
			return
		}
		for _, r := range list.Items {
			if !r.Listed {
				t.Error("not marked as listed")
			}
			checkRecord(t, r)
		}
	})
}

func checkRecord(t *testing.T, r *Record) {
	if !json.Valid(r.Raw) || !utf8.Valid(r.Raw) {
		t.Errorf("raw is no JSON: %q", r.Raw)
	}
	if m := r.MetadataJSON(nil); !json.Valid(m) {
		t.Errorf("metadata is no JSON: %q", m)
	}
	if r.Version != Hash(r.Raw) {
		t.Errorf("version %x", r.Version)
	}
	again, err := NewDecoder(thing).Decode(r.Raw)
	if err != nil || !bytes.Equal(again.Raw, r.Raw) || again.Key() != r.Key() || again.UID != r.UID {
		t.Errorf("again: %v\n%q\n%q", err, r.Raw, again.Raw)
	}
}
