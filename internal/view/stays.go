package view

import (
	"slices"
	"time"
)

// endedStays lists all ended stays of a view in the order of their ends, so that
// the oldest can be forgotten first.
type endedStays struct {
	refs []endedStay
	// forgotten is the end of the newest stay that was forgotten: nobody can go on
	// from before it.
	forgotten Position
	// look is the number of stays at which it is worth asking who holds them.
	look int
}

type endedStay struct {
	slot uint32
	at   uint32 // when, in seconds
	end  Position
}

// Asking costs a look at every cursor, so it is done when the number has doubled.
const fewestStaysToLook = 64

func (e *endedStays) push(s endedStay) { e.refs = append(e.refs, s) }

// horizon is for how many seconds ended stays and changes are remembered.
func (v *View) horizon() uint32 { return uint32(v.limits.Horizon.Seconds()) }

// Collect forgets what is beyond the horizon at a time. Apply does so too, but not
// always, and not while nothing changes.
func (v *View) Collect(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.ended.refs) > 0 {
		v.now = seconds(now)
		v.ended.look = 0
		v.collectLocked()
	}
}

// collectLocked forgets the ended stays that are beyond the horizon and that no cursor
// holds, and beyond the limit also others: the cursors that may hold those will be
// reset.
//
// A cursor that has seen every slot up to a floor holds no stay that ended at or
// before it. What a first scan has not reached yet does not count, for there the
// subscriber holds nothing.
func (v *View) collectLocked() {
	e := &v.ended
	over := len(e.refs) - v.limits.EndedStays
	if over <= 0 && (len(e.refs) < max(e.look, 1) || v.now-e.refs[0].at < v.horizon()) {
		return
	}
	floor := nothingHeld
	for _, c := range v.cursors {
		if f := Position(c.floor.Load()); f >= e.forgotten { // others will be reset
			floor = min(floor, f)
		}
	}
	n := 0
	for n < len(e.refs) && e.refs[n].end <= floor && v.now-e.refs[n].at >= v.horizon() {
		n++
	}
	if n < over {
		n = min(len(e.refs), over+v.limits.EndedStays/4) // not for each one again
	}
	if n > 0 {
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
	e.look = max(2*len(e.refs), fewestStaysToLook)
}
