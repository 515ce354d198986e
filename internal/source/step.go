package source

import (
	"time"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Upsert takes in a new or changed object.
func (s *Source) Upsert(r *record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := view.Change{New: r}
	if r.Listed || len(s.listed) > 0 {
		s.listed = append(s.listed, c)
		return
	}
	s.stepLocked([]view.Change{c}, r.ResourceVersion)
}

// Delete takes in a deletion that was watched. The final record carries the
// deletion's resourceVersion.
func (s *Source) Delete(final *record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := view.Change{
		Old:             final,
		Reason:          runnelv1.DeletionReason_DELETION_REASON_GONE,
		ResourceVersion: final.ResourceVersion,
	}
	if len(s.listed) > 0 {
		s.listed = append(s.listed, c)
		return
	}
	s.stepLocked([]view.Change{c}, final.ResourceVersion)
}

// Missing takes in that a list does not hold an object which was held before:
// how it ended is not known.
func (s *Source) Missing(namespace, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Whether it is held is known when the step is made: it may have come with a
	// list that was not followed by a watch, and is still held back.
	s.listed = append(s.listed, view.Change{
		Old:    record.NewReference(namespace, key),
		Reason: runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN,
	})
}

// Mark takes in that everything up to the resourceVersion has been handled: it
// ends a list and moves the watermark.
func (s *Source) Mark(resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed := s.listed
	s.listed = nil
	for i := range listed {
		// The list's own resourceVersion is an upper bound for what it misses.
		if listed[i].New == nil && listed[i].ResourceVersion == "" {
			listed[i].ResourceVersion = resourceVersion
		}
	}
	s.stepLocked(listed, resourceVersion)
	s.setStateLocked(State{Source: runnelv1.SourceState_SOURCE_STATE_SYNCED, AsOf: time.Now()})
}

// asOfPrecision is how exact State.AsOf is: people read it.
const asOfPrecision = time.Second

// stepLocked makes the changes visible, in objects and in every view that they
// touch, and moves the watermark to the resourceVersion at which the resource is
// complete with them.
func (s *Source) stepLocked(changes []view.Change, watermark string) {
	// One change is the rule; it needs no table of views.
	if len(changes) == 1 {
		if s.takeLocked(&changes[0]) {
			s.eachViewLocked(&changes[0], func(v *sharedView) { v.Apply(changes, watermark) })
		}
	} else {
		touched := map[*sharedView][]view.Change{}
		for i := range changes {
			if s.takeLocked(&changes[i]) {
				s.eachViewLocked(&changes[i], func(v *sharedView) { touched[v] = append(touched[v], changes[i]) })
			}
		}
		for v, changes := range touched {
			v.Apply(changes, watermark)
		}
	}
	s.watermark = record.NewerResourceVersion(s.watermark, watermark)
	if state, now := s.State(), time.Now(); state.Ready() && now.Sub(state.AsOf) > asOfPrecision {
		state.AsOf = now
		s.state.Store(&state)
	}
}

// takeLocked makes the change in objects and fills in the state before it. It
// reports false if there is nothing to change.
func (s *Source) takeLocked(c *view.Change) bool {
	r := c.New
	if r == nil {
		r = c.Old
	}
	old := s.objects[r.Namespace][r.Key()]
	if c.New == nil {
		if old == nil {
			return false
		}
		c.Old = old
		delete(s.objects[r.Namespace], r.Key())
		if len(s.objects[r.Namespace]) == 0 {
			delete(s.objects, r.Namespace)
		}
		return true
	}
	c.Old = old
	if s.objects[r.Namespace] == nil {
		s.objects[r.Namespace] = map[string]*record.Record{}
	}
	s.objects[r.Namespace][r.Key()] = r
	return true
}

// eachViewLocked calls f with every view that the change may touch.
func (s *Source) eachViewLocked(c *view.Change, f func(*sharedView)) {
	namespace := c.Old
	if c.New != nil {
		namespace = c.New
	}
	if namespace.Namespace != "" {
		for v := range s.byNamespace[namespace.Namespace] {
			f(v)
		}
	}
	for v := range s.byNamespace[""] {
		f(v)
	}
}

func (s *Source) setStateLocked(state State) {
	old := s.State()
	changed := state.Source != old.Source || state.Message != old.Message
	s.state.Store(&state)
	if !changed {
		return
	}
	for wake := range s.waiting {
		select {
		case wake <- struct{}{}:
		default: // it has been told and did not look yet
		}
	}
}
