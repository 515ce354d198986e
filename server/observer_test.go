package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// observer reads one stream, holds what it was told to hold, and fails on
// anything that the delivery contract forbids (D2, D4, D5, D7, D15).
type observer struct {
	stream grpc.ServerStreamingClient[runnelv1.SubscribeResponse]
	// held are the objects by resource of the request and UID.
	held []map[string]*runnelv1.Event
	// versions are the newest resourceVersions per resource and UID; they outlive
	// the objects.
	versions []map[string]*big.Int
	names    []map[string]string // UID by namespace/name
	synced   []bool
	// allSynced says that the overall Synced came.
	allSynced bool
	// events counts those after the overall Synced.
	events int
	last   *runnelv1.SubscribeResponse
}

func observe(ctx context.Context, conn *grpc.ClientConn, req *runnelv1.SubscribeRequest) (*observer, error) {
	stream, err := runnelv1.NewEventServiceClient(conn).Subscribe(ctx, req, grpc.MaxCallRecvMsgSize(16<<20))
	if err != nil {
		return nil, err
	}
	o := &observer{stream: stream, synced: make([]bool, len(req.GetResources()))}
	for range req.GetResources() {
		o.held = append(o.held, map[string]*runnelv1.Event{})
		o.versions = append(o.versions, map[string]*big.Int{})
		o.names = append(o.names, map[string]string{})
	}
	return o, nil
}

// mustObserve observes until the test ends.
func mustObserve(t *testing.T, conn *grpc.ClientConn, resources ...*runnelv1.ResourceSubscription) *observer {
	t.Helper()
	o, err := observe(t.Context(), conn, &runnelv1.SubscribeRequest{Resources: resources})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// until reads frames until done says so.
func (o *observer) until(done func() bool) error {
	for !done() {
		if err := o.next(); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) mustUntil(t *testing.T, done func() bool) {
	t.Helper()
	if err := o.until(done); err != nil {
		t.Fatal(err)
	}
}

func (o *observer) isSynced() bool { return o.allSynced }

// next reads one frame.
func (o *observer) next() error {
	frame, err := o.stream.Recv()
	if err != nil {
		return err
	}
	o.last = frame
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		r := int(f.Batch.GetResource())
		if f.Batch.GetInitial() == o.synced[r] {
			return fmt.Errorf("batch is initial: %v, though resource %d is synced: %v", f.Batch.GetInitial(), r, o.synced[r])
		}
		for _, e := range f.Batch.GetEvents() {
			if err := o.take(r, e); err != nil {
				return fmt.Errorf("%v %s/%s (%s): %w", e.GetType(), e.GetNamespace(), e.GetName(), e.GetUid(), err)
			}
		}
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			o.allSynced = true
			return nil
		}
		o.synced[f.Synced.GetResource()] = true
		return o.check(int(f.Synced.GetResource()), f.Synced.GetDigest())
	case *runnelv1.SubscribeResponse_Bookmark:
		return o.check(int(f.Bookmark.GetResource()), f.Bookmark.GetDigest())
	}
	return nil
}

func (o *observer) take(r int, e *runnelv1.Event) error {
	if o.allSynced {
		o.events++
	}
	version, ok := new(big.Int).SetString(e.GetResourceVersion(), 10)
	if !ok {
		return fmt.Errorf("resourceVersion is %q", e.GetResourceVersion())
	}
	if before := o.versions[r][e.GetUid()]; before != nil && version.Cmp(before) < 0 {
		return fmt.Errorf("resourceVersion goes back from %v to %v (D2)", before, version)
	}
	o.versions[r][e.GetUid()] = version
	key := e.GetNamespace() + "/" + e.GetName()
	_, held := o.held[r][e.GetUid()]
	if wantHeld := e.GetType() != runnelv1.EventType_EVENT_TYPE_ADDED; held != wantHeld {
		return fmt.Errorf("object is held: %v (D4)", held)
	}
	if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
		delete(o.held[r], e.GetUid())
		delete(o.names[r], key)
		return nil
	}
	if other, taken := o.names[r][key]; taken && other != e.GetUid() {
		return fmt.Errorf("%s still has the name (D5)", other)
	}
	if got := xxhash.Sum64String(e.GetObjectJson()); got != e.GetVersion() {
		return fmt.Errorf("version is %x, but that of the JSON %x", e.GetVersion(), got)
	}
	o.held[r][e.GetUid()] = e
	o.names[r][key] = e.GetUid()
	return nil
}

// check compares a digest with what is held.
func (o *observer) check(r int, want *runnelv1.Digest) error {
	if want == nil {
		return nil
	}
	var hash uint64
	for uid, e := range o.held[r] {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], xxhash.Sum64String(uid))
		binary.LittleEndian.PutUint64(b[8:], e.GetVersion())
		hash ^= xxhash.Sum64(b[:])
	}
	if hash != want.GetHash() || len(o.held[r]) != int(want.GetCount()) {
		return fmt.Errorf("digest is %d/%x, held is %d/%x (D15)", want.GetCount(), want.GetHash(), len(o.held[r]), hash)
	}
	return nil
}

// state is the resourceVersion of each object held, by namespace/name.
func (o *observer) state(r int) map[string]string {
	state := map[string]string{}
	for e := range maps.Values(o.held[r]) {
		state[e.GetNamespace()+"/"+e.GetName()] = e.GetResourceVersion()
	}
	return state
}

// object returns the event that the named object is held by, or nil.
func (o *observer) object(r int, namespace, name string) *runnelv1.Event {
	return o.held[r][o.names[r][namespace+"/"+name]]
}
