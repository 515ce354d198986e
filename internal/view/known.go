package view

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/wire"
)

// Known is what a subscriber says it holds: for each object the hash of its UID, and
// the version. It takes 40 bytes for each, until the difference was told. It is used
// by one goroutine at a time.
type Known struct {
	objects []knownObject // sorted by UID
	// ended tells how objects ended that are not in the view and of which that is
	// remembered, by UID.
	ended map[uint64]stay
}

type knownObject struct {
	uid, version uint64
	marked       bool
}

// knownBytes is what one object takes in ParseKnown: two numbers, little-endian.
const knownBytes = 16

// ErrKnown says that bytes are no list of known versions.
var ErrKnown = errors.New("not pairs of 8 bytes UID hash and 8 bytes version")

// ParseKnown reads packed pairs. Where one object is named twice, one of the two counts.
// The error is ErrKnown.
func ParseKnown(b []byte) (*Known, error) {
	if len(b)%knownBytes != 0 {
		return nil, ErrKnown
	}
	k := &Known{objects: make([]knownObject, 0, len(b)/knownBytes), ended: map[uint64]stay{}}
	for ; len(b) > 0; b = b[knownBytes:] {
		k.objects = append(k.objects, knownObject{uid: binary.LittleEndian.Uint64(b), version: binary.LittleEndian.Uint64(b[8:])})
	}
	slices.SortFunc(k.objects, func(a, b knownObject) int { return cmp.Compare(a.uid, b.uid) })
	k.objects = slices.CompactFunc(k.objects, func(a, b knownObject) bool { return a.uid == b.uid })
	return k, nil
}

// Digest is that of the objects.
func (k *Known) Digest() (d Digest) {
	for _, o := range k.objects {
		d.Count++
		d.Hash ^= elementHash(o.uid, o.version)
	}
	return d
}

func (k *Known) find(uid string) *knownObject {
	i, ok := slices.BinarySearchFunc(k.objects, record.HashString(uid), func(o knownObject, uid uint64) int {
		return cmp.Compare(o.uid, uid)
	})
	if !ok {
		return nil
	}
	return &k.objects[i]
}

// mark takes in that an object is in the view, and returns the version that is known.
func (k *Known) mark(uid string) (version uint64, ok bool) {
	o := k.find(uid)
	if o == nil {
		return 0, false
	}
	o.marked = true
	return o.version, true
}

// version is the one that is known of an object.
func (k *Known) version(uid string) (version uint64, ok bool) {
	o := k.find(uid)
	if o == nil {
		return 0, false
	}
	return o.version, true
}

// end takes in how one of an object's stays ended.
func (k *Known) end(s stay) {
	if o := k.find(s.uid); o != nil {
		k.ended[o.uid] = s
	}
}

// Deleted returns a DELETED event for each object that was not marked. A subscriber that
// was told of changes up to the resourceVersion last was not told of the stay that ended
// before, but held the object otherwise: it ended at the latest at the resourceVersion now.
func (k *Known) Deleted(last, now string) (events []wire.Event) {
	for _, o := range k.objects {
		if o.marked {
			continue
		}
		s, ok := k.ended[o.uid]
		if !ok || record.OlderResourceVersion(s.resourceVersion, last) {
			s.deleted = wire.NewForgotten(o.uid, now)
		}
		events = append(events, s.deleted)
	}
	return events
}
