package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzStepsAgreeWithDecoding takes JSON apart and holds the parts against those of
// encoding/json. What is not JSON must not panic or run for ever.
func FuzzStepsAgreeWithDecoding(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b\"c":{"d":[1,"]",{"e":null}]},"":"\\"}`, ` { "a" : [ ] , "b" : { } } `, `[1,-2.5e+3,true,null,"x"]`, `{"\u0061":1}`, `{`, `{"a"`, `{"a":`, `["`, `[}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { walk(t, data, json.Valid(data)) })
}

func walk(t *testing.T, data []byte, valid bool) {
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	if valid {
		_ = json.Unmarshal(data, &members) // not an object: stays empty
		_ = json.Unmarshal(data, &elements)
	}
	seen := map[string][]byte{}
	for m := range Members(data) {
		seen[string(m.Name())] = m.Value
		walk(t, m.Value, valid)
	}
	n := 0
	for e := range Elements(data) {
		if valid && !bytes.Equal(e, bytes.TrimSpace(elements[n])) {
			t.Errorf("element %d of %q is %q", n, data, e)
		}
		n++
		walk(t, e, valid)
	}
	if !valid {
		return
	}
	if n != len(elements) {
		t.Errorf("%d of %d elements of %q", n, len(elements), data)
	}
	for name, value := range members {
		// encoding/json replaces invalid UTF-8, which records do not hold.
		if got, ok := seen[name]; (ok || bytes.Equal(bytes.ToValidUTF8(data, nil), data)) && !bytes.Equal(got, bytes.TrimSpace(value)) {
			t.Errorf("member %q of %q is %q, want %q", name, data, got, value)
		}
	}
}

func TestTextOfScalars(t *testing.T) {
	for value, want := range map[string]string{
		`"a\u00e9\n"`: "aé\n", `9007199254740993`: "9007199254740993", `true`: "true", `""`: "",
	} {
		if got, ok := Text([]byte(value)); !ok || got != want {
			t.Errorf("text of %s is %q, %v", value, got, ok)
		}
	}
	for _, value := range []string{`{}`, `[]`, ``} {
		if got, ok := Text([]byte(value)); ok {
			t.Errorf("text of %s is %q", value, got)
		}
	}
}
