package client

import (
	"errors"
	"fmt"
	"sync/atomic"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

var (
	// ErrDigestMismatch says that a Replica does not hold what the server says it
	// must (D15). Subscribe puts it right.
	ErrDigestMismatch = errors.New("digest mismatch")
	// ErrVersionMismatch says that an object's content is not what its version
	// names. Subscribe asks for it again.
	ErrVersionMismatch = errors.New("object does not match its version")
	// ErrBaseMismatch says that a merge patch is for another version of an object than
	// the Replica holds. Subscribe asks for what the Replica lacks.
	ErrBaseMismatch = errors.New("patch is for a version that is not held")
	// ErrProtocol says that the server sent what the protocol forbids, or what this
	// version of the client did not ask for.
	ErrProtocol = errors.New("protocol violation")
)

// Replica is a copy of what one subscription describes, kept by giving its frames
// to Apply:
//
//   - objects are told apart by UID, and their resourceVersions never go back (D2),
//     unless the server says, or insists by digest, that history was rewritten (D9);
//   - a snapshot is compared with what is held: only the difference is told, and what
//     the snapshot does not contain is dropped when it is complete and not before. One
//     that breaks off drops nothing: the next stream goes on from what is held;
//   - each state is compared with its version, and the whole with each digest (D15);
//   - a merge patch is applied only to the version that it is for. The result cannot be
//     compared with its version, which names the server's bytes: the same members in
//     another order are other bytes. It stands under the version that the server
//     gave it, so that digests and the next patch work on.
//
// A Replica outlives streams and may be given to Subscribe again: with Known in the
// Handler, that continues with the difference. It is not safe for concurrent use, but for
// Mismatches: read it in the callback or after Subscribe.
type Replica struct {
	resources  []*objects
	mismatches atomic.Uint64
}

// NewReplica returns an empty copy for the request. onEvent, if not nil, is called
// by Apply after each change; an error of it ends Apply with that error. The change
// stands and is not told again; what the rest of the frame would have changed is told
// by the next stream.
//
// With DELTA_MODE_PATCH in the request, changed objects may come as merge patches. Events
// carry whole objects all the same. The request must not carry resume tokens: they
// cover what an empty copy does not hold.
func NewReplica(request *runnelv1.SubscribeRequest, onEvent func(Event) error) (*Replica, error) {
	switch delta := request.GetDelta(); delta {
	case runnelv1.DeltaMode_DELTA_MODE_UNSPECIFIED, runnelv1.DeltaMode_DELTA_MODE_FULL, runnelv1.DeltaMode_DELTA_MODE_PATCH:
	default:
		return nil, fmt.Errorf("%w: delta mode %v", ErrProtocol, delta)
	}
	for i, resource := range request.GetResources() {
		if len(resource.GetResumeToken()) > 0 {
			return nil, fmt.Errorf("resources[%d].resume_token: covers what an empty replica does not hold; leave it unset, "+
				"and give the replica that holds it to Subscribe again", i)
		}
	}
	if onEvent == nil {
		onEvent = func(Event) error { return nil }
	}
	r := &Replica{}
	for i := range request.GetResources() {
		o := newObjects(i, onEvent)
		o.patches = request.GetDelta() == runnelv1.DeltaMode_DELTA_MODE_PATCH
		r.resources = append(r.resources, o)
	}
	return r, nil
}

// Apply takes in a frame; it fits Handler.Frame. Frames that do not change the copy
// are ignored. The error is onEvent's, or wraps ErrDigestMismatch, ErrVersionMismatch,
// ErrBaseMismatch or ErrProtocol; after one of the first three the copy may be wrong
// until the next Synced.
func (r *Replica) Apply(frame *runnelv1.SubscribeResponse) error {
	err := r.apply(frame)
	if diverged(err) {
		r.mismatches.Add(1)
	}
	return err
}

func (r *Replica) apply(frame *runnelv1.SubscribeResponse) error {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Reset_:
		o, err := r.objects(f.Reset_.GetResource())
		if err != nil {
			return err
		}
		o.reset(f.Reset_.GetReason())
	case *runnelv1.SubscribeResponse_Resumed:
		o, err := r.objects(f.Resumed.GetResource())
		if err != nil {
			return err
		}
		o.resume()
	case *runnelv1.SubscribeResponse_Batch:
		return r.batch(f.Batch)
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			return nil
		}
		o, err := r.objects(f.Synced.GetResource())
		if err != nil {
			return err
		}
		if err := o.complete(); err != nil {
			return err
		}
		return o.check(f.Synced.GetDigest())
	case *runnelv1.SubscribeResponse_Bookmark:
		o, err := r.objects(f.Bookmark.GetResource())
		if err != nil {
			return err
		}
		return o.check(f.Bookmark.GetDigest())
	}
	return nil
}

func (r *Replica) batch(b *runnelv1.Batch) error {
	o, err := r.objects(b.GetResource())
	if err != nil {
		return err
	}
	for _, e := range b.GetEvents() {
		if err := o.apply(e, b.GetInitial()); err != nil {
			return err
		}
	}
	return nil
}

func (r *Replica) objects(resource uint32) (*objects, error) {
	if uint64(resource) >= uint64(len(r.resources)) {
		return nil, fmt.Errorf("%w: resource %d of %d", ErrProtocol, resource, len(r.resources))
	}
	return r.resources[resource], nil
}

// Synced says that the copy of a resource, by its index in the request, was complete
// once: before that, what is missing is unknown, not absent.
func (r *Replica) Synced(resource int) bool { return r.resources[resource].synced }

// Digest summarises the copy of a resource, by its index in the request.
func (r *Replica) Digest(resource int) Digest { return r.resources[resource].digest }

// Known is what the copy holds of a resource, by its index in the request: for each
// object 8 bytes UID hash and 8 bytes version, sorted. It fits Handler.Known.
func (r *Replica) Known(resource int) []byte { return r.resources[resource].known() }

// Object returns an object's JSON, which must not be modified.
func (r *Replica) Object(resource int, namespace, name string) (json []byte, ok bool) {
	held, ok := r.resources[resource].byName[objectName{namespace, name}]
	if !ok {
		return nil, false
	}
	return held.json, true
}

// Mismatches counts how often the copy, or an object sent, proved wrong. It may be
// called at any time from any goroutine.
func (r *Replica) Mismatches() uint64 { return r.mismatches.Load() }
