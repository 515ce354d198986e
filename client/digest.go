package client

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Digest summarises the objects of a resource, as message Digest describes. The
// zero value is that of none.
type Digest struct {
	// Count is how many objects there are.
	Count uint64
	// Hash is the XOR of a hash of UID and version over the objects.
	Hash uint64
}

// String is meant for people.
func (d Digest) String() string { return fmt.Sprintf("%d objects, %016x", d.Count, d.Hash) }

func (d *Digest) add(uid string, version uint64) {
	d.Count++
	d.Hash ^= objectHash(uid, version)
}

func (d *Digest) remove(uid string, version uint64) {
	d.Count--
	d.Hash ^= objectHash(uid, version)
}

// objectHash is XXH64(XXH64(uid) || version), both as 8 bytes in little-endian
// order.
func objectHash(uid string, version uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uidHash(uid))
	binary.LittleEndian.PutUint64(b[8:], version)
	return xxhash.Sum64(b[:])
}

// uidHash names an object in known versions and digests.
func uidHash(uid string) uint64 { return xxhash.Sum64String(uid) }

func digestOf(m *runnelv1.Digest) Digest {
	return Digest{Count: m.GetCount(), Hash: m.GetHash()}
}
