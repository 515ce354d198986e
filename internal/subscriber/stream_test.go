package subscriber

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestStreamIsSnapshotThenSyncedThenChanges(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.pod("ns/a", 1, ""))
	src.Mark("1")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	src.Upsert(c.pod("ns/a", 2, "x=y"))
	s.want("0: MODIFIED(a a@2)")
	src.Delete(c.pod("ns/a", 3, "x=y"))
	s.want("0: DELETED(a a@3)GONE")
	src.Upsert(c.pod("ns/a", 4, "", "other"))
	s.want("0: ADDED(a other@4)")
}

func TestReCreationIsDeletedThenAdded(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.pod("ns/a", 1, ""))
	src.Mark("1")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	src.Upsert(c.pod("ns/a", 5, "", "other"))
	s.want("0: DELETED(a a@5)GONE ADDED(a other@5)")
}

func TestObjectsEnterAndLeaveBySelector(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.pod("ns/a", 1, "app=web"))
	src.Upsert(c.pod("ns/b", 2, "app=db"))
	src.Mark("2")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{
		Resource: "pods", LabelSelector: "app in (web, api), !canary",
	}))
	s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	src.Upsert(c.pod("ns/b", 3, "app=api"))
	s.want("0: ADDED(b b@3)")
	src.Upsert(c.pod("ns/a", 4, "app=web,canary=true"))
	s.want("0: DELETED(a a@4)LEFT_VIEW")
	src.Upsert(c.pod("ns/a", 5, "app=web"))
	s.want("0: ADDED(a a@5)")
}

func TestSeveralNamespacesAreOneUnion(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	for i, key := range []string{"a/x", "b/y", "c/z"} {
		src.Upsert(c.pod(key, i+1, ""))
	}
	src.Mark("3")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{
		Resource: "pods", Namespaces: []string{"c", "a", "c"},
	}))
	s.want("0: reset NEW", "0: initial ADDED(x x@1)", "0: initial ADDED(z z@3)", "0: synced 2", "synced")
	src.Upsert(c.pod("b/y", 4, ""))
	src.Upsert(c.pod("a/x", 5, ""))
	s.want("0: MODIFIED(x x@5)")
}

