// Package token encodes resume tokens: what a subscriber holds of one resource of
// its request, in some fifty bytes.
//
// A token is opaque to clients and an untrusted hint to servers. It holds nothing
// that its owner was not sent, and nothing follows from it but what the server would
// do anyway: where it does not fit what the server knows, the subscriber is reset
// (D8). It is valid on every replica. The checksum finds damage, not forgery.
//
// Subscriber makes tokens at the end of reads and parses those of requests. Both
// functions may be called from any goroutine.
package token

import (
	"encoding/binary"
	"errors"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
)

// ErrDamaged says that bytes are no token, or one of a version that is not known.
var ErrDamaged = errors.New("not a resume token of this version")

// Token says what its owner holds.
type Token struct {
	// Scope tells the cluster and the resource, among whose resourceVersions Last
	// and Watermark are.
	Scope uint64
	// View tells the selection and the projection.
	View uint64
	// Last is the resourceVersion of the last change that the owner was sent or that
	// touched what it was sent: no replica may serve it an older state (D2).
	Last string
	// Exact says that the owner holds just the objects of the view as they were at the
	// Watermark; Digest is theirs. Otherwise it holds a mixture, as in the middle of
	// a snapshot, and both are zero.
	Exact     bool
	Watermark string
	Digest    view.Digest
}

const (
	format = 1
	// longest is the longest resourceVersion that fits. The API server's own have 20
	// digits at most.
	longest  = 255
	checksum = 4
)

// Encode returns the token's bytes; nil if a resourceVersion is too long for a token.
func (t Token) Encode() []byte {
	if len(t.Last) > longest || len(t.Watermark) > longest {
		return nil
	}
	b := make([]byte, 0, 42+len(t.Last)+len(t.Watermark)+checksum)
	b = append(b, format)
	b = binary.LittleEndian.AppendUint64(b, t.Scope)
	b = binary.LittleEndian.AppendUint64(b, t.View)
	b = append(append(b, byte(len(t.Last))), t.Last...)
	if t.Exact {
		b = append(append(b, byte(len(t.Watermark))), t.Watermark...)
		b = binary.LittleEndian.AppendUint64(b, t.Digest.Count)
		b = binary.LittleEndian.AppendUint64(b, t.Digest.Hash)
	}
	return seal(b)
}

// seal appends the checksum.
func seal(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, uint32(record.Hash(b))) }

// Parse reads what Encode wrote. The error is ErrDamaged.
func Parse(b []byte) (Token, error) {
	end := len(b) - checksum
	if end < 0 || binary.LittleEndian.Uint32(b[end:]) != uint32(record.Hash(b[:end])) {
		return Token{}, ErrDamaged
	}
	r := reader{rest: b[:end]}
	if r.byte() != format {
		return Token{}, ErrDamaged
	}
	t := Token{Scope: r.uint64(), View: r.uint64(), Last: r.text()}
	if len(r.rest) > 0 {
		t.Exact, t.Watermark = true, r.text()
		t.Digest = view.Digest{Count: r.uint64(), Hash: r.uint64()}
	}
	if r.short || len(r.rest) > 0 {
		return Token{}, ErrDamaged
	}
	return t, nil
}

// reader takes values off the front; short says that there were not enough bytes.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.short = true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) text() string   { return string(r.take(int(r.byte()))) }
