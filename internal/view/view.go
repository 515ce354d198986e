// Package view holds the objects that one selector selects, in one projection,
// for any number of subscribers, and tells each of them what changed since it
// last looked.
//
// A view is a table of slots, one per object key, and beside it a ring of the last
// changes. Every change of the view gets the next position. A slot holds the
// newest state of its key only (with the position of the change that made it), and
// the key's earlier stays as long as someone may still hold them. Nothing is queued
// per subscriber: a Cursor knows up to which position its subscriber has seen
// each slot, and what it must be told follows from that alone (see slot.emit).
//
// A subscriber that comes back finds its position again by the resourceVersion up to
// which it was complete, and proves by digest that it holds what the view held then
// (ResumeAt); or that it holds what the view holds now (ResumeNow); or it says
// which versions it holds and is told the difference (Settle, D8).
//
// Invariants:
//   - Positions grow by one with every change and are never reused.
//   - Per slot, stays do not overlap and are ordered; the live one is the last.
//   - A stay is forgotten only beyond the horizon and when no cursor can hold it, or
//     else every cursor that may is reset. Nobody resumes from before its end.
//   - What a Cursor returns is encoded and immutable.
//
// A source calls Apply from its informer's handler, one call at a time. Any
// number of cursors read concurrently, each from one goroutine. A writer waits
// for readers only while they collect one batch under the lock, never while
// they send it.
//
// Start reading at slot.emit, then Apply, then Cursor.Read.
package view

import (
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/selector"
)

// Position is a view's local change counter. The first is 1; a subscriber that
// has seen nothing is at 0.
type Position uint64

// Config says what a view holds and bounds what it keeps. Zero limits take the
// defaults.
type Config struct {
	// Selector decides which objects are in the view.
	Selector *selector.Selector
	// Projection decides which part of them subscribers get.
	Projection projection.Projection
	// Limits bounds reads and history.
	Limits Limits
}

// Limits bounds a view's reads and history.
type Limits struct {
	// BatchBytes is how much one batch of a scan may take on the wire; a single
	// larger object still makes a batch.
	BatchBytes int
	// LiveBytes is how much one live read may take; a subscriber that is further
	// behind scans, which pins less.
	LiveBytes int
	// Horizon is for how long changes and ended stays are remembered, so that a
	// subscriber which was away no longer than that can resume.
	Horizon time.Duration
	// Ring is the largest number of changes that the ring keeps, 40 bytes each.
	Ring int
	// EndedStays is how many ended stays are kept, some 300 bytes each. Subscribers
	// that may hold older ones are reset.
	EndedStays int
}

// DefaultLimits are the limits that a zero field takes.
func DefaultLimits() Limits {
	return Limits{
		BatchBytes: 256 << 10,       // well under gRPC's 4 MiB, and enough to amortise a write
		LiveBytes:  1 << 20,         // some hundred objects: what one slow subscriber may pin
		Horizon:    5 * time.Minute, // a consumer's rollout, or a node's restart
		Ring:       1 << 16,         // 2.5 MiB; 200 changes a second within the horizon
		EndedStays: 1 << 16,         // about 20 MiB of identities
	}
}

// WithDefaults returns the limits with the defaults in the place of zero fields.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ value, fallback *int }{
		{&l.BatchBytes, &d.BatchBytes}, {&l.LiveBytes, &d.LiveBytes},
		{&l.Ring, &d.Ring}, {&l.EndedStays, &d.EndedStays},
	} {
		if *f.value <= 0 {
			*f.value = *f.fallback
		}
	}
	if l.Horizon <= 0 {
		l.Horizon = d.Horizon
	}
	return l
}

// View is the objects that a selector selects. See the package comment for who
// may call what.
type View struct {
	selector   *selector.Selector
	projection projection.Projection
	limits     Limits

	// head is the newest position. It is written under mu, and read without it
	// by cursors that look whether there is anything new.
	head atomic.Uint64

	mu sync.RWMutex // guards all below
	// slots is the table; nil where a slot is free.
	slots []*slot
	free  []uint32
	index map[string]uint32
	ring  ring
	ended endedStays
	// digest is that of the live slots.
	digest Digest
	// resourceVersion is that of the newest step, and last that of the newest one that
	// touched an object of the view.
	resourceVersion, last string
	// now is when the newest step came, in seconds.
	now     uint32
	cursors []*Cursor
	// rewrites is how often the view began anew.
	rewrites int
	// patching is how many of the cursors take patches.
	patching int
}

// Objects yields the objects from which a view begins.
type Objects = iter.Seq[*record.Record]

// New returns a view of those of the objects that the selector selects, as of
// the resourceVersion at a time.
func New(cfg Config, objects Objects, resourceVersion string, at time.Time) *View {
	v := &View{
		selector:   cfg.Selector,
		projection: cfg.Projection,
		limits:     cfg.Limits.WithDefaults(),
	}
	v.beginLocked(objects, resourceVersion, at)
	return v
}

// Rewrite makes the view begin anew from the objects, because the API server's history
// was rewritten: nothing that was before counts, and every cursor is reset (D9).
func (v *View) Rewrite(objects Objects, resourceVersion string, at time.Time) {
	v.mu.Lock()
	v.beginLocked(objects, resourceVersion, at)
	v.rewrites++
	v.mu.Unlock()
	v.wake()
}

// beginLocked fills the view. All that is there at the beginning entered in one
// instant, at the next position.
func (v *View) beginLocked(objects Objects, resourceVersion string, at time.Time) {
	beginning := v.headLocked() + 1
	v.slots, v.free, v.index = nil, nil, map[string]uint32{}
	v.ring, v.ended, v.digest = ring{start: beginning - 1}, endedStays{}, Digest{}
	v.resourceVersion, v.last, v.now = resourceVersion, resourceVersion, seconds(at)
	for r := range objects {
		if v.selector.Matches(r) {
			v.enterLocked(v.slotLocked(r.Key()), r, beginning)
		}
	}
	v.ring.push(beginning, change{noSlot, v.now, v.digest, resourceVersion}, 0, 0)
	v.head.Store(uint64(beginning))
}

// noSlot is the slot of what changes no single one.
const noSlot = math.MaxUint32

// Len is the number of objects in the view.
func (v *View) Len() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return int(v.digest.Count)
}

// Size is about how many bytes the view takes, beside the records that it shares.
func (v *View) Size() int {
	const view, perSlot, perStay = 1 << 10, 300, 300 // measured, rounded up
	v.mu.RLock()
	defer v.mu.RUnlock()
	size := view + perSlot*len(v.slots) + perStay*len(v.ended.refs) + int(unsafe.Sizeof(change{}))*len(v.ring.changes)
	if !v.projection.Shares() {
		for _, s := range v.slots {
			if s != nil && s.live {
				size += len(s.object.JSON())
			}
		}
	}
	return size
}

func (v *View) headLocked() Position { return Position(v.head.Load()) }

// slotLocked returns the key's slot, a new one where it has none.
func (v *View) slotLocked(key string) *slot {
	if i, ok := v.index[key]; ok {
		return v.slots[i]
	}
	s := &slot{key: key}
	if n := len(v.free); n > 0 {
		s.index = v.free[n-1]
		v.free = v.free[:n-1]
		v.slots[s.index] = s
	} else {
		s.index = uint32(len(v.slots))
		v.slots = append(v.slots, s)
	}
	v.index[key] = s.index
	return s
}

// freeLocked gives back a slot that no cursor needs.
func (v *View) freeLocked(s *slot) {
	delete(v.index, s.key)
	v.slots[s.index] = nil
	v.free = append(v.free, s.index)
}