func TestProjectionToMetadataDropsTheRest(t *testing.T) {
	c := newCluster(t, pods)
	c.source(pods).Upsert(c.pod("ns/a", 1, ""))
	c.source(pods).Mark("1")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{
		Resource:   "pods",
		Projection: &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{}},
	}))
	s.want("0: reset NEW")
	frame, err := s.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	json := frame.GetBatch().GetEvents()[0].GetObjectJson()
	want := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"ns","uid":"a","resourceVersion":"1","labels":{}}}`
	if json != want {
		t.Errorf("got  %s\nwant %s", json, want)
	}
	if got := frame.GetBatch().GetEvents()[0].GetVersion(); got != record.HashString(want) {
		t.Errorf("version %x is not the hash of the JSON sent", got)
	}
}

// The snapshot of a resource that is listed late comes in its place (C18).
func TestSnapshotsFollowTheRequestsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nodes, pods)
		c.source(pods).Upsert(c.pod("ns/a", 1, ""))
		c.source(pods).Mark("1")
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
			&runnelv1.ResourceSubscription{Resource: "nodes"}, &runnelv1.ResourceSubscription{Resource: "pods"}))
		s.want("0: status STARTING")
		synctest.Wait()
		c.source(nodes).Upsert(object(t, nodes, "", "n", "n", 2, ""))
		c.source(nodes).Mark("2")
		s.want("0: status SYNCED", "0: reset NEW", "0: initial ADDED(n n@2)", "0: synced 1",
			"1: reset NEW", "1: initial ADDED(a a@1)", "1: synced 1", "synced")
	})
}

// A resource that is not starting loses its turn and nothing else (D7, D11).
func TestFailingResourceHoldsUpOnlyTheOverallSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nodes, pods)
		c.source(nodes).Failed(apierrors.NewForbidden(nodes.GroupResource(), "", errors.New("no")))
		c.source(pods).Mark("1")
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
			&runnelv1.ResourceSubscription{Resource: "nodes"}, &runnelv1.ResourceSubscription{Resource: "pods"}))
		s.want("0: status FORBIDDEN", "1: reset NEW", "1: synced 0")
		synctest.Wait()
		c.source(nodes).Mark("2")
		s.want("0: status SYNCED", "0: reset NEW", "0: synced 0", "synced")
	})
}

func TestResourceInstalledLaterStartsToFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		c.source(pods).Mark("1")
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
			&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}, &runnelv1.ResourceSubscription{Resource: "pods"}))
		s.want("0: status NOT_INSTALLED", "1: reset NEW", "1: synced 0")
		c.source(widgets).Mark("2")
		c.install(widgets)
		s.want("0: status SYNCED", "0: reset NEW", "0: synced 0", "synced")
	})
}

func TestStaleSourceIsToldAndServed(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	src.Upsert(c.pod("ns/a", 1, ""))
	src.Mark("1")
	src.Failed(errors.New("connection refused"))
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: status STALE", "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
	src.Connected()
	s.want("0: status SYNCED")
}

func TestBookmarksComeOnTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		src := c.source(pods)
		src.Upsert(c.pod("ns/a", 1, ""))
		src.Mark("1")
		req := request(&runnelv1.ResourceSubscription{Resource: "pods"})
		req.BookmarkInterval = durationpb.New(4 * time.Second)
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), req)
		s.want("0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1", "synced")
		begin := time.Now()
		s.want("0: bookmark 1 @1")
		if after := time.Since(begin); after < 3*time.Second || after > 4*time.Second {
			t.Errorf("first bookmark after %v, want 3 to 4 s", after)
		}
		src.Mark("7")
		s.want("0: bookmark 1 @7")
	})
}

func TestDrainingEndsStreamsWithGoodbye(t *testing.T) {
	c := newCluster(t, pods)
	c.source(pods).Mark("1")
	draining := make(chan struct{})
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c, Draining: draining}),
		request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: reset NEW", "0: synced 0", "synced")
	close(draining)
	s.want("goodbye DRAINING")
	if code := grpcstatus.Code(s.end()); code != codes.Unavailable {
		t.Errorf("ended with %v, want Unavailable", code)
	}
}

// A subscriber that was overtaken beyond what the view remembers is reset.
func TestOvertakenSubscriberIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		c.limits.Views = view.Limits{EndedStays: 4, Ring: 16}
		src := c.source(pods)
		big := strings.Repeat("x", 60)
		src.Mark("1")
		for i := range 2000 { // more than flow control lets through unread
			src.Upsert(c.pod("ns/p"+string(rune('a'+i%26))+strings.Repeat("p", i/26), 2+i, "l="+big))
		}
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c, Limits: Limits{FrameBytes: 16 << 10}}),
			request(&runnelv1.ResourceSubscription{Resource: "pods"}))
		synctest.Wait() // it is stuck in its snapshot
		for i := range 2000 {
			src.Delete(c.pod("ns/p"+string(rune('a'+i%26))+strings.Repeat("p", i/26), 5000+i, "l="+big))
		}
		var frames []string
		for len(frames) == 0 || frames[len(frames)-1] != "synced" {
			frame, err := s.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if frame.GetBatch() == nil {
				frames = append(frames, render(frame))
			}
		}
		got := strings.Join(frames, ", ")
		if want := "0: reset NEW, 0: reset OVERTAKEN, 0: synced 0, synced"; got != want {
			t.Errorf("control frames are %q, want %q", got, want)
		}
	})
}

// A reset resource waits for its turn; it does not ask for it again and again,
// which synctest.Wait would not survive.
func TestResetResourceWaitsBehindOneThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		c.limits.Views = view.Limits{EndedStays: 4, Ring: 16}
		src := c.source(pods)
		big := strings.Repeat("x", 60)
		many := func(rv int, change func(*record.Record)) {
			for i := range 2000 {
				change(c.pod(fmt.Sprintf("ns/p%d", i), rv+i, "l="+big))
			}
		}
		many(1, src.Upsert)
		src.Mark("2000")
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
			&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}, &runnelv1.ResourceSubscription{Resource: "pods"}))
		s.skipTo("1: synced 2000")
		c.install(widgets)
		s.skipTo("0: status STARTING")
		many(3000, src.Upsert) // more than flow control lets through unread
		synctest.Wait()
		many(6000, src.Delete)
		s.skipTo("1: reset OVERTAKEN")
		synctest.Wait()
		c.source(widgets).Mark("1")
		s.want("0: status SYNCED", "0: reset NEW", "0: synced 0", "1: synced 0", "synced")
	})
}

// skipTo reads frames up to that one.
func (tp *tape) skipTo(line string) {
	tp.t.Helper()
	for {
		frame, err := tp.stream.Recv()
		if err != nil {
			tp.t.Fatalf("want %q, got error %v", line, err)
		}
		if render(frame) == line {
			return
		}
	}
}

func TestLargeBatchesAreSplitByBytes(t *testing.T) {
	c := newCluster(t, pods)
	src := c.source(pods)
	for i := range 8 { // 8 MB together; a client takes 4 MiB (C43)
		src.Upsert(c.pod("ns/"+string(rune('a'+i)), i+1, "big="+strings.Repeat("x", 1<<20)))
	}
	src.Mark("8")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: reset NEW")
	for n := 0; n < 8; {
		frame, err := s.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		n += len(frame.GetBatch().GetEvents())
	}
	s.want("0: synced 8", "synced")
}

// However much one live read may take, its frames are what clients accept.
func TestLargeLiveReadsAreSplitByBytes(t *testing.T) {
	c := newCluster(t, pods)
	c.limits.Views = view.Limits{LiveBytes: 64 << 20}
	src := c.source(pods)
	src.Mark("1")
	s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	s.want("0: reset NEW", "0: synced 0", "synced")
	for i := range 8 {
		r := c.pod("ns/"+string(rune('a'+i)), i+2, "big="+strings.Repeat("x", 1<<20))
		r.Listed = true // all become visible at once
		src.Upsert(r)
	}
	src.Mark("9")
	for n := 0; n < 8; {
		frame, err := s.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		n += len(frame.GetBatch().GetEvents())
	}
}

func TestEndOfStreamGivesEverythingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		src := c.source(pods)
		src.Mark("1")
		client := serve(t, Config{Resolver: c, Sources: c})
		stream := subscribe(t, client, request(&runnelv1.ResourceSubscription{Resource: "pods"}))
		stream.want("0: reset NEW", "0: synced 0", "synced")
		if got := src.Stats().Views; got != 1 || c.open != 1 {
			t.Errorf("%d views and %d users of the source while the stream is open, want 1 and 1", got, c.open)
		}
		cancelled := serveCancelled(t, client)
		cancelled()
		synctest.Wait()
		if got := src.Stats().Views; got != 1 || c.open != 1 {
			t.Errorf("%d views and %d users after one of two streams ended, want 1 and 1", got, c.open)
		}
	})
}

// serveCancelled opens a second stream and returns what cancels it.
func serveCancelled(t *testing.T, client runnelv1.EventServiceClient) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.Subscribe(ctx, request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	if err != nil {
		t.Fatal(err)
	}
	(&tape{t: t, stream: stream}).want("0: reset NEW", "0: synced 0", "synced")
	return cancel
}
