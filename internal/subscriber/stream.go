package subscriber

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/view"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// stream is one call of Subscribe. All its methods run on the call's goroutine.
type stream struct {
	cfg      *Config
	counts   *counts
	failFast bool
	patches  bool
	// failExpired says that the call ends where a token has expired.
	failExpired bool
	interval    time.Duration // between bookmarks
	pace        pace
	out         grpc.ServerStream
	// wake is sent on by views and sources when there is something to look at.
	wake          chan struct{}
	subscriptions []*subscription
	// retry ticks while a resource has no source.
	retry *time.Ticker
	// toldSynced says that the overall Synced was sent.
	toldSynced bool
	batch      view.Batch // of the last read; its list of events is reused
}

// open resolves the resources. It fails if the request is wrong, if no resource
// can be served or, with fail_fast, if any cannot (D11).
func (s *stream) open(ctx context.Context, selections []selection) error {
	seen := map[viewKey]string{}
	var lastErr error
	unresolved := 0
	for i, sel := range selections {
		sub := &subscription{selection: sel, index: i, told: runnelv1.SourceState_SOURCE_STATE_SYNCED}
		s.subscriptions = append(s.subscriptions, sub)
		name := fmt.Sprintf("%s.%s.%s", sub.resource, sub.version, sub.group)
		canHeal, err := sub.resolve(ctx, s.cfg, s.wake)
		switch {
		case err == nil:
			name = sub.source.Resource().String()
		case s.failFast || !canHeal:
			return err
		default:
			unresolved++
			lastErr = err
		}
		key := sel.viewKey(name)
		if first, dup := seen[key]; dup {
			return status.Invalid([]status.Violation{{Field: sel.field, Err: fmt.Errorf("the same view as %s", first)}})
		}
		seen[key] = sel.field
	}
	if unresolved == len(selections) {
		return lastErr
	}
	return nil
}

// close gives back all that the stream holds.
func (s *stream) close() {
	for _, sub := range s.subscriptions {
		sub.close()
	}
}

// run serves the stream until it ends.
func (s *stream) run(ctx context.Context) error {
	held := time.NewTimer(0)
	held.Stop()
	defer held.Stop()
	bookmark := time.NewTimer(jitter(s.interval))
	defer bookmark.Stop()
	s.retry = time.NewTicker(s.cfg.Limits.Retry)
	defer s.retry.Stop()
	always := make(chan struct{})
	close(always)
	for {
		more, err := s.turn(ctx)
		if err != nil {
			return err
		}
		var now <-chan struct{}
		if more {
			now = always
		}
		if wait := s.pace.wait(time.Now()); wait > 0 {
			held.Reset(wait)
		}
		select {
		case <-now:
		case <-held.C:
		case <-s.wake:
		case <-bookmark.C:
			for _, sub := range s.subscriptions {
				sub.bookmark = true
			}
			bookmark.Reset(jitter(s.interval))
		case <-s.retry.C:
			s.resolve(ctx)
		case <-s.cfg.Draining:
			after := jitter(time.Second)
			if err := s.out.SendMsg(goodbyeFrame(runnelv1.GoodbyeReason_GOODBYE_REASON_DRAINING, after)); err != nil {
				return err
			}
			return status.Draining(after)
		case <-ctx.Done():
			return grpcstatus.FromContextError(ctx.Err()).Err()
		}
	}
}

// jitter keeps streams that began together from acting together.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// resolve looks again for the resources that are not served. What else is served goes on,
// whatever it finds (D11).
func (s *stream) resolve(ctx context.Context) {
	s.retry.Stop()
	for _, sub := range s.subscriptions {
		if sub.source != nil {
			continue
		}
		if _, err := sub.resolve(ctx, s.cfg, s.wake); err != nil {
			s.retry.Reset(s.cfg.Limits.Retry)
		}
	}
}

