package subscriber

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// D11, C52: a resource that is removed yields its DELETEDs; installed again, a fresh snapshot.
// Nobody else notices.
func TestRemovedResourceIsGoneAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, widgets, pods)
		c.source(widgets).Upsert(object(t, widgets, "ns", "a", "ua", 1, ""))
		c.source(widgets).Mark("2")
		c.source(pods).Mark("1")
		s := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), request(
			&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}, &runnelv1.ResourceSubscription{Resource: "pods"}))
		s.want("0: reset NEW", "0: initial ADDED(a ua@1)", "0: synced 1", "1: reset NEW", "1: synced 0", "synced")
		for range 2 {
			c.remove(widgets)
			s.want("0: DELETED(a ua@2)FINAL_STATE_UNKNOWN", "0: status GONE")
			begin := time.Now()
			c.source(pods).Upsert(c.pod("ns/p", 3, ""))
			s.want("1: ADDED(p p@3)")
			c.source(pods).Delete(c.pod("ns/p", 4, ""))
			s.want("1: DELETED(p p@4)GONE")
			if !time.Now().Equal(begin) {
				t.Error("others waited for it")
			}
			c.install(widgets)
			s.want("0: status STARTING")
			c.source(widgets).Upsert(object(t, widgets, "ns", "a", "ua", 1, ""))
			c.source(widgets).Mark("2")
			s.want("0: status SYNCED", "0: reset NEW", "0: initial ADDED(a ua@1)", "0: synced 1", "synced")
		}
	})
}

// Who asked for no version goes on with another one; what is held is valid until then.
func TestDroppedVersionIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := widgets
		other.Version = "v2"
		c := newCluster(t, widgets, other)
		for _, res := range c.installed {
			c.source(res).Upsert(object(t, res, "ns", "a", "ua", 1, ""))
			c.source(res).Mark("1")
		}
		client := serve(t, Config{Resolver: c, Sources: c})
		any := subscribe(t, client, request(&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}))
		old := subscribe(t, client, request(&runnelv1.ResourceSubscription{Group: "example.com", Version: "v1", Resource: "widgets"}))
		for _, s := range []*tape{any, old} {
			s.want("0: reset NEW", "0: initial ADDED(a ua@1)", "0: synced 1", "synced")
		}
		c.remove(widgets, "v2")
		any.want("0: status GONE", "0: status SYNCED", "0: reset NEW", "0: initial ADDED(a ua@1)", "0: synced 1", "synced")
		old.want("0: status GONE")
		c.source(widgets).Upsert(object(t, widgets, "ns", "a", "ua", 3, ""))
		c.source(widgets).Mark("3")
		c.install(widgets)
		old.want("0: status SYNCED", "0: reset NEW", "0: initial ADDED(a ua@3)", "0: synced 1", "synced")
	})
}

// D11: whoever wants to fail does, and so does who has nothing else.
func TestRemovedResourceEndsWhoWantsToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, widgets, pods)
		c.source(widgets).Mark("2")
		c.source(pods).Mark("2")
		client := serve(t, Config{Resolver: c, Sources: c})
		req := request(&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}, &runnelv1.ResourceSubscription{Resource: "pods"})
		req.FailFast = true
		fails := subscribe(t, client, req)
		fails.want("0: reset NEW", "0: synced 0", "1: reset NEW", "1: synced 0", "synced")
		c.remove(widgets)
		fails.want("0: status GONE")
		if code := grpcstatus.Code(fails.end()); code != codes.NotFound {
			t.Errorf("fail_fast ended with %v, want NotFound", code)
		}
		// The resolver may know the resource from before.
		c.install(widgets)
		missing := subscribe(t, client, request(&runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"}))
		missing.want("0: status STARTING")
		c.remove(widgets)
		missing.want("0: status NOT_INSTALLED")
		if code := grpcstatus.Code(missing.end()); code != codes.NotFound {
			t.Errorf("what was never there ended with %v, want NotFound", code)
		}
	})
}
