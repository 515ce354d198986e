package source

import (
	"time"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
)

// recent remembers the last steps, with the objects before and after each change: from
// them a view is built that nobody held, as if somebody had.
type recent struct {
	// steps, from first on, are complete since a resourceVersion, at which the source was
	// when the memory began.
	steps []view.Step
	first int
	since string
	began time.Time
	bytes int
}

// stepBytes is what a change takes beside the object that it supersedes.
const stepBytes = 200

func sizeOfStep(s *view.Step) (n int) {
	for i := range s.Changes {
		n += stepBytes
		if old := s.Changes[i].Old; old != nil {
			n += len(old.Raw)
		}
	}
	return n
}

// add remembers a step, and forgets those that are older than the horizon or do not fit
// into the bytes.
func (r *recent) add(step view.Step, horizon time.Duration, bytes int) {
	r.forget(step.At.Add(-horizon), bytes-sizeOfStep(&step))
	if sizeOfStep(&step) > bytes {
		r.since, r.began = step.ResourceVersion, step.At // all was forgotten
		return
	}
	r.steps = append(r.steps, step)
	r.bytes += sizeOfStep(&step)
}

func (r *recent) forget(before time.Time, bytes int) {
	for r.first < len(r.steps) {
		oldest := &r.steps[r.first]
		if r.bytes <= bytes && !oldest.At.Before(before) {
			break
		}
		r.since, r.began = oldest.ResourceVersion, oldest.At
		r.bytes -= sizeOfStep(oldest)
		*oldest = view.Step{}
		r.first++
	}
	if r.first > len(r.steps)/2 {
		n := copy(r.steps, r.steps[r.first:])
		clear(r.steps[n:])
		r.steps, r.first = r.steps[:n], 0
	}
}

func (r *recent) all() []view.Step { return r.steps[r.first:] }

// before returns what was there when the memory began, given what is there now.
func (r *recent) before(now view.Objects) view.Objects {
	changed := map[string]*record.Record{} // what each was before; nil if it was not
	for _, step := range r.all() {
		for i := range step.Changes {
			c := &step.Changes[i]
			if _, earlier := changed[c.Key()]; !earlier {
				changed[c.Key()] = c.Old
			}
		}
	}
	return func(yield func(*record.Record) bool) {
		for r := range now {
			if _, other := changed[r.Key()]; !other && !yield(r) {
				return
			}
		}
		for _, r := range changed {
			if r != nil && !yield(r) {
				return
			}
		}
	}
}
