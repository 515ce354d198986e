package view

import (
	"sort"

	"github.com/runnel-dev/runnel/internal/record"
)

// ring remembers the last changes: so that who is nearly level need not scan, and so
// that who comes back is found where it was (D8). It holds which slot changed and
// the digest after it, not the states: those are in the slots, and only the newest is
// ever sent.
type ring struct {
	// start is the position before the first change of all.
	start Position
	// changes holds position p at p modulo its length, a power of two.
	changes []change
}

type change struct {
	slot uint32
	// at is when, in seconds.
	at uint32
	// digest is the view's after the change, and resourceVersion that of its step.
	digest          Digest
	resourceVersion string
}

const smallestRing = 16

// push remembers the change at position p, the next one. The ring grows to at most
// limit changes rather than to forget one that is younger than the horizon, and
// shrinks again when few are.
func (r *ring) push(p Position, c change, horizon uint32, limit int) {
	n := Position(len(r.changes))
	switch {
	case n == 0:
		r.changes = make([]change, smallestRing)
	case p <= r.start+n: // not full
	case c.at-r.at(p).at < horizon && len(r.changes)*2 <= limit:
		r.resize(p-1, 2*n)
	case n > smallestRing && p%n == 0 && c.at-r.at(p-n/4).at >= horizon:
		r.resize(p-1, n/2)
	}
	*r.at(p) = c
}

// resize changes how many changes are remembered, up to the newest.
func (r *ring) resize(newest, n Position) {
	resized := ring{start: r.start, changes: make([]change, n)}
	for p := max(r.oldest(newest), resized.oldest(newest)); p <= newest; p++ {
		*resized.at(p) = *r.at(p)
	}
	if oldest := r.oldest(newest); resized.oldest(newest) < oldest {
		resized.start = oldest - 1 // what is older was in the short ring and is lost
	}
	*r = resized
}

// at returns the change at position p, which must be from oldest to newest, or the
// place of the next one.
func (r *ring) at(p Position) *change { return &r.changes[p%Position(len(r.changes))] }

// oldest is the oldest position that is remembered, given the newest; it is
// newest+1 if none is.
func (r *ring) oldest(newest Position) Position {
	oldest := r.start + 1
	if n := Position(len(r.changes)); newest > n && newest-n+1 > oldest {
		oldest = newest - n + 1
	}
	return oldest
}

// find returns the position of who is complete up to the resourceVersion: that of the
// last change which is not newer. It fails if that is not remembered, or if
// resourceVersions have no order.
func (r *ring) find(resourceVersion string, newest Position) (p Position, ok bool) {
	oldest := r.oldest(newest)
	ordered := true
	n := sort.Search(int(newest+1-oldest), func(i int) bool {
		c, ok := record.CompareResourceVersions(r.at(oldest+Position(i)).resourceVersion, resourceVersion)
		ordered = ordered && ok
		return c > 0
	})
	if n == 0 || !ordered {
		return 0, false
	}
	return oldest + Position(n) - 1, true
}
