package view

import (
	"math"
	"sort"
)

// seen says up to which position each slot was seen: a step function over slot
// indexes, with a step for every batch of the scan that made it. Positions do not
// decrease from step to step, for a scan goes up while the view moves on.
//
// Slots behind the last step did not exist when the scan began, so nothing is held
// there. They count as seen up to the first step's position: what they hold is
// newer.
type seen []step

// step covers the slots from the end of the step before to its own, exclusive.
type step struct {
	end      uint32
	position Position
}

const allSlots = math.MaxUint32 // no slot has it, see noSlot

// nothingHeld is above every position: the floor of who holds nothing.
const nothingHeld = Position(math.MaxUint64)

// seenAll is the function of who is level at position p.
func seenAll(p Position) seen { return seen{{allSlots, p}} }

// at is the position up to which the slot was seen.
func (s seen) at(slot uint32) Position {
	if len(s) > 0 && slot < s[0].end {
		return s[0].position
	}
	i := sort.Search(len(s), func(i int) bool { return slot < s[i].end })
	if i == len(s) {
		return s.lowest()
	}
	return s[i].position
}

// covers tells whether something may be held in the slot.
func (s seen) covers(slot uint32) bool { return len(s) > 0 && slot < s[len(s)-1].end }

// lowest is the smallest position of all slots; 0 where nothing was seen.
func (s seen) lowest() Position {
	if len(s) == 0 {
		return 0
	}
	return s[0].position
}

// walked adds that the slots up to end were seen at position p.
func (s seen) walked(end uint32, p Position) seen {
	if n := len(s); n > 0 && s[n-1].position == p {
		s[n-1].end = end
		return s
	}
	return append(s, step{end, p})
}
