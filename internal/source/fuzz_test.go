package source

import (
	"bytes"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/runnel-dev/runnel/internal/record"
)

// Whatever a watch sends, it yields records and Statuses, or ends with an error; and no
// record changes when the next event is read.
func FuzzWatch(f *testing.F) {
	for _, s := range []string{
		`{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}{"type":"DELETED","object":{"metadata":{"name":"bb"}}}`,
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
		`{"type":"ERROR","object":{"kind":"Status","code":410}} {"object":{},"type":"MODIFIED"}`,
		`{"type":"ADDED","type":"MODIFIED","object":{"metadata":{}},"object":{"metadata":null}}`,
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}",
		`{"type":"ADDED"}{"type":1}{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, events, framer, err := negotiator{record.NewDecoder(things.GroupVersion().WithKind(things.Kind))}.StreamDecoder(runtime.ContentTypeJSON, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream := framer.NewFrameReader(io.NopCloser(bytes.NewReader(data)))
		decoder := restwatch.NewDecoder(streaming.NewDecoder(stream, events), objects)
		defer decoder.Close()
		var records []*record.Record
		for n := 0; ; n++ {
			_, object, err := decoder.Decode()
			if err != nil {
				break
			}
			switch o := object.(type) {
			case *record.Record:
				records = append(records, o)
			case *metav1.Status:
			default:
				t.Fatalf("a watch yields %T", object)
			}
			if n > len(data) {
				t.Fatal("the watch does not end")
			}
		}
		for _, r := range records {
			if r.Version != record.Hash(r.Raw) {
				t.Errorf("a record has changed: %s", r.Raw)
			}
		}
	})
}
