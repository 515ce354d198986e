package view

import "github.com/runnel-dev/runnel/internal/record"

// ResumeAt lets a cursor that has read nothing go on from where its subscriber was
// complete up to a resourceVersion, and returns the digest of the view as it was then:
// the subscriber must hold just that, or the cursor be restarted. It fails if the view
// does not remember what happened since.
func (c *Cursor) ResumeAt(resourceVersion string) (d Digest, ok bool) {
	v := c.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	p, ok := v.ring.find(resourceVersion, v.headLocked())
	if !ok || p < v.ended.forgotten {
		return Digest{}, false
	}
	d = v.ring.at(p).digest
	c.resume(p)
	return d, true
}

// ResumeNow is as ResumeAt for a subscriber that may hold just what the view holds now.
func (c *Cursor) ResumeNow() Digest {
	v := c.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	c.resume(v.headLocked())
	return v.digest
}

func (c *Cursor) resume(p Position) {
	c.seen = seenAll(p)
	c.scanning, c.initial = false, false
	c.storeFloor()
}

// Settle lets a cursor that has read nothing go on from the versions that its
// subscriber holds, as far as they are in the view: it marks those in known, and what
// is read then is the difference. All that is not marked when every view of the
// subscription has settled must be dropped by the subscriber before it reads.
//
// It finds out whether an object is in the view in a version that is not newer than the
// resourceVersion, and not known in just that: a subscriber that was complete up to there
// lived in another history (D9).
func (c *Cursor) Settle(known *Known, resourceVersion string) (contradicted bool) {
	c.known, c.initial = known, false
	for next := uint32(0); ; {
		var done bool
		if next, done = c.settle(next, resourceVersion, &contradicted); done {
			return contradicted
		}
	}
}

// settle marks what is in one piece of the table, all in one instant. Like a scan it
// leaves one step for each piece, and what changes behind it is found by the scan that
// tells the difference: who was not found is dropped, and comes anew.
func (c *Cursor) settle(next uint32, resourceVersion string, contradicted *bool) (uint32, bool) {
	v := c.view
	v.mu.RLock()
	defer v.mu.RUnlock()
	end := next + min(slotsPerBatch, uint32(len(v.slots))-next)
	for ; next < end; next++ {
		s := v.slots[next]
		if s == nil {
			continue
		}
		for i := range s.stays {
			c.known.end(s.stays[i])
		}
		if !s.live {
			continue
		}
		version, ok := c.known.mark(s.uid)
		if ok && version == s.version {
			continue
		}
		if order, comparable := record.CompareResourceVersions(s.resourceVersion, resourceVersion); comparable && order <= 0 {
			*contradicted = true
		}
	}
	c.seen = c.seen.walked(next, v.headLocked())
	c.floor.Store(uint64(c.seen.lowest()))
	return next, next == uint32(len(v.slots))
}
