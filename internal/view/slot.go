package view

import (
	"sort"

	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// slot is what a view knows of one key. Its fields are guarded by the view's
// lock; what emit returns is not.
type slot struct {
	key   string
	index uint32

	// position is that of the newest change.
	position Position
	// live says that an object is in the view under this key; the fields below
	// describe it.
	live bool
	// birth is the position at which the present stay began.
	birth Position
	// previous is the position of the version before this one in the present
	// stay, or 0. Who has seen it, and not position, holds exactly that version.
	previous        Position
	uid             string
	resourceVersion string
	version         uint64
	object          wire.Object
	// patch makes the version at previous, which is base, into this one; it is
	// empty if there is no such patch, or none that is worth it.
	patch wire.Event
	base  uint64

	// stays are earlier ones that a cursor may still hold, oldest first.
	stays []stay
}

// stay is one time of one object in the view, after its end.
type stay struct {
	uid        string
	birth, end Position
	// resourceVersion is that of the end, and of what is told of it.
	resourceVersion string
	deleted         wire.Event
}

// emit appends what must be told to a subscriber that has seen the slot up to
// position g (D4, D5).
//
// It holds the stay that had begun and not ended at g, if there is one: at most
// one, for stays do not overlap.
//
// A patch is for who holds the present stay, and in it exactly the version before
// this one.
func (s *slot) emit(g Position, patches bool, events []wire.Event) []wire.Event {
	if s.position <= g {
		return events
	}
	if s.live && s.birth <= g && patches && s.previous <= g && s.patch.Size() > 0 {
		return append(events, s.patch)
	}
	if s.live && s.birth <= g {
		return append(events, s.object.Modified())
	}
	held := s.heldAt(g)
	switch {
	case held == nil && s.live:
		return append(events, s.object.Added())
	case held == nil:
		return events
	case s.live && held.uid == s.uid:
		return append(events, s.object.Modified())
	}
	events = append(events, held.deleted)
	if s.live {
		events = append(events, s.object.Added())
	}
	return events
}

// emitKnown is as emit for a subscriber that held, when the slot's present or past
// stays were settled at position g, what is known of them (D8).
func (s *slot) emitKnown(g Position, known *Known, patches bool, events []wire.Event) []wire.Event {
	present := s.live && s.birth <= g
	uid, held := s.uid, (*stay)(nil)
	if !present {
		if held = s.heldAt(g); held != nil {
			uid = held.uid
		}
	}
	var version uint64
	holds := false
	if present || held != nil {
		version, holds = known.version(uid)
	}
	switch {
	case !holds && s.live:
		return append(events, s.object.Added())
	case !holds:
		return events
	case !s.live || s.uid != uid:
		events = append(events, held.deleted)
		if s.live {
			events = append(events, s.object.Added())
		}
		return events
	case s.version == version:
		return events
	case patches && s.patch.Size() > 0 && s.base == version:
		return append(events, s.patch)
	}
	return append(events, s.object.Modified())
}

// heldAt returns the end of the object that a subscriber holds which has seen the
// slot up to g, if what it holds is an ended stay. It is the end of the object's
// last stay: having left, it may have come back and be gone for good.
func (s *slot) heldAt(g Position) *stay {
	i := sort.Search(len(s.stays), func(i int) bool { return s.stays[i].end > g })
	if i == len(s.stays) || s.stays[i].birth > g {
		return nil
	}
	uid, later := s.stays[i].uid, s.stays[i+1:]
	return &s.stays[i+sort.Search(len(later), func(i int) bool { return later[i].uid != uid })]
}

// endStay moves the present stay to the ended ones. The resourceVersion is the
// deletion's, or an upper bound.
func (s *slot) endStay(namespace, name string, end Position, reason runnelv1.DeletionReason, resourceVersion string) {
	s.stays = append(s.stays, stay{
		uid:             s.uid,
		birth:           s.birth,
		end:             end,
		resourceVersion: resourceVersion,
		deleted: wire.NewDeleted(wire.Identity{
			Namespace: namespace, Name: name, UID: s.uid, ResourceVersion: resourceVersion,
		}, reason),
	})
	s.live = false
	s.object, s.patch = wire.Object{}, wire.Event{}
}