// turn gives every resource its turn to send: one read for each that is synced,
// and one batch of a snapshot for the first that is not, so that snapshots come
// in the order of the request (D12). What is resumed does not wait for the snapshots of
// others. It reports whether there is more to send.
func (s *stream) turn(ctx context.Context) (more bool, err error) {
	snapshotTaken, synced, servable := false, true, false
	var reason error
	s.pace.turn(time.Now())
	for _, sub := range s.subscriptions {
		state := sub.state()
		if sub.source != nil && state.Ended() && sub.toldAll() {
			sub.lose(state)
			s.toldSynced = false
			s.retry.Reset(s.cfg.Limits.Retry)
		}
		if err := s.tell(sub, state); err != nil {
			return false, err
		}
		starting := state.Source == runnelv1.SourceState_SOURCE_STATE_STARTING
		if sub.source == nil || !state.Ready() && !starting {
			reason = sub.reason(state)
			if s.failFast {
				return false, reason
			}
			synced, servable = false, servable || sub.lost
			continue
		}
		servable = true
		switch {
		case sub.synced && s.pace.held && sub.level():
			// What changes meanwhile is conflated in the views.
		case sub.synced:
			err = s.live(sub)
			more = more || sub.pending()
		case starting:
			snapshotTaken = true // by a resource that is about to have one
		case sub.parts == nil && sub.offer.any, sub.resumed:
			more = true
			err = s.snapshot(ctx, sub)
		case !snapshotTaken:
			snapshotTaken, more = true, true // if only the next resource's
			err = s.snapshot(ctx, sub)
		}
		if err != nil {
			return false, err
		}
		synced = synced && sub.synced
	}
	if !servable {
		return false, reason
	}
	if synced && !s.toldSynced {
		s.toldSynced = true
		return more, s.out.SendMsg(allSyncedFrame())
	}
	return more, nil
}

// tell sends the state of the resource's source if it has changed, and its end behind
// everything else.
func (s *stream) tell(sub *subscription, state source.State) error {
	if state.Source == sub.told || state.Ended() && sub.source != nil {
		return nil
	}
	sub.told = state.Source
	return s.out.SendMsg(statusFrame(sub.index, state))
}

// snapshot sends the next batch of the resource's snapshot, or of what a subscriber that
// came back has missed.
func (s *stream) snapshot(ctx context.Context, sub *subscription) error {
	if sub.parts == nil {
		if err := s.begin(ctx, sub); err != nil {
			return err
		}
	}
	if err := s.read(sub, &sub.parts[sub.snapshot]); err != nil {
		return err
	}
	if !s.batch.Synced {
		return nil
	}
	if sub.snapshot++; sub.snapshot < len(sub.parts) {
		return nil
	}
	sub.synced = true
	var digest *runnelv1.Digest
	if sub.inStep() {
		digest = digestMessage(sub.digest())
	}
	return s.out.SendMsg(syncedFrame(sub.index, digest, sub.token()))
}

// live sends what is new, and the bookmark if one is due and nothing is.
func (s *stream) live(sub *subscription) error {
	for i := range sub.parts {
		if !sub.parts[i].cursor.Pending() {
			continue
		}
		s.pace.sent(time.Now())
		if err := s.read(sub, &sub.parts[i]); err != nil {
			return err
		}
		if !sub.synced {
			return nil // it was reset
		}
	}
	if !sub.bookmark {
		return nil
	}
	watermark := sub.source.Watermark() // before looking whether there is anything new
	if !sub.level() || sub.pending() {
		return nil
	}
	sub.bookmark = false
	watermark = sub.resourceVersion(watermark)
	return s.out.SendMsg(bookmarkFrame(sub.index, watermark, digestMessage(sub.digest()), sub.exactToken(watermark)))
}

// read sends what the part's cursor finds.
func (s *stream) read(sub *subscription, p *part) error {
	b := &s.batch
	p.cursor.Read(b)
	p.level, p.digest, p.resourceVersion, p.last = b.Level, b.Digest, b.ResourceVersion, b.Last
	if b.Reset {
		return s.reset(sub)
	}
	for events := b.Events; len(events) > 0; {
		n := fit(events, s.cfg.Limits.FrameBytes)
		// What is left of an earlier state is dropped when a snapshot is synced, and not
		// before: until then, nothing is held exactly.
		token := sub.partialToken()
		if n == len(events) && !b.Initial {
			token = sub.token()
		}
		if err := s.out.SendMsg(wire.Batch(sub.index, b.Initial, events[:n], token)); err != nil {
			return err
		}
		events = events[n:]
	}
	// An idle stream must not keep what is superseded.
	clear(b.Events)
	if cap(b.Events) > keptEvents {
		b.Events = nil
	}
	return nil
}

// reset begins the resource's snapshot anew: its view says that what the subscriber holds is
// in doubt.
func (s *stream) reset(sub *subscription) error {
	reason := runnelv1.ResetReason_RESET_REASON_OVERTAKEN
	if s.batch.Rewritten {
		reason = runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN
		sub.floor = ""
		for i := range sub.parts {
			sub.parts[i].last = ""
		}
	}
	sub.restart()
	s.toldSynced = false
	s.counts.reset.Add(1)
	return s.out.SendMsg(resetFrame(sub.index, reason))
}

// keptEvents is the largest list of events that a stream keeps for its next read.
const keptEvents = 16

// fit is how many of the events fit into a frame; at least one.
func fit(events []wire.Event, limit int) int {
	size := 0
	for i, e := range events {
		if size += e.Size(); size > limit && i > 0 {
			return i
		}
	}
	return len(events)
}
