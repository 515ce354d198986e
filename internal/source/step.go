package source

import (
	"slices"
	"time"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// pending are changes that are held back, one for each object. Where no watch can be
// opened behind a list, another list follows, and so on: only what came last of an
// object counts, or they would pile up.
type pending struct {
	changes []view.Change
	byKey   map[string]int
}

func (p *pending) any() bool { return len(p.changes) > 0 }

func (p *pending) add(key string, c view.Change) {
	if i, ok := p.byKey[key]; ok {
		p.changes[i] = c
		return
	}
	if p.byKey == nil {
		p.byKey = map[string]int{}
	}
	p.byKey[key] = len(p.changes)
	p.changes = append(p.changes, c)
}

// Upsert takes in a new or changed object.
func (s *Source) Upsert(r *record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history.abandoned {
		return
	}
	c := view.Change{New: r}
	if r.Listed || s.heldBackLocked() {
		s.listed.add(r.Key(), c)
		return
	}
	s.stepLocked([]view.Change{c}, r.ResourceVersion, time.Now())
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
	if s.restricted {
		// The API server says the same of what left the source's selector (D4).
		c.Reason = runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW
	}
	if s.history.abandoned {
		return
	}
	if s.heldBackLocked() {
		s.listed.add(final.Key(), c)
		return
	}
	s.stepLocked([]view.Change{c}, final.ResourceVersion, time.Now())
}

// Missing takes in that a list does not hold an object which was held before:
// how it ended is not known.
func (s *Source) Missing(namespace, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history.abandoned {
		return
	}
	// Whether it is held is known when the step is made: it may have come with a
	// list that was not followed by a watch, and is still held back.
	s.listed.add(key, missing(namespace, key))
}

// Mark takes in that everything up to the resourceVersion has been handled: it
// ends a list and moves the watermark.
func (s *Source) Mark(resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.history.abandoned {
		return
	}
	began := s.history
	listed := s.listed.changes
	if began.fresh && !began.begins {
		listed = s.addMissingLocked(s.listed)
	}
	s.listed = pending{}
	if s.contradictedLocked(listed) {
		s.rewrittenLocked("a list holds an object that should have been seen before")
		return
	}
	s.history = history{stop: began.stop}
	for i := range listed {
		// The list's own resourceVersion is an upper bound for what it misses.
		if listed[i].New == nil && listed[i].ResourceVersion == "" {
			listed[i].ResourceVersion = resourceVersion
		}
	}
	now := time.Now()
	if began.begins {
		s.beginLocked(listed, resourceVersion, now)
	} else {
		s.stepLocked(listed, resourceVersion, now)
	}
	s.tidyLocked(now)
	// A failure that was told meanwhile is over when a watch is open, see Connected.
	if state := s.State(); began.fresh || state.Source == runnelv1.SourceState_SOURCE_STATE_SYNCED {
		s.setStateLocked(State{Source: runnelv1.SourceState_SOURCE_STATE_SYNCED, AsOf: now})
	}
}

// heldBackLocked tells whether changes wait for the marker that ends a list.
func (s *Source) heldBackLocked() bool { return s.history.fresh || s.listed.any() }

// tidyLocked forgets what is beyond the horizon; bookmarks see to it that this is done
// about once in a minute.
func (s *Source) tidyLocked(now time.Time) {
	s.recent.forget(now.Add(-s.limits.Views.Horizon), s.limits.RecentBytes)
	s.sweepLocked(now)
	for _, v := range s.views {
		v.Collect(now)
	}
}

// asOfPrecision is how exact State.AsOf is: people read it.
const asOfPrecision = time.Second

// stepLocked makes the changes visible, in objects and in every view that they
// touch, and moves the watermark to the resourceVersion at which the resource is
// complete with them.
func (s *Source) stepLocked(changes []view.Change, watermark string, now time.Time) {
	if s.restricted {
		changes = s.withoutReplacingLocked(changes)
	}
	taken := changes[:0]
	for _, c := range changes {
		if s.takeLocked(&c) {
			taken = append(taken, c)
		}
	}
	step := view.Step{
		Changes:         taken,
		ResourceVersion: record.NewerResourceVersion(s.watermark, watermark),
		At:              now,
	}
	switch len(taken) {
	case 0:
	case 1: // the rule; it needs no table of views
		s.eachViewLocked(&taken[0], func(v *sharedView) { v.Apply(step) })
	default:
		touched := map[*sharedView][]view.Change{}
		for i := range taken {
			s.eachViewLocked(&taken[i], func(v *sharedView) { touched[v] = append(touched[v], taken[i]) })
		}
		for v, changes := range touched {
			v.Apply(view.Step{Changes: changes, ResourceVersion: step.ResourceVersion, At: now})
		}
	}
	s.rememberLocked(step)
	s.moveLocked(step.ResourceVersion)
	if state := s.State(); state.Ready() && now.Sub(state.AsOf) > asOfPrecision {
		state.AsOf = now
		s.state.Store(&state)
	}
}

// rememberLocked keeps a step for views to come, less what changes nothing for any: a
// list brings every object again.
func (s *Source) rememberLocked(step view.Step) {
	step.Changes = slices.DeleteFunc(step.Changes, func(c view.Change) bool {
		return c.Old != nil && c.New != nil && c.Old.UID == c.New.UID &&
			c.Old.ResourceVersion == c.New.ResourceVersion && c.Old.Version == c.New.Version
	})
	if len(step.Changes) > 0 {
		s.recent.add(step, s.limits.Views.Horizon, s.limits.RecentBytes)
	}
}

// moveLocked sets the watermark and wakes those who await it.
func (s *Source) moveLocked(watermark string) {
	s.watermark = watermark
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// takeLocked makes the change in objects and fills in the state before it. It
// reports false if there is nothing to change.
func (s *Source) takeLocked(c *view.Change) bool {
	r := c.New
	if r == nil {
		r = c.Old
	}
	if s.audited != nil {
		s.audited.touched[r.Key()] = struct{}{}
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
	s.putLocked(r)
	return true
}

// withoutReplacingLocked makes two changes of each that puts another object in the
// place of one that is held: what is known of the old one is only that it is not
// listed any more. A view would take it for gone.
func (s *Source) withoutReplacingLocked(changes []view.Change) []view.Change {
	var split []view.Change
	for _, c := range changes {
		if c.New != nil {
			old := s.objects[c.New.Namespace][c.New.Key()]
			if old != nil && old.UID != c.New.UID {
				split = append(split, view.Change{
					Old:             old,
					Reason:          runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN,
					ResourceVersion: c.New.ResourceVersion,
				})
			}
		}
		split = append(split, c)
	}
	return split
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
