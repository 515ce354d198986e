package view

import (
	"bytes"
	"time"

	"github.com/runnel-dev/runnel/internal/mergepatch"
	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Change is one change of one object, before it is known which views it touches.
type Change struct {
	// Old is the state before, nil if the object is new.
	Old *record.Record
	// New is the state after, nil if the object is gone. It may have another UID
	// than Old.
	New *record.Record
	// Reason says why the object is gone, where New is nil.
	Reason runnelv1.DeletionReason
	// ResourceVersion is the deletion's, or an upper bound, where New is nil.
	ResourceVersion string
}

// Key is the object's, as of its record.
func (c *Change) Key() string {
	if c.New != nil {
		return c.New.Key()
	}
	return c.Old.Key()
}

// Step is what becomes visible in one instant.
type Step struct {
	Changes []Change
	// ResourceVersion is the one up to which the source is complete with the
	// changes. It never goes back from step to step.
	ResourceVersion string
	// At is when the source took the changes in.
	At time.Time
}

// Apply takes in a step. Cursors that wait are woken.
func (v *View) Apply(s Step) {
	v.mu.Lock()
	before := v.headLocked()
	v.resourceVersion, v.now = s.ResourceVersion, seconds(s.At)
	for i := range s.Changes {
		if v.applyLocked(&s.Changes[i]) {
			v.last = s.ResourceVersion
		}
	}
	v.collectLocked()
	moved := v.headLocked() != before
	v.mu.Unlock()
	if moved {
		v.wake()
	}
}

// seconds is a time as rings and stays remember it: no horizon needs more precision.
func seconds(t time.Time) uint32 { return uint32(t.Unix()) }

// applyLocked takes in a change and tells whether it touched an object of the view.
func (v *View) applyLocked(c *Change) (touched bool) {
	entering := c.New != nil && v.selector.Matches(c.New)
	i, known := v.index[c.Key()]
	if !known && !entering {
		return false
	}
	if !known {
		s := v.slotLocked(c.Key())
		p := v.headLocked() + 1
		v.enterLocked(s, c.New, p)
		v.publishLocked(s, p)
		return true
	}
	s := v.slots[i]
	switch {
	case !entering && !s.live:
		return false
	case !entering:
		p := v.headLocked() + 1
		v.leaveLocked(s, c, p)
		v.publishLocked(s, p)
	case s.live && s.uid == c.New.UID:
		v.modifyLocked(s, c.New)
	default:
		p := v.headLocked() + 1
		if s.live {
			v.leaveLocked(s, c, p)
		}
		v.enterLocked(s, c.New, p)
		v.publishLocked(s, p)
	}
	return true
}

// enterLocked begins a stay at position p.
func (v *View) enterLocked(s *slot, r *record.Record, p Position) {
	json, version := v.projection.Apply(r)
	s.live = true
	s.birth, s.previous, s.position = p, 0, p
	s.uid = r.UID
	v.setLocked(s, r, json, version)
	v.digest.add(s.uid, s.version)
}

// modifyLocked takes in another version of a live object, unless its projection
// is the same (D6): then it takes no position, but the resourceVersion that is
// shown from now on is the newer one, or a replica that did not see this change
// would show an older one later (D2). The bytes are the newer record's too, even if
// nothing is new: a list brings every object again, and the old ones must go.
func (v *View) modifyLocked(s *slot, r *record.Record) {
	json, version := v.projection.Apply(r)
	if version == s.version && bytes.Equal(json, s.object.JSON()) {
		if s.patch.Size() > 0 && r.ResourceVersion != s.resourceVersion {
			s.patch = wire.NewPatch(identity(r), version, s.base, s.patch.Payload())
		}
		v.setLocked(s, r, json, version)
		return
	}
	v.digest.remove(s.uid, s.version)
	p := v.headLocked() + 1
	s.previous, s.position = s.position, p
	s.base, s.patch = s.version, wire.Event{}
	if v.patching > 0 {
		if patch, ok := mergepatch.Diff(s.object.JSON(), json); ok {
			s.patch = wire.NewPatch(identity(r), version, s.base, patch)
		}
	}
	v.setLocked(s, r, json, version)
	v.digest.add(s.uid, s.version)
	v.publishLocked(s, p)
}

func (v *View) setLocked(s *slot, r *record.Record, json []byte, version uint64) {
	s.resourceVersion = r.ResourceVersion
	s.version = version
	s.object = wire.NewObject(identity(r), version, json)
}

// leaveLocked ends the present stay at position p.
func (v *View) leaveLocked(s *slot, c *Change, p Position) {
	v.digest.remove(s.uid, s.version)
	reason, resourceVersion := c.Reason, c.ResourceVersion
	if c.New != nil {
		// Its own resourceVersion bounds the one at which the object left, or was
		// deleted before this one took its name.
		resourceVersion = c.New.ResourceVersion
		reason = runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW
		if c.New.UID != s.uid {
			reason = runnelv1.DeletionReason_DELETION_REASON_GONE
		}
	}
	last := c.New
	if last == nil {
		last = c.Old
	}
	s.endStay(last.Namespace, last.Name, p, reason, resourceVersion)
	s.position = p
	v.ended.push(endedStay{slot: s.index, at: v.now, end: p})
}

// publishLocked makes a slot's change at position p the newest one.
func (v *View) publishLocked(s *slot, p Position) {
	v.ring.push(p, change{s.index, v.now, v.digest, v.resourceVersion}, v.horizon(), v.limits.Ring)
	v.head.Store(uint64(p))
}

func identity(r *record.Record) wire.Identity {
	return wire.Identity{Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion}
}
