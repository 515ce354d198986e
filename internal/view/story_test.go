package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/selector"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// story tells a view what happens to objects and shows what cursors read.
//
// An object is written "name uid@resourceVersion label". The view of a story holds
// what has the label "in".
type story struct {
	t *testing.T
	*View
	objects map[string]*record.Record
	now     time.Time
}

func newStory(t *testing.T, limits Limits, projection projection.Projection, objects ...string) *story {
	t.Helper()
	s := &story{t: t, objects: map[string]*record.Record{}, now: time.Unix(1e9, 0)}
	for _, text := range objects {
		r := s.parse(text)
		s.objects[r.Key()] = r
	}
	requirements, err := selector.ParseLabels("in")
	if err != nil {
		t.Fatal(err)
	}
	s.View = New(Config{Selector: selector.NewCriteria(nil, requirements, nil).In(""), Projection: projection, Limits: limits},
		s.listed(objects), "1", s.now)
	return s
}

// listed yields objects in the order in which they are written.
func (s *story) listed(objects []string) Objects {
	return func(yield func(*record.Record) bool) {
		for _, text := range objects {
			if !yield(s.objects[strings.Fields(text)[0]]) {
				return
			}
		}
	}
}

// rewritten makes history be another one, with these objects.
func (s *story) rewritten(resourceVersion string, objects ...string) {
	s.t.Helper()
	s.objects = map[string]*record.Record{}
	for _, text := range objects {
		r := s.parse(text)
		s.objects[r.Key()] = r
	}
	s.Rewrite(s.listed(objects), resourceVersion, s.now)
}

func (s *story) parse(text string) *record.Record {
	s.t.Helper()
	f := strings.Fields(text + " -")
	uid, resourceVersion, ok := strings.Cut(f[1], "@")
	if !ok {
		s.t.Fatalf("not an object: %q", text)
	}
	r, err := record.NewDecoder(schema.GroupVersionKind{Version: "v1", Kind: "Thing"}).Decode([]byte(fmt.Sprintf(
		`{"metadata":{"name":%q,"uid":%q,"resourceVersion":%q,"labels":{%q:""}}}`, f[0], uid, resourceVersion, f[2])))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// put makes the objects be so, in one step.
func (s *story) put(objects ...string) {
	s.t.Helper()
	var changes []Change
	var last string
	for _, text := range objects {
		r := s.parse(text)
		changes = append(changes, Change{Old: s.objects[r.Key()], New: r})
		s.objects[r.Key()], last = r, r.ResourceVersion
	}
	s.Apply(Step{changes, last, s.now})
}

// gone deletes an object.
func (s *story) gone(name, resourceVersion string) {
	s.t.Helper()
	s.Apply(Step{[]Change{{
		Old:             s.objects[name],
		Reason:          runnelv1.DeletionReason_DELETION_REASON_GONE,
		ResourceVersion: resourceVersion,
	}}, resourceVersion, s.now})
	delete(s.objects, name)
}

// open returns a cursor, closed with the test.
func (s *story) open() *Cursor {
	c := s.NewCursor(make(chan struct{}, 1), false)
	s.t.Cleanup(c.Close)
	return c
}

// reads checks what one read brings: events such as "+ name uid@7", "~ name uid@8"
// and "- name uid@9 gone", then "reset", "synced" and "level" where they apply.
func (s *story) reads(c *Cursor, want ...string) {
	s.t.Helper()
	var b Batch
	c.Read(&b)
	if got := show(s.t, &b); !slices.Equal(got, want) {
		s.t.Errorf("read:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func decoded(t *testing.T, b *Batch) []*runnelv1.Event {
	t.Helper()
	var response runnelv1.SubscribeResponse
	if err := proto.Unmarshal(wire.Batch(0, false, b.Events, nil).Bytes(), &response); err != nil {
		t.Fatal(err)
	}
	return response.GetBatch().GetEvents()
}

func show(t *testing.T, b *Batch) (lines []string) {
	t.Helper()
	for _, e := range decoded(t, b) {
		line := fmt.Sprintf("%s %s %s@%s", map[runnelv1.EventType]string{1: "+", 2: "~", 3: "-"}[e.GetType()],
			e.GetName(), e.GetUid(), e.GetResourceVersion())
		if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
			line += " " + strings.ToLower(strings.TrimPrefix(e.GetReason().String(), "DELETION_REASON_"))
		}
		lines = append(lines, line)
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{b.Reset, "reset"}, {b.Rewritten, "rewritten"}, {b.Synced, "synced"}, {b.Level, "level"}} {
		if f.set {
			lines = append(lines, f.name)
		}
	}
	return lines
}
