package source

import (
	"context"
	"errors"
	"time"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// The API server's history can be rewritten: etcd is restored, and resourceVersions go
// back (D9). An informer does not notice. It goes on watching at its old
// resourceVersion, which the API server accepts and then keeps silent about every
// change up to it; and it hides what comes again in the same resourceVersion. So what
// proves another history (a quorum read below the watermark, an object that should have
// been seen before) makes the source abandon its informer. What it holds is served
// until another informer has listed everything; then the source and all its views begin
// anew with that.

// history is how a source stands to its informer.
type history struct {
	// fresh says that the informer is new: its first list is all there is, whatever
	// is held.
	fresh bool
	// abandoned says that nothing the informer says counts any more; stop, if not
	// nil, ends it.
	abandoned bool
	stop      func()
}

// errRewritten says that the API server's history was rewritten.
var errRewritten = errors.New("the API server's history was rewritten; listing anew")

// Follow takes in that a new informer is about to speak, and that stop ends it. No other
// may speak any more.
func (s *Source) Follow(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = history{fresh: true, stop: stop}
}

// Rewritten takes in that the API server's history was; why is for people.
func (s *Source) Rewritten(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandonLocked(why)
}

func (s *Source) abandonLocked(why string) {
	if s.history.fresh || s.history.abandoned {
		return // it follows the new one, or is about to
	}
	s.history.abandoned = true
	s.listed = pending{}
	if s.history.stop != nil {
		s.history.stop()
	}
	s.setStateLocked(State{
		Source:  runnelv1.SourceState_SOURCE_STATE_STALE,
		Message: errRewritten.Error() + " (" + why + ")",
		AsOf:    s.State().AsOf,
	})
}

// contradictedLocked tells whether a list holds an object in a resourceVersion that is
// not newer than the watermark, and that was not seen: it is of another history.
func (s *Source) contradictedLocked(listed []view.Change) bool {
	if s.history.fresh {
		return false
	}
	for i := range listed {
		r := listed[i].New
		if r == nil || !notNewer(r.ResourceVersion, s.watermark) {
			continue
		}
		held := s.objects[r.Namespace][r.Key()]
		if held == nil || held.UID != r.UID || held.ResourceVersion != r.ResourceVersion {
			return true
		}
	}
	return false
}

// notNewer tells whether a is known to be at most b.
func notNewer(a, b string) bool {
	order, ok := record.CompareResourceVersions(a, b)
	return ok && order <= 0
}

// beginLocked begins with what an informer's first list holds. Views that have
// subscribers begin anew; the others are not worth it.
func (s *Source) beginLocked(listed []view.Change, watermark string, now time.Time) {
	s.history.fresh = false
	s.objects = map[string]map[string]*record.Record{}
	for i := range listed {
		if r := listed[i].New; r != nil {
			s.putLocked(r)
		}
	}
	s.recent = recent{since: watermark, began: now}
	s.linger = lingering{}
	for _, v := range s.views {
		if v.users == 0 {
			s.forgetLocked(v)
			continue
		}
		v.Rewrite(s.inNamespaceLocked(v.namespace), watermark, now)
	}
	s.moveLocked(watermark)
}

func (s *Source) putLocked(r *record.Record) {
	if s.objects[r.Namespace] == nil {
		s.objects[r.Namespace] = map[string]*record.Record{}
	}
	s.objects[r.Namespace][r.Key()] = r
}

// complete is the resourceVersion up to which the informer's history is known; "" where
// it is new.
func (s *Source) complete() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history.fresh {
		return ""
	}
	return s.watermark
}

// holds tells whether an object is held.
func (s *Source) holds(r *record.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[r.Namespace][r.Key()] != nil
}

// Await waits until the watermark is not below the resourceVersion, or ctx ends, and
// tells which of them came first.
func (s *Source) Await(ctx context.Context, resourceVersion string) bool {
	for {
		s.mu.Lock()
		if !record.OlderResourceVersion(s.watermark, resourceVersion) {
			s.mu.Unlock()
			return true
		}
		if s.moved == nil {
			s.moved = make(chan struct{})
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}
