package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// head is the beginning of every Raw of a thing.
const head = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":`

func decode(t *testing.T, data string) *Record {
	t.Helper()
	r, err := NewDecoder(thing).Decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// D14
func TestRawIsTheAPIServersJSONWithTypeMetaAndWithoutManagedFields(t *testing.T) {
	for name, test := range map[string]struct{ in, raw string }{
		"type meta filled in": {
			`{"metadata":{"name":"a"},"spec":{}}`,
			head + `{"name":"a"},"spec":{}}`,
		},
		"type meta and metadata first, the rest in its order": {
			`{"status":{"z":1,"a":2},"metadata":{"uid":"u","name":"a"},"kind":"Thing","spec":{},"apiVersion":"example.com/v1"}`,
			head + `{"uid":"u","name":"a"},"status":{"z":1,"a":2},"spec":{}}`,
		},
		"managedFields dropped, wherever they stand": {
			`{"metadata":{"managedFields":[{"a":"}"}],"name":"a"}}`,
			head + `{"name":"a"}}`,
		},
		"nothing but managedFields": {
			`{"metadata":{"managedFields":[]}}`,
			head + `{}}`,
		},
		"managedFields elsewhere stay": {
			`{"metadata":{"name":"a"},"spec":{"managedFields":[1]}}`,
			head + `{"name":"a"},"spec":{"managedFields":[1]}}`,
		},
		"integers above 2^53": {
			`{"metadata":{"name":"a"},"spec":{"a":9007199254740993,"b":9223372036854775807,"c":-0.10e+2}}`,
			head + `{"name":"a"},"spec":{"a":9007199254740993,"b":9223372036854775807,"c":-0.10e+2}}`,
		},
		"unicode, escaped or not": {
			`{"metadata":{"name":"a"},"spec":{"é":"日本 😀 \u00e9 \ud83d\ude00 \/ \u2028"}}`,
			head + `{"name":"a"},"spec":{"é":"日本 😀 \u00e9 \ud83d\ude00 \/ \u2028"}}`,
		},
		"unknown and repeated members": {
			`{"metadata":{"name":"a","future":{"x":[]}},"zz":null,"zz":1}`,
			head + `{"name":"a","future":{"x":[]}},"zz":null,"zz":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := decode(t, test.in)
			if string(r.Raw) != test.raw {
				t.Errorf("\n got %s\nwant %s", r.Raw, test.raw)
			}
			if want := xxhash.Sum64String(test.raw); r.Version != want {
				t.Errorf("version %x, want %x", r.Version, want)
			}
		})
	}
}

func TestCoreGroupHasNoSlashInItsAPIVersion(t *testing.T) {
	r, err := NewDecoder(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}).Decode([]byte(`{"metadata":{}}`))
	if err != nil || string(r.Raw) != `{"apiVersion":"v1","kind":"Pod","metadata":{}}` {
		t.Errorf("%s, %v", r.Raw, err)
	}
}

func TestIdentityAndLabelsAreParsed(t *testing.T) {
	r := decode(t, `{"metadata":{"labels":{"z":"1","\u0061/b":"x\u0041","m":""},"resourceVersion":"42","uid":"u-1","namespace":"ns","name":"obj"}}`)
	if r.Namespace != "ns" || r.Name != "obj" || r.UID != "u-1" || r.ResourceVersion != "42" || r.Key() != "ns/obj" {
		t.Errorf("%+v, key %q", r, r.Key())
	}
	for key, want := range map[string]string{"a/b": "xA", "m": "", "z": "1"} {
		if got, ok := r.Labels.Lookup(key); !ok || got != want || !r.Labels.Has(key) || r.Labels.Get(key) != want {
			t.Errorf("label %s: %q, %v", key, got, ok)
		}
	}
	if r.Labels.Has("b") || r.Labels.Get("b") != "" || len(r.Labels) != 3 {
		t.Errorf("labels %v", r.Labels)
	}
}

func TestClusterScopedKeyIsTheName(t *testing.T) {
	if r := decode(t, `{"metadata":{"name":"obj","uid":"u"}}`); r.Key() != "obj" || r.Namespace != "" {
		t.Errorf("key %q", r.Key())
	}
}

// Views are shared by all replicas only if a list and a watch give the same bytes.
func TestListAndWatchGiveEqualRecords(t *testing.T) {
	const metadata, rest = `"metadata":{"name":"a","uid":"u"}`, `,"spec":{"n":1}`
	d := NewDecoder(thing)
	list, err := d.DecodeList([]byte(`{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7","continue":"c"},` +
		`"items":[{` + metadata + rest + `},{"metadata":{"name":"b"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	watched := decode(t, `{"kind":"Thing","apiVersion":"example.com/v1",`+metadata+rest+`}`)
	if len(list.Items) != 2 || list.ResourceVersion != "7" || list.Continue != "c" {
		t.Fatalf("list %+v", list)
	}
	listed := list.Items[0]
	if string(listed.Raw) != string(watched.Raw) || listed.Version != watched.Version {
		t.Errorf("listed  %s\nwatched %s", listed.Raw, watched.Raw)
	}
	if !listed.Listed || watched.Listed {
		t.Errorf("listed %v, watched %v", listed.Listed, watched.Listed)
	}
}

// D14: a CRD that is installed anew may have another kind than the source knows.
func TestObjectKeepsItsOwnKind(t *testing.T) {
	d := NewDecoder(thing)
	for text, want := range map[string]string{
		`{"apiVersion":"example.com/v1","kind":"Other","metadata":{}}`: `{"apiVersion":"example.com/v1","kind":"Other","metadata":{}}`,
		`{"metadata":{}}`: head + `{}}`,
	} {
		r, err := d.Decode([]byte(text))
		if err != nil || string(r.Raw) != want || string(r.MetadataJSON(nil)) != want {
			t.Errorf("%s is %s, %v", text, r.Raw, err)
		}
	}
}

// D14: aggregated APIs can send it.
func TestInvalidUTF8IsReplacedAndCounted(t *testing.T) {
	d := NewDecoder(thing)
	var counted uint64
	d.OnInvalidUTF8 = func(objects uint64) { counted = objects }
	r, err := d.Decode([]byte("{\"metadata\":{\"name\":\"a\"},\"spec\":\"x\xff\xc0y\"}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := head + `{"name":"a"},"spec":"x` + "\uFFFD" + `y"}`; string(r.Raw) != want {
		t.Errorf("\n got %q\nwant %q", r.Raw, want)
	}
	if _, err := d.DecodeList([]byte("{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"\xfe\"}},{\"metadata\":{}}]}")); err != nil {
		t.Fatal(err)
	}
	if counted != 2 {
		t.Errorf("counted %d objects, want 2", counted)
	}
}

func TestStatusInThePlaceOfAnObjectIsAnError(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
	d := NewDecoder(thing)
	_, object := d.Decode([]byte(status))
	_, list := d.DecodeList([]byte(status))
	for _, err := range []error{object, list} {
		var is *StatusError
		if !errors.As(err, &is) || is.Status.Code != 410 || is.Status.Reason != metav1.StatusReasonExpired || is.Error() != "too old" {
			t.Errorf("%v", err)
		}
	}
}

func TestMalformedJSONIsAnErrorThatNamesTheKind(t *testing.T) {
	for _, in := range []string{
		``, `null`, `[]`, `{}`, `{"spec":{}}`, `{"metadata":null}`, `{"metadata":{"name":1}}`, `{"metadata":{"labels":{"a":1}}}`,
		`{"metadata":{"name":"a"}`, `{"metadata":{"name":"a"}]`, `{"metadata":{"name":"a"},"spec":tru}`, `{"metadata":{"labels":[]}}`,
	} {
		if r, err := NewDecoder(thing).Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), "Thing") {
			t.Errorf("%s: %v, %v", in, r, err)
		}
	}
}

func TestMetadataJSONIsAnObjectOfItsOwn(t *testing.T) {
	r := decode(t, `{"spec":{"a":1},"metadata":{"name":"a","annotations":{"x":"y"}},"status":{}}`)
	if got, want := string(r.MetadataJSON([]byte(">"))), ">"+head+`{"name":"a","annotations":{"x":"y"}}}`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if !strings.HasSuffix(string(r.Raw), `,"spec":{"a":1},"status":{}}`) {
		t.Errorf("raw changed to %s", r.Raw)
	}
}

func TestRecordKeepsNothingOfItsInput(t *testing.T) {
	data := []byte(`{"metadata":{"name":"abc","uid":"u","labels":{"k":"v"}},"spec":"s"}`)
	r, err := NewDecoder(thing).Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	before := string(r.Raw)
	for i := range data {
		data[i] = 'X'
	}
	if string(r.Raw) != before || r.Name != "abc" || r.UID != "u" || r.Labels.Get("k") != "v" {
		t.Errorf("changed to %+v %s", r, r.Raw)
	}
}

func TestBookmarkThatEndsInitialEventsIsRecognised(t *testing.T) {
	for metadata, want := range map[string]bool{
		`{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}`: true,
		`{"resourceVersion":"5"}`: false,
		`{"name":"a","resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}`: false,
	} {
		r := decode(t, `{"metadata":`+metadata+`}`)
		if r.InitialEventsEnd() != want || (r.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true") != want {
			t.Errorf("%s: %v", metadata, r.InitialEventsEnd())
		}
	}
}

func TestMarkerIsNoObject(t *testing.T) {
	m := NewMarker("9")
	if !m.Marker() || m.ResourceVersion != "9" || !strings.Contains(m.Key(), " ") {
		t.Errorf("%+v", m)
	}
	if decode(t, `{"metadata":{"name":"runnel"}}`).Marker() {
		t.Error("an object is taken for a marker")
	}
}

// Servers written in Go send an empty list as null, if nothing makes it a slice.
func TestListWithoutItemsIsEmpty(t *testing.T) {
	for _, items := range []string{``, `,"items":[]`, `,"items":null`} {
		list, err := NewDecoder(thing).DecodeList([]byte(`{"metadata":{"resourceVersion":"7"}` + items + `}`))
		if err != nil || len(list.Items) != 0 || list.ResourceVersion != "7" {
			t.Errorf("%s: %+v, %v", items, list, err)
		}
	}
}
