package source

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/runnel-dev/runnel/internal/record"
)

// Markers are sent where everything before them is complete: at the start of a
// watch, unless initial events come first, and after each bookmark behind those.
func TestMarkersFollowWhatIsComplete(t *testing.T) {
	object := func(text string) *record.Record {
		r, err := record.NewDecoder(schema.GroupVersionKind{Version: "v1", Kind: "Thing"}).Decode([]byte(thing("", text)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	bookmark := func(resourceVersion, annotations string) *record.Record {
		r, err := record.NewDecoder(schema.GroupVersionKind{Version: "v1", Kind: "Thing"}).Decode([]byte(
			fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%s}}}`, resourceVersion, annotations)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	events := func() []watch.Event {
		return []watch.Event{
			{Type: watch.Added, Object: object("a ua@1")},
			{Type: watch.Bookmark, Object: bookmark("2", "")},
			{Type: watch.Added, Object: object("b ub@3")},
			{Type: watch.Bookmark, Object: bookmark("4", `"k8s.io/initial-events-end":"true"`)},
			{Type: watch.Modified, Object: object("a ua@5")},
			{Type: watch.Bookmark, Object: bookmark("6", "")},
			{Type: watch.Error, Object: &metav1.Status{}},
		}
	}
	yes := true
	for _, test := range []struct {
		name    string
		options metav1.ListOptions
		want    []string
	}{
		{"with initial events", metav1.ListOptions{SendInitialEvents: &yes, ResourceVersion: "0"}, []string{
			"ADDED 1 listed", "BOOKMARK 2 listed", "ADDED 3 listed", "BOOKMARK 4 listed", "mark 4",
			"MODIFIED 5", "BOOKMARK 6", "mark 6", "ERROR",
		}},
		{"without", metav1.ListOptions{ResourceVersion: "0"}, []string{
			"mark 0", "ADDED 1", "BOOKMARK 2", "mark 2", "ADDED 3", "BOOKMARK 4", "mark 4", "MODIFIED 5", "BOOKMARK 6", "mark 6", "ERROR",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := watch.NewFakeWithChanSize(10, false)
			for _, e := range events() {
				in.Action(e.Type, e.Object)
			}
			in.Stop()
			up := &upstream{source: New(things, Limits{})}
			var got []string
			for e := range up.marked(t.Context(), in, test.options, position{}).ResultChan() {
				line := string(e.Type)
				if r, ok := e.Object.(*record.Record); ok {
					line += " " + r.ResourceVersion
					if r.Listed {
						line += " listed"
					}
					if r.Marker() {
						line = "mark " + r.ResourceVersion
					}
				}
				got = append(got, line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestStoppedWatchEndsAlthoughNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := watch.NewFake()
		up := &upstream{source: New(things, Limits{})}
		m := up.marked(t.Context(), in, metav1.ListOptions{}, position{})
		synctest.Wait() // it waits for a reader of the first marker
		m.Stop()
		if _, open := <-m.ResultChan(); open {
			t.Error("an event after Stop")
		}
		if !in.IsStopped() {
			t.Error("the watch itself was not stopped")
		}
	})
}
