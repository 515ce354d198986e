package subscriber

import (
	"maps"
	"strconv"

	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// take reads a frame, if there is one.
func (c *modelClient) take(t *rapid.T) bool {
	if len(c.queue) == 0 {
		return false
	}
	f := c.queue[0]
	c.queue = c.queue[1:]
	switch fr := f.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Resumed:
		c.begin(t)
		tally.add("resumed", 1)
		if !c.offeredKnown && c.by != c.replica.source {
			tally.add("resumed by a token of another replica", 1)
		}
	case *runnelv1.SubscribeResponse_Reset_:
		c.reset(t, fr.Reset_.GetReason(), f.history)
	case *runnelv1.SubscribeResponse_Batch:
		if !c.begun {
			t.Fatalf("D8: a batch before anything else")
		}
		for _, e := range fr.Batch.GetEvents() {
			c.event(t, e)
		}
		c.keep(fr.Batch.GetResumeToken(), f.history)
	case *runnelv1.SubscribeResponse_Synced:
		if fr.Synced.Resource == nil {
			break
		}
		c.sync(t, fr.Synced, f)
	case *runnelv1.SubscribeResponse_Bookmark:
		c.keep(fr.Bookmark.GetResumeToken(), f.history)
		c.level(t, fr.Bookmark.GetDigest(), f.visible)
	}
	return true
}

func (c *modelClient) begin(t *rapid.T) {
	if c.begun {
		t.Fatalf("D8: resumed in mid-stream")
	}
	if c.contradicted {
		t.Fatalf("D9: history was rewritten, and the client goes on as if it had not been")
	}
	c.begun = true
}

func (c *modelClient) reset(t *rapid.T, reason runnelv1.ResetReason, history int) {
	tally.add("reset "+reason.String(), 1)
	rewritten := reason == runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN
	if c.must && !c.begun && !c.offeredKnown {
		t.Fatalf("D8: could have resumed: %v", reason)
	}
	if rewritten {
		if c.replica.world.histories == 0 {
			t.Fatalf("D9: history was not rewritten")
		}
		c.floors, c.last = map[string]int{}, 0
	}
	c.history = history
	c.begun, c.synced, c.fresh = true, false, map[string]modelHeld{}
}

func (c *modelClient) keep(token []byte, history int) {
	if len(token) > 0 {
		c.token, c.by, c.in, c.of = token, c.replica.source, history, c.view
	}
}

func (c *modelClient) event(t *rapid.T, e *runnelv1.Event) {
	if !c.synced {
		c.events++
	}
	held := c.held
	if c.fresh != nil {
		held = c.fresh
	}
	uid := e.GetUid()
	if e.GetUidHash() != 0 {
		for u := range held {
			if record.HashString(u) == e.GetUidHash() {
				uid = u
			}
		}
	}
	rv, _ := strconv.Atoi(e.GetResourceVersion())
	if rv < c.floors[uid] {
		t.Fatalf("D2: %v at %d, after %d", e, rv, c.floors[uid])
	}
	if e.GetUidHash() == 0 { // otherwise it is not known how it ended: a later version may be older
		c.floors[uid] = rv
	}
	old, holds := held[uid]
	if holds != (e.GetType() != runnelv1.EventType_EVENT_TYPE_ADDED) {
		t.Fatalf("D4: held is %v (%v): %v", old, holds, e)
	}
	if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
		delete(held, uid)
		return
	}
	name := e.GetNamespace() + "/" + e.GetName()
	for u, h := range held {
		if u != uid && h.name == name {
			t.Fatalf("D5: %s is still held as %s: %v", name, u, e)
		}
	}
	if e.GetMergePatchJson() != "" && (!holds || old.version != e.GetBaseVersion()) {
		t.Fatalf("D14: a patch of %x, held is %x: %v", e.GetBaseVersion(), old.version, e)
	}
	if holds && old.version == e.GetVersion() && !c.synced && c.offeredKnown && c.still {
		t.Fatalf("D8: equal to what was known: %v", e)
	}
	held[uid] = modelHeld{name, e.GetVersion()}
}

func (c *modelClient) sync(t *rapid.T, s *runnelv1.Synced, f modelFrame) {
	if c.still && c.fresh == nil && c.events > 0 {
		t.Fatalf("D6: %d events, though nothing has changed: offered %+v, held %v (%v), visible %v", c.events, c.offered, c.held, digestOfHeld(c.held), f.visible)
	}
	if c.last > f.seen {
		t.Fatalf("D2: served at %d, behind the token's %d", f.seen, c.last)
	}
	if c.fresh != nil {
		c.held, c.fresh = c.fresh, nil
	}
	c.synced, c.damaged = true, false
	c.keep(s.GetResumeToken(), f.history)
	c.level(t, s.GetDigest(), f.visible)
	tally.add("synced", 1)
}

// level checks that a client which the server says is level holds what the server does.
func (c *modelClient) level(t *rapid.T, want *runnelv1.Digest, visible modelState) {
	if want == nil {
		return
	}
	if got := digestOfHeld(c.held); got != (view.Digest{Count: want.GetCount(), Hash: want.GetHash()}) {
		t.Fatalf("D15: the server says %v, held is %v: %v", want, got, c.held)
	}
	if now := c.selected(visible); !maps.Equal(now, c.held) {
		t.Fatalf("D1: held is %v, in the view %v", c.held, now)
	}
}
