package client

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is what a fake server does with a call; the calls count from 0.
type script func(call int, request *runnelv1.SubscribeRequest, stream stream) error

type stream = grpc.ServerStreamingServer[runnelv1.SubscribeResponse]

// fakeServer is an EventService over bufconn that follows a script.
type fakeServer struct {
	runnelv1.UnimplementedEventServiceServer
	script script

	mu          sync.Mutex // guards what follows
	calls       int
	connections int
}

func (f *fakeServer) Subscribe(request *runnelv1.SubscribeRequest, stream stream) error {
	f.mu.Lock()
	call := f.calls
	f.calls++
	f.mu.Unlock()
	return f.script(call, request, stream)
}

func (f *fakeServer) counts() (calls, connections int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.connections
}

// newFake starts a server and a client of it. stop ends both; in a synctest bubble
// it must be called before the bubble ends.
func newFake(t *testing.T, s script, opts ...Option) (c *Client, f *fakeServer, stop func()) {
	t.Helper()
	f = &fakeServer{script: s}
	listener := bufconn.Listen(1 << 20)
	// Without the policy gRPC takes the client's pings for an attack.
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second}))
	runnelv1.RegisterEventServiceServer(server, f)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		f.mu.Lock()
		f.connections++
		f.mu.Unlock()
		return listener.DialContext(ctx)
	}
	c, err := New("passthrough:///fake", append([]Option{
		WithInsecure(), WithDialOptions(grpc.WithContextDialer(dial)),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, f, func() {
		_ = c.Close()
		server.Stop()
		<-served
	}
}

// send sends frames, and then waits for the subscriber to leave.
func send(stream stream, frames ...*runnelv1.SubscribeResponse) error {
	for _, frame := range frames {
		if err := stream.Send(frame); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func podRequest() *runnelv1.SubscribeRequest {
	return &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{Resource: "pods"}}}
}

func resetFrame(reason runnelv1.ResetReason) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Reset_{Reset_: &runnelv1.Reset{Reason: reason}}}
}

func newReset() *runnelv1.SubscribeResponse {
	return resetFrame(runnelv1.ResetReason_RESET_REASON_NEW)
}

func allSynced() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{}}}
}

func batch(initial bool, events ...*runnelv1.Event) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Batch{Batch: &runnelv1.Batch{Initial: initial, Events: events}}}
}

// synced and bookmark carry the digest of the states, as the server would have it.
func synced(states ...*runnelv1.Event) *runnelv1.SubscribeResponse {
	resource := uint32(0)
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{
		Resource: &resource, Digest: digestOfStates(states),
	}}}
}

func bookmark(states ...*runnelv1.Event) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Bookmark{Bookmark: &runnelv1.Bookmark{
		Digest: digestOfStates(states),
	}}}
}

func digestOfStates(states []*runnelv1.Event) *runnelv1.Digest {
	d := &runnelv1.Digest{Count: uint64(len(states))}
	for _, e := range states {
		d.Hash ^= objectHash(e.GetUid(), e.GetVersion())
	}
	return d
}

// added is a state of an object in namespace ns; its content is the body.
func added(name, uid, resourceVersion, body string) *runnelv1.Event {
	object := fmt.Sprintf(`{"body":%q}`, body)
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_ADDED, Namespace: "ns", Name: name, Uid: uid, ResourceVersion: resourceVersion,
		Version: xxhash.Sum64String(object), Payload: &runnelv1.Event_ObjectJson{ObjectJson: object},
	}
}

func modified(name, uid, resourceVersion, body string) *runnelv1.Event {
	e := added(name, uid, resourceVersion, body)
	e.Type = runnelv1.EventType_EVENT_TYPE_MODIFIED
	return e
}

func deleted(name, uid, resourceVersion string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_DELETED, Namespace: "ns", Name: name, Uid: uid, ResourceVersion: resourceVersion,
		Reason: runnelv1.DeletionReason_DELETION_REASON_GONE,
	}
}
