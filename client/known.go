package client

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// known is what is held, in the form of ResourceSubscription.known, sorted by UID hash.
func (o *objects) known() []byte {
	type pair struct{ uid, version uint64 }
	pairs := make([]pair, 0, len(o.byName))
	for _, held := range o.byName {
		pairs = append(pairs, pair{uidHash(held.uid), held.version})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.version, b.version)) })
	b := make([]byte, 0, 16*len(pairs))
	for _, p := range pairs {
		b = binary.LittleEndian.AppendUint64(b, p.uid)
		b = binary.LittleEndian.AppendUint64(b, p.version)
	}
	return b
}
