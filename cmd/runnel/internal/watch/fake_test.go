package watch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// eventServer is an EventService on a port of this machine. It plays the streams one
// after the other, the last again and again.
type eventServer struct {
	runnelv1.UnimplementedEventServiceServer
	streams [][]*runnelv1.SubscribeResponse
	// err ends a stream after its frames; nil keeps the last stream open.
	err error
	// endings end single streams, by number, after their frames.
	endings map[int]error
	// definitions are the custom resource definitions, unless definitionsErr refuses
	// them. Those requests do not count.
	definitions    []string
	definitionsErr error

	mu       sync.Mutex // guards what follows
	requests []*runnelv1.SubscribeRequest
}

func (s *eventServer) Subscribe(request *runnelv1.SubscribeRequest, stream grpc.ServerStreamingServer[runnelv1.SubscribeResponse]) error {
	if request.GetResources()[0].GetResource() == "customresourcedefinitions" && (s.definitions != nil || s.definitionsErr != nil) {
		return s.define(request, stream)
	}
	s.mu.Lock()
	call := len(s.requests)
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	last := len(s.streams) - 1
	for _, frame := range s.streams[min(call, last)] {
		if err := stream.Send(frame); err != nil {
			return err
		}
	}
	if err := cmp.Or(s.endings[call], s.err); err != nil || call < last {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func (s *eventServer) define(request *runnelv1.SubscribeRequest, stream grpc.ServerStreamingServer[runnelv1.SubscribeResponse]) error {
	if s.definitionsErr != nil {
		return s.definitionsErr
	}
	if len(request.GetResources()[0].GetProjection().GetPaths().GetPaths()) == 0 {
		return status.Error(codes.InvalidArgument, "that is too much")
	}
	var all []*runnelv1.Event
	for i, text := range s.definitions {
		e := pod(fmt.Sprint("crd-", i), "1", text)
		e.Namespace = ""
		all = append(all, e)
	}
	for _, frame := range []*runnelv1.SubscribeResponse{reset(), events(true, all...), syncedWith(nil), allSynced()} {
		if err := stream.Send(frame); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

// start serves and returns the address.
func (s *eventServer) start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runnelv1.RegisterEventServiceServer(server, s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.Addr().String()
}

// run runs the command as main does.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = runTo(t.Context(), &out, &err, args...)
	return code, out.String(), err.String()
}

func runTo(ctx context.Context, stdout, stderr io.Writer, args ...string) (code int) {
	cmd := NewCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "runnel: %s\n", printer.OneLine(err.Error()))
		return 1
	}
	return 0
}

func reset() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Reset_{Reset_: &runnelv1.Reset{
		Reason: runnelv1.ResetReason_RESET_REASON_NEW,
	}}}
}

func events(initial bool, events ...*runnelv1.Event) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Batch{Batch: &runnelv1.Batch{Initial: initial, Events: events}}}
}

func syncedWith(digest *runnelv1.Digest) *runnelv1.SubscribeResponse {
	resource := uint32(0)
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{
		Resource: &resource, Digest: digest,
	}}}
}

// syncedAt is syncedWith and a resume token.
func syncedAt(token string, digest *runnelv1.Digest) *runnelv1.SubscribeResponse {
	frame := syncedWith(digest)
	frame.GetSynced().ResumeToken = []byte(token)
	return frame
}

func resumed() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Resumed{Resumed: &runnelv1.Resumed{}}}
}

func bookmarkWith(digest *runnelv1.Digest) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Bookmark{Bookmark: &runnelv1.Bookmark{
		ResourceVersion: "12", Digest: digest,
	}}}
}

func allSynced() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{}}}
}

func pod(name, resourceVersion, object string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_ADDED, Namespace: "web", Name: name, Uid: "uid-" + name,
		ResourceVersion: resourceVersion, Version: xxhash.Sum64String(object),
		Payload: &runnelv1.Event_ObjectJson{ObjectJson: object},
	}
}

func podLeft(name, resourceVersion string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_DELETED, Namespace: "web", Name: name, Uid: "uid-" + name,
		ResourceVersion: resourceVersion, Reason: runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW,
	}
}

// digestOf is the digest of the pods, as the SDK computes it.
func digestOf(t *testing.T, pods ...*runnelv1.Event) *runnelv1.Digest {
	t.Helper()
	replica, err := client.NewReplica(&runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := replica.Apply(events(true, pods...)); err != nil {
		t.Fatal(err)
	}
	d := replica.Digest(0)
	return &runnelv1.Digest{Count: d.Count, Hash: d.Hash}
}
