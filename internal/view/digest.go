package view

import (
	"encoding/binary"

	"github.com/runnel-dev/runnel/internal/record"
)

// Digest summarises the objects of a view: how many, and the XOR of a hash of
// each one's UID and version. It is equal on every replica that serves the same
// API server state, and does not depend on the order of changes (D15).
type Digest struct {
	Count uint64
	Hash  uint64
}

func (d *Digest) add(uid string, version uint64) {
	d.Count++
	d.Hash ^= digestElement(uid, version)
}

func (d *Digest) remove(uid string, version uint64) {
	d.Count--
	d.Hash ^= digestElement(uid, version)
}

// Union is the digest of the objects of both views, which must have none in common.
func (d Digest) Union(other Digest) Digest {
	return Digest{d.Count + other.Count, d.Hash ^ other.Hash}
}

func digestElement(uid string, version uint64) uint64 {
	return elementHash(record.HashString(uid), version)
}

func elementHash(uid, version uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uid)
	binary.LittleEndian.PutUint64(b[8:], version)
	return record.Hash(b[:])
}
