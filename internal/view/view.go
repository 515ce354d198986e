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
// Invariants:
//   - Positions grow by one with every change and are never reused.
//   - Per slot, stays do not overlap and are ordered; the live one is the last.
//   - A stay is forgotten only when no cursor can hold it, or else every cursor
//     that may is reset.
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
	"sync"
	"sync/atomic"

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
	// Ring is the largest number of changes that the ring keeps.
	Ring int
	// EndedStays is how many ended stays are kept for subscribers that may hold
	// them. Those that are further behind are reset.
	EndedStays int
}

// DefaultLimits are the limits that a zero field takes.
func DefaultLimits() Limits {
	return Limits{
		BatchBytes: 256 << 10, // well under gRPC's 4 MiB, and enough to amortise a write
		LiveBytes:  1 << 20,   // some hundred objects: what one slow subscriber may pin
		Ring:       1 << 16,   // 1.5 MiB; beyond it a scan is cheaper
		EndedStays: 1 << 16,   // about 20 MiB of identities
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ value, fallback *int }{
		{&l.BatchBytes, &d.BatchBytes}, {&l.LiveBytes, &d.LiveBytes},
		{&l.Ring, &d.Ring}, {&l.EndedStays, &d.EndedStays},
	} {
		if *f.value <= 0 {
			*f.value = *f.fallback
		}
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
	// overrun is set by a cursor that found the ring too short.
	overrun atomic.Bool

	mu sync.RWMutex // guards all below
	// slots is the table; nil where a slot is free.
	slots []*slot
	free  []uint32
	index map[string]uint32
	ring  ring
	ended endedStays
	// digest is that of the live slots.
	digest Digest
	// resourceVersion is that of the newest batch of changes.
	resourceVersion string
	cursors         []*Cursor
	// patching is how many of the cursors take patches.
	patching int
}

// New returns a view of those of the objects that the selector selects, as of
// the resourceVersion.
func New(cfg Config, objects func(yield func(*record.Record) bool), resourceVersion string) *View {
	v := &View{
		selector:        cfg.Selector,
		projection:      cfg.Projection,
		limits:          cfg.Limits.withDefaults(),
		index:           map[string]uint32{},
		resourceVersion: resourceVersion,
	}
	// All that is there at the beginning entered in one instant.
	const beginning = 1
	v.head.Store(beginning)
	v.ring.start = beginning
	for r := range objects {
		if v.selector.Matches(r) {
			s := v.slotLocked(r.Key())
			v.enterLocked(s, r, beginning)
		}
	}
	return v
}

// Len is the number of objects in the view.
func (v *View) Len() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return int(v.digest.Count)
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
