package source

import (
	"context"
	"errors"
	"fmt"
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
//
// An informer is also abandoned within one history, where what it holds is wrong, and it
// would never say: an audit found that events were lost, or objects read differently since
// their schema changed. Then the other informer's list is held against what is held, and
// the difference is a step.

// history is how a source stands to its informer.
type history struct {
	// fresh says that the informer is new: what its first list does not hold is missing.
	fresh bool
	// begins says that its first list is all there is, whatever is held: nothing yet, or
	// what is of another history.
	begins bool
	// lost says that events of this history were lost: a list that holds what was not seen
	// proves nothing.
	lost bool
	// abandoned says that nothing the informer says counts any more; stop, if not
	// nil, ends it.
	abandoned bool
	stop      func()
}

var (
	// errAbandoned says that another informer lists anew.
	errAbandoned = errors.New("listing anew")
	// errRewritten says that the API server's history was rewritten.
	errRewritten = fmt.Errorf("the API server's history was rewritten; %w", errAbandoned)
)

// Follow takes in that a new informer is about to speak, and that stop ends it. No other
// may speak any more. It reports false if none is wanted: the resource is not served.
func (s *Source) Follow(stop func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.State().Ended() {
		return false
	}
	s.history = history{fresh: true, begins: s.history.begins, lost: s.history.lost, stop: stop}
	return true
}

// Rewritten takes in that the API server's history was; why is for people.
func (s *Source) Rewritten(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewrittenLocked(why)
}

func (s *Source) rewrittenLocked(why string) {
	if s.history.begins && s.history.abandoned || s.State().Ended() {
		return
	}
	s.history.begins = true
	s.abandonLocked(errRewritten.Error() + " (" + why + ")")
}

// Relist takes in that what the informer holds is wrong, though history was not rewritten;
// lost says that events were lost. why is for people.
func (s *Source) Relist(why string, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history.fresh || s.history.abandoned {
		return
	}
	s.history.lost = lost
	s.abandonLocked(why + "; " + errAbandoned.Error())
}

func (s *Source) abandonLocked(why string) {
	s.stopInformerLocked()
	if state := s.State(); state.Ready() {
		s.setStateLocked(State{Source: runnelv1.SourceState_SOURCE_STATE_STALE, Message: why, AsOf: state.AsOf})
	}
}

func (s *Source) stopInformerLocked() {
	s.history.abandoned = true
	s.listed = pending{}
	if s.history.stop != nil {
		s.history.stop()
	}
}

// contradictedLocked tells whether a list holds an object in a resourceVersion that is
// not newer than the watermark, and that was not seen: it is of another history.
func (s *Source) contradictedLocked(listed []view.Change) bool {
	if s.history.begins || s.history.lost {
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

// addMissingLocked adds to an informer's first list what it does not hold any more.
func (s *Source) addMissingLocked(listed pending) []view.Change {
	for r := range s.inNamespaceLocked("") {
		if _, ok := listed.byKey[r.Key()]; !ok {
			listed.changes = append(listed.changes, missing(r.Namespace, r.Key()))
		}
	}
	return listed.changes
}

// missing is that an object is not there any more; how it ended is not known.
func missing(namespace, key string) view.Change {
	return view.Change{
		Old:    record.NewReference(namespace, key),
		Reason: runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN,
	}
}

// beginLocked begins with what an informer's first list holds. Views that have
// subscribers begin anew; the others are not worth it.
func (s *Source) beginLocked(listed []view.Change, watermark string, now time.Time) {
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
	if s.history.begins {
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
