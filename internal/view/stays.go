package view

import "slices"

// endedStays lists all ended stays of a view in the order of their ends, so that
// the oldest can be forgotten first.
type endedStays struct {
	refs []endedStay
	// forgotten is the end of the newest stay that was forgotten although
	// someone might hold it.
	forgotten Position
	// look is the number of stays at which it is worth asking who holds them.
	look int
}

type endedStay struct {
	slot uint32
	end  Position
}

// Asking costs a look at every cursor, so it is done when the number has doubled.
const fewestStaysToLook = 64

func (e *endedStays) push(slot uint32, end Position) {
	e.refs = append(e.refs, endedStay{slot, end})
}

// collectLocked forgets the ended stays that no cursor holds, and beyond the
// limit also those that some do: they will be reset.
//
// A cursor that has seen every slot up to a floor holds no stay that ended at or
// before it. What a first scan has not reached yet does not count, for there the
// subscriber holds nothing.
func (v *View) collectLocked() {
	e := &v.ended
	if len(e.refs) < max(e.look, fewestStaysToLook) && len(e.refs) <= v.limits.EndedStays && len(v.cursors) > 0 {
		return
	}
	floor := nothingHeld
	for _, c := range v.cursors {
		if f := Position(c.floor.Load()); f >= e.forgotten { // others will be reset
			floor = min(floor, f)
		}
	}
	n := 0
	for n < len(e.refs) && e.refs[n].end <= floor {
		n++
	}
	if over := len(e.refs) - v.limits.EndedStays; n < over {
		n = min(len(e.refs), over+v.limits.EndedStays/4) // not for each one again
		e.forgotten = e.refs[n-1].end
	}
	for _, ref := range e.refs[:n] {
		s := v.slots[ref.slot]
		s.stays = s.stays[1:] // the oldest of the slot, as of the view
		if len(s.stays) == 0 {
			s.stays = nil
			if !s.live {
				v.freeLocked(s)
			}
		}
	}
	e.refs = slices.Delete(e.refs, 0, n)
	e.look = 2 * len(e.refs)
}
