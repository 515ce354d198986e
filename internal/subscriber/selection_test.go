package subscriber

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// podOn is a Pod on a node, with an annotation.
func (c *cluster) podOn(name string, rv int, node, heartbeat string) *record.Record {
	c.t.Helper()
	r, err := record.NewDecoder(pods.GroupVersionKind()).Decode([]byte(fmt.Sprintf(
		`{"metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":"%d","annotations":{"leader":%q}},"spec":{"nodeName":%q,"n":9007199254740993},"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q}]}}`,
		name, name, rv, heartbeat, node, heartbeat)))
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// C06, C56: the same by a field as by a label.
func TestObjectsEnterAndLeaveByField(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.podOn("a", 1, "n1", ""))
	src.Upsert(c.podOn("b", 2, "", ""))
	src.Mark("2")
	client := serve(t, Config{Resolver: c, Sources: c})
	s := subscribe(t, client, request(&runnelv1.ResourceSubscription{Resource: "pods", FieldSelector: "spec.nodeName=n1"}))
	s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	src.Upsert(c.podOn("b", 3, "n1", ""))
	s.want("0: ADDED(b b@3)")
	src.Upsert(c.podOn("a", 4, "n2", ""))
	s.want("0: DELETED(a a@4)LEFT_VIEW")
	src.Upsert(c.podOn("a", 5, "n1", ""))
	s.want("0: ADDED(a a@5)")
	src.Delete(c.podOn("a", 6, "n1", ""))
	s.want("0: DELETED(a a@6)GONE")
}

func TestObjectsEnterAndLeaveByName(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Mark("1")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{
		Resource: "pods", Namespaces: []string{"ns"}, Names: []string{"b", "a"},
	}))
	s.want("0: reset NEW", "0: synced 0", "synced")
	src.Upsert(c.pod("ns/c", 2, ""))
	src.Upsert(c.pod("other/a", 3, ""))
	src.Upsert(c.pod("ns/a", 4, ""))
	s.want("0: ADDED(a a@4)")
}

// D6, C75: what is ignored, or not in the projection, is no news, and the
// resourceVersion that is shown goes on.
func TestChangesOutsideTheProjectionAreNotSent(t *testing.T) {
	for _, tt := range []struct {
		name string
		sub  *runnelv1.ResourceSubscription
		want string
	}{
		{"paths", &runnelv1.ResourceSubscription{Resource: "pods", Projection: &runnelv1.Projection{Part: &runnelv1.Projection_Paths{
			Paths: &runnelv1.Paths{Paths: []string{"spec.nodeName", "status.conditions[*].type"}}}}},
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns","uid":"a"},"spec":{"nodeName":"n2"},"status":{"conditions":[{"type":"Ready"}]}}`},
		{"ignored paths", &runnelv1.ResourceSubscription{Resource: "pods", IgnorePaths: []string{
			"metadata.resourceVersion", "metadata.annotations['leader']", "status.conditions[*].lastHeartbeatTime"}},
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns","uid":"a"},"spec":{"nodeName":"n2","n":9007199254740993},"status":{"conditions":[{"type":"Ready"}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, pods)
			src := c.source(pods)
			src.Upsert(c.podOn("a", 1, "n1", "1"))
			src.Mark("1")
			client := serve(t, Config{Resolver: c, Sources: c})
			s := subscribe(t, client, request(tt.sub))
			s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
			src.Upsert(c.podOn("a", 2, "n1", "2"))
			again := subscribe(t, client, request(tt.sub)) // sees the bump in its snapshot
			again.want("0: reset NEW", "0: initial ADDED(a a@2)", "0: synced 1", "synced")
			src.Upsert(c.podOn("a", 3, "n2", "3"))
			frame, err := s.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := render(frame), "0: MODIFIED(a a@3)"; got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
			if got := frame.GetBatch().GetEvents()[0].GetObjectJson(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestPatchesGoToWhoHoldsTheBase(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.podOn("a", 1, "n1", "1"))
	src.Mark("1")
	client := serve(t, Config{Resolver: c, Sources: c})
	whole := subscribe(t, client, request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	whole.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	req := request(&runnelv1.ResourceSubscription{Resource: "pods"})
	req.Delta = runnelv1.DeltaMode_DELTA_MODE_PATCH
	patched := subscribe(t, client, req)
	patched.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")

	base := c.podOn("a", 1, "n1", "1").Version
	src.Upsert(c.podOn("a", 2, "n2", "1"))
	e := patched.event()
	if want := `{"metadata":{"resourceVersion":"2"},"spec":{"nodeName":"n2"}}`; e.GetMergePatchJson() != want {
		t.Errorf("patch is %s, want %s", e.GetMergePatchJson(), want)
	}
	if e.GetBaseVersion() != base || e.GetVersion() != c.podOn("a", 2, "n2", "1").Version || e.GetObjectJson() != "" {
		t.Errorf("patch goes from %x to %x with an object of %d bytes", e.GetBaseVersion(), e.GetVersion(), len(e.GetObjectJson()))
	}
	if e := whole.event(); e.GetObjectJson() == "" || e.GetBaseVersion() != 0 {
		t.Errorf("who did not ask for patches gets %v", e)
	}
	var labels []string
	for i := range 50 {
		labels = append(labels, fmt.Sprintf("l%d=x", i))
	}
	src.Upsert(c.pod("ns/a", 3, strings.Join(labels, ",")))
	if e := patched.event(); e.GetMergePatchJson() == "" {
		t.Errorf("no patch: %v", e)
	}
	// It would name each of the labels.
	src.Upsert(c.pod("ns/a", 4, ""))
	if e := patched.event(); e.GetObjectJson() == "" || e.GetBaseVersion() != 0 {
		t.Errorf("a patch that is no shorter than the object is sent: %v", e)
	}
}

// event reads a batch of one event.
func (tp *tape) event() *runnelv1.Event {
	tp.t.Helper()
	frame, err := tp.stream.Recv()
	if err != nil {
		tp.t.Fatal(err)
	}
	if n := len(frame.GetBatch().GetEvents()); n != 1 {
		tp.t.Fatalf("got %q, want one event", render(frame))
	}
	return frame.GetBatch().GetEvents()[0]
}

func TestMinIntervalConflatesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		src := c.source(pods)
		src.Mark("1")
		req := request(&runnelv1.ResourceSubscription{Resource: "pods"})
		req.MinInterval = durationpb.New(5 * time.Second)
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), req)
		s.want("0: reset NEW", "0: synced 0", "synced")
		begin := time.Now()
		src.Upsert(c.pod("ns/a", 2, ""))
		s.want("0: ADDED(a a@2)") // at once, for nothing was sent just before
		if after := time.Since(begin); after != 0 {
			t.Errorf("first change after %v", after)
		}
		for rv := 3; rv < 10; rv++ {
			src.Upsert(c.pod("ns/a", rv, ""))
			synctest.Wait()
		}
		s.want("0: MODIFIED(a a@9)")
		if after := time.Since(begin); after != 5*time.Second {
			t.Errorf("conflated change after %v, want 5 s", after)
		}
	})
}

