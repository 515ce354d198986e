package view

// ring remembers the last changes, so that who is nearly level need not scan.
// It holds which slot changed and the digest after it, not the states: those
// are in the slots, and only the newest is ever sent.
type ring struct {
	// start is the position before the oldest change that may be remembered:
	// the view's first.
	start Position
	// changes holds position p at p modulo its length, a power of two.
	changes []change
}

type change struct {
	slot   uint32
	digest Digest
}

const smallestRing = 16

// push remembers the change at position p, the next one. It grows to at most
// limit changes where grow says that someone missed older ones.
func (r *ring) push(p Position, c change, grow bool, limit int) {
	switch {
	case r.changes == nil:
		r.changes = make([]change, smallestRing)
	case grow && len(r.changes)*2 <= limit:
		oldest := r.oldest(p - 1)
		grown := make([]change, len(r.changes)*2)
		for q := oldest; q < p; q++ {
			grown[q%Position(len(grown))] = *r.at(q)
		}
		// Older positions were in the short ring and are lost.
		r.start = oldest - 1
		r.changes = grown
	}
	*r.at(p) = c
}

// at returns the change at position p, which must be from oldest to head.
func (r *ring) at(p Position) *change { return &r.changes[p%Position(len(r.changes))] }

// oldest is the oldest position that is remembered, given the newest; it is
// head+1 if none is.
func (r *ring) oldest(head Position) Position {
	oldest := r.start + 1
	if n := Position(len(r.changes)); head > n && head-n+1 > oldest {
		oldest = head - n + 1
	}
	return oldest
}
