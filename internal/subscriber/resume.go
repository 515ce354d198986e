package subscriber

import (
	"context"
	"fmt"

	grpcstatus "google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/token"
	"github.com/runnel-dev/runnel/internal/view"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// offer is what a subscriber that was here before, or at another replica, says it holds
// of a resource. None of it is trusted: it decides what need not be sent, and digests tell
// whether that was right.
type offer struct {
	any bool
	// token is zero if there is none, or none that can be read.
	token token.Token
	// known is nil if there is none.
	known *view.Known
}

// identify computes what tokens of the subscription are for.
func (sub *subscription) identify(cluster string, res resource.Resource) {
	key := sub.viewKey(res.Version)
	sub.scope = record.HashString(fmt.Sprintf("%q %q %q", cluster, res.Group, res.Resource))
	sub.fingerprint = record.HashString(fmt.Sprintf("%q %q %q %q", key.resource, key.namespaces, key.criteria, key.projection))
}

// inScope tells whether the offered token's resourceVersions are of this resource in this
// cluster: then no older state may be served, whatever view it is of (D2).
func (sub *subscription) inScope() bool { return sub.offer.token.Scope == sub.scope }

// exact tells whether the offered token says exactly what the subscriber holds of this
// view.
func (sub *subscription) exact() bool {
	t := &sub.offer.token
	return sub.inScope() && t.View == sub.fingerprint && t.Exact
}

// begin opens the resource's views and tells the subscriber how it goes on: Resumed, if
// what it holds is valid or is made so, otherwise Reset (D8).
func (s *stream) begin(ctx context.Context, sub *subscription) error {
	reason := runnelv1.ResetReason_RESET_REASON_NEW
	if sub.offer.any {
		reason = runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED
	}
	// First, so that whatever happens to history from here on resets the cursors.
	if err := sub.start(s.wake, s.patches); err != nil {
		return status.SourceUnavailable(sub.field, err.Error())
	}
	if sub.inScope() {
		switch rewritten, err := s.await(ctx, sub); {
		case err != nil:
			return err
		case rewritten:
			reason = runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN
		default:
			sub.floor = sub.offer.token.Last
		}
	}
	defer func() { sub.offer = offer{} }() // a list of known versions is large
	if reason == runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED {
		switch {
		case sub.resume():
			s.counts.byToken.Add(1)
			sub.resumed = true
			return s.out.SendMsg(resumedFrame(sub.index))
		case sub.knows():
			if !s.settle(sub) {
				s.counts.byKnown.Add(1)
				return s.difference(sub)
			}
			reason, sub.floor = runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN, ""
		case s.failExpired:
			s.counts.expired.Add(1)
			return status.TokenExpired(sub.field + ".resume_token")
		}
	}
	s.counts.reset.Add(1)
	sub.restart()
	return s.out.SendMsg(resetFrame(sub.index, reason))
}

// await waits until the source is not behind the offered token: a replica that lags must
// not serve an older state (D2). It finds out whether the token is ahead because history
// was rewritten. The error is a gRPC status.
func (s *stream) await(ctx context.Context, sub *subscription) (rewritten bool, err error) {
	last := sub.offer.token.Last
	if !record.OlderResourceVersion(sub.source.Watermark(), last) {
		return false, nil
	}
	waitCtx, cancel := context.WithTimeout(ctx, s.cfg.Limits.BehindWait)
	defer cancel()
	// Most replicas that are behind are so by milliseconds.
	soon, cancelSoon := context.WithTimeout(waitCtx, s.cfg.Limits.BehindWait/5)
	defer cancelSoon()
	if sub.source.Await(soon, last) {
		return false, nil
	}
	if current, err := sub.source.Current(waitCtx); err == nil && record.OlderResourceVersion(current, last) {
		return true, nil
	}
	switch {
	case sub.source.Await(waitCtx, last):
		return false, nil
	case ctx.Err() != nil:
		return false, grpcstatus.FromContextError(ctx.Err()).Err()
	}
	s.counts.behind.Add(1)
	return false, status.Behind(sub.field+".resume_token", s.cfg.Limits.BehindWait)
}

// resume lets the cursors go on from the offered token, if the views have its digest now, or
// had it at its watermark.
func (sub *subscription) resume() bool {
	t := &sub.offer.token
	if _, ordered := record.CompareResourceVersions(t.Last, sub.source.Watermark()); !sub.exact() || !ordered || sub.diverged() {
		return false
	}
	var now, then view.Digest
	for i := range sub.parts {
		now = now.Union(sub.parts[i].cursor.ResumeNow())
	}
	if now == t.Digest {
		return true
	}
	remembered := true
	for i := range sub.parts {
		d, ok := sub.parts[i].cursor.ResumeAt(t.Watermark)
		then, remembered = then.Union(d), remembered && ok
	}
	if remembered && then == t.Digest {
		return true
	}
	sub.restart()
	return false
}

// diverged tells whether the subscriber does not hold what its token says: it was told
// wrong, or has lost something, and needs the difference (D15).
func (sub *subscription) diverged() bool {
	return sub.exact() && sub.offer.known != nil && sub.offer.known.Digest() != sub.offer.token.Digest
}

// knows tells whether it is known what the subscriber holds.
func (sub *subscription) knows() bool {
	if sub.offer.known == nil && sub.exact() && sub.offer.token.Digest == (view.Digest{}) {
		sub.offer.known, _ = view.ParseKnown(nil) // nothing
	}
	return sub.offer.known != nil
}

// settle lets the cursors go on from the known versions. It tells whether the subscriber
// lived in another history: it was complete, and never saw what was there.
func (s *stream) settle(sub *subscription) (rewritten bool) {
	t, complete := &sub.offer.token, ""
	switch {
	case sub.diverged():
		s.counts.diverged.Add(1)
		s.cfg.Log.Warn("a subscriber does not hold what it was sent", "resource", sub.source.Resource().String())
	case sub.exact() && !record.OlderResourceVersion(sub.source.Watermark(), t.Watermark):
		complete = t.Watermark
	case sub.exact(): // what this replica holds may be superseded by what the subscriber saw
		complete = t.Last
	}
	for i := range sub.parts {
		if sub.parts[i].cursor.Settle(sub.offer.known, complete) {
			rewritten = true
		}
	}
	return rewritten
}

// difference tells the subscriber to drop what is not there any more. What else is
// different follows as a snapshot does.
func (s *stream) difference(sub *subscription) error {
	if err := s.out.SendMsg(resumedFrame(sub.index)); err != nil {
		return err
	}
	last, watermark := sub.floor, sub.source.Watermark()
	sub.floor = record.NewerResourceVersion(last, watermark)
	for deleted := sub.offer.known.Deleted(last, watermark); len(deleted) > 0; {
		n := fit(deleted, s.cfg.Limits.FrameBytes)
		if err := s.out.SendMsg(wire.Batch(sub.index, false, deleted[:n], sub.partialToken())); err != nil {
			return err
		}
		deleted = deleted[n:]
	}
	return nil
}

// token covers what the subscriber holds after the last read: exactly, if that made it
// level.
func (sub *subscription) token() []byte {
	if !sub.inStep() {
		return sub.partialToken()
	}
	return sub.exactToken(sub.resourceVersion(""))
}

func (sub *subscription) exactToken(watermark string) []byte {
	return token.Token{
		Scope: sub.scope, View: sub.fingerprint, Last: sub.last(),
		Exact: true, Watermark: watermark, Digest: sub.digest(),
	}.Encode()
}

// partialToken is for a subscriber that holds a mixture: it is just a floor.
func (sub *subscription) partialToken() []byte {
	return token.Token{Scope: sub.scope, View: sub.fingerprint, Last: sub.last()}.Encode()
}

// last is the resourceVersion of the last change that the subscriber was told of, or that
// touched what it was told of.
func (sub *subscription) last() string {
	last := sub.floor
	for i := range sub.parts {
		last = record.NewerResourceVersion(last, sub.parts[i].last)
	}
	return last
}