// Selectors of any size cost a look-up, not a walk (C57).
func TestSelectorsOfThousandsOfValuesAreServed(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.podOn("a", 1, "n1999", ""))
	src.Upsert(c.pod("ns/b", 2, "l=v1999"))
	src.Mark("2")
	values := func(prefix string) string {
		all := make([]string, 2000)
		for i := range all {
			all[i] = fmt.Sprintf("%s%d", prefix, i)
		}
		return strings.Join(all, ",")
	}
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
		&runnelv1.ResourceSubscription{Resource: "pods", FieldSelector: "spec.nodeName in (" + values("n") + ")"},
		&runnelv1.ResourceSubscription{Resource: "pods", LabelSelector: "l in (" + values("v") + ")"},
		&runnelv1.ResourceSubscription{Resource: "pods", Namespaces: append(strings.Split(values("x"), ",")[:499], "ns"), Names: strings.Split(values("b"), ",")},
	))
	s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "1: reset NEW", "1: initial ADDED(b b@2)", "1: synced 1",
		"2: reset NEW", "2: synced 0", "synced")
}

// Subscribers that come and go, each with a selector of its own, leave nothing
// behind.
func TestShortLivedSubscribersLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		src := c.source(pods)
		src.Upsert(c.podOn("a", 1, "n1", ""))
		src.Mark("1")
		client := serve(t, Config{Resolver: c, Sources: c})
		for i := range 500 {
			ctx, cancel := context.WithCancel(t.Context())
			stream, err := client.Subscribe(ctx, request(&runnelv1.ResourceSubscription{
				Resource: "pods", FieldSelector: fmt.Sprintf("spec.nodeName=n%d", i),
			}))
			if err != nil {
				t.Fatal(err)
			}
			(&tape{t: t, stream: stream}).want("0: reset NEW")
			cancel()
		}
		time.Sleep(view.DefaultLimits().Horizon) //nolint:forbidigo // only so does a bubble's clock move
		src.Mark("2")
		if views := src.Stats().Views; views != 0 || c.open != 0 {
			t.Errorf("%d views and %d users of the source are left", views, c.open)
		}
	})
}

// C75: five hundred heartbeats are no event, and the position goes on.
func TestIgnoredHeartbeatsStillMoveTheBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		src := c.source(pods)
		for i := range 500 {
			src.Upsert(c.podOn(fmt.Sprintf("p%d", i), i+1, "n1", "1"))
		}
		src.Mark("500")
		req := request(&runnelv1.ResourceSubscription{Resource: "pods", IgnorePaths: []string{
			"metadata.resourceVersion", "metadata.annotations['leader']", "status.conditions[*].lastHeartbeatTime"}})
		req.BookmarkInterval = durationpb.New(time.Second)
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), req)
		s.skipTo("synced")
		for i := range 500 {
			src.Upsert(c.podOn(fmt.Sprintf("p%d", i), 501+i, "n1", "2"))
		}
		s.want("0: bookmark 500 @1000")
		src.Upsert(c.podOn("p7", 1001, "n2", "3"))
		s.want("0: MODIFIED(p7 p7@1001)")
	})
}
