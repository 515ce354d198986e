package view

import (
	"sync/atomic"

	"github.com/runnel-dev/runnel/internal/wire"
)

// Cursor is what one subscriber has seen of one view. Its memory does not grow
// with what it has not seen: a few words, and one pair per batch of a scan.
// It is used by one goroutine at a time.
type Cursor struct {
	view *View
	wake chan<- struct{}

	// seen covers every slot, but for those that the present scan has passed.
	seen seen
	// scanning says that a scan is under way: passed covers the slots below next,
	// and it goes up to end, the number of slots when it began. Were it to follow
	// the table, it would not end where objects come and go as fast as it walks.
	scanning  bool
	next, end uint32
	passed    seen
	// unsynced says that not everything was handed out yet which was there when the
	// cursor began; initial, that until then the events are a snapshot.
	unsynced, initial bool
	// known is what the subscriber said it held, during the scan that tells it the
	// difference; seen then says when that was settled.
	known *Known
	// last is the resourceVersion of the last change that the subscriber was told of,
	// or that touched what it was told of.
	last string
	// patches says that the subscriber takes merge patches.
	patches bool
	// rewrites is the view's when the cursor began.
	rewrites int

	// floor is a position up to which every slot was seen of which the
	// subscriber may hold anything. Written by the reader, read by collection.
	floor atomic.Uint64
	// slot is where the view keeps the cursor; guarded by the view's lock.
	slot int
}

// Batch is what a read found.
type Batch struct {
	// Events are to be sent in this order.
	Events []wire.Event
	// Reset says that the subscriber fell behind what the view remembers, or that
	// history was Rewritten: all it holds is in doubt, and a snapshot follows. There
	// are no events.
	Reset, Rewritten bool
	// Initial says that the events belong to a snapshot.
	Initial bool
	// Synced says that with these events everything was handed out that was in the
	// view when the cursor began.
	Synced bool
	// Level says that after these events the subscriber holds exactly what is in
	// the view; only then is Digest set.
	Level bool
	// Digest is that of the view.
	Digest Digest
	// ResourceVersion is the one up to which the view is complete.
	ResourceVersion string
	// Last is the resourceVersion of the last change that the subscriber was told of,
	// or that touched what it was told of: it must not be told an older state (D2).
	Last string
}

// NewCursor returns a cursor that has seen nothing: its first reads are a
// snapshot. Changes of the view send on wake, without waiting. The cursor must be
// closed. With patches, objects that the subscriber holds come as merge patches
// where these are smaller.
func (v *View) NewCursor(wake chan<- struct{}, patches bool) *Cursor {
	c := &Cursor{view: v, wake: wake, patches: patches}
	c.Restart()
	v.mu.Lock()
	defer v.mu.Unlock()
	c.slot, c.rewrites = len(v.cursors), v.rewrites
	v.cursors = append(v.cursors, c)
	if patches {
		v.patching++
	}
	return c
}

// Close takes the cursor out of its view.
func (c *Cursor) Close() {
	v := c.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.patches {
		v.patching--
	}
	last := v.cursors[len(v.cursors)-1]
	last.slot = c.slot
	v.cursors[c.slot] = last
	v.cursors[len(v.cursors)-1] = nil
	v.cursors = v.cursors[:len(v.cursors)-1]
}

// wake tells every cursor's subscriber that there is something to read.
func (v *View) wake() {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, c := range v.cursors {
		select {
		case c.wake <- struct{}{}:
		default: // it has been told and did not look yet
		}
	}
}

// Pending tells whether a Read would find anything.
func (c *Cursor) Pending() bool {
	return c.scanning || len(c.seen) != 1 || c.seen[0].position != Position(c.view.head.Load())
}

// Read fills b with what comes next, reusing b.Events. It collects everything in
// one instant and does not block but for the view's lock. If the subscriber is
// not level afterwards, there is more.
func (c *Cursor) Read(b *Batch) {
	v := c.view
	*b = Batch{Events: b.Events[:0]}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if c.Pending() {
		c.last = v.last
	}
	b.Initial = c.initial
	b.Rewritten = c.rewrites != v.rewrites
	if b.Rewritten || Position(c.floor.Load()) < v.ended.forgotten {
		c.Restart()
		c.rewrites = v.rewrites
		b.Reset = true
	} else if c.scanning || !c.readLive(b) {
		c.scan(b)
	}
	c.storeFloor()
	if !c.scanning {
		b.Synced, c.unsynced, c.initial = c.unsynced, false, false
		if c.seen.lowest() == v.headLocked() {
			c.seen = seenAll(v.headLocked())
			b.Level, b.Digest = true, v.digest
		}
	}
	b.ResourceVersion, b.Last = v.resourceVersion, c.last
}

// Restart begins a snapshot, as for a new subscriber.
func (c *Cursor) Restart() {
	c.seen, c.passed, c.next, c.known = nil, nil, 0, nil
	c.scanning, c.unsynced, c.initial = true, true, true
	c.floor.Store(uint64(nothingHeld))
}

// readLive reads what the ring remembers, if that is all that is new and if it
// is not too much; otherwise it reports false.
//
// Everything up to the head is taken at once. Stopping at a position in between
// would be wrong: an object changed before and after it would count as seen at
// a state that was never sent.
func (c *Cursor) readLive(b *Batch) bool {
	v := c.view
	head, from := v.headLocked(), c.seen.lowest()
	if from == head {
		return true
	}
	if from+1 < v.ring.oldest(head) {
		c.beginScan()
		return false
	}
	size := 0
	for p := from + 1; p <= head; p++ {
		i := v.ring.at(p).slot
		s := v.slots[i]
		if s == nil || s.position != p {
			continue // freed, or changed again: its newest position comes later
		}
		n := len(b.Events)
		b.Events = s.emit(c.seen.at(i), c.patches, b.Events)
		for _, e := range b.Events[n:] {
			size += e.Size()
		}
		if size > v.limits.LiveBytes && n > 0 {
			b.Events = b.Events[:0]
			c.beginScan()
			return false
		}
	}
	c.seen = seenAll(head)
	return true
}

func (c *Cursor) beginScan() { c.scanning, c.next, c.passed = true, 0, nil }

// slotsPerBatch bounds how long a scan that finds nothing holds the lock.
const slotsPerBatch = 4096

// scan walks over one batch of slots. What changes behind the walk is found by a
// live read from the lowest step, or by another scan: a hot object is met once
// per walk, so a slow reader always gets round.
func (c *Cursor) scan(b *Batch) {
	v := c.view
	if len(c.passed) == 0 {
		c.end = uint32(len(v.slots))
	}
	size, last := 0, c.next+min(slotsPerBatch, c.end-c.next)
	for ; c.next < last; c.next++ {
		s := v.slots[c.next]
		if s == nil {
			continue
		}
		n := len(b.Events)
		if c.known != nil {
			b.Events = s.emitKnown(c.seen.at(c.next), c.known, c.patches, b.Events)
		} else {
			b.Events = s.emit(c.seen.at(c.next), c.patches, b.Events)
		}
		for _, e := range b.Events[n:] {
			size += e.Size()
		}
		if size > v.limits.BatchBytes && n > 0 {
			b.Events = b.Events[:n]
			break
		}
	}
	c.passed = c.passed.walked(c.next, v.headLocked())
	if c.next < c.end {
		return
	}
	c.seen, c.passed, c.scanning = c.passed, nil, false
	c.known = nil
}

func (c *Cursor) storeFloor() {
	floor := nothingHeld
	if len(c.passed) > 0 {
		floor = c.passed.lowest()
	}
	if !c.scanning {
		floor = c.seen.lowest()
	} else if c.seen.covers(c.next) {
		floor = min(floor, c.seen.at(c.next)) // the lowest of what is ahead
	}
	c.floor.Store(uint64(floor))
}
