package subscriber

import (
	"context"
	"flag"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

const modelChecks = 1000

// The model test wants more and longer histories than rapid's defaults; flags on the
// command line still win, as in
//
//	go test ./internal/subscriber -run TestModel -rapid.checks=200000 -timeout=2h
func TestMain(m *testing.M) {
	for name, value := range map[string]int{"rapid.checks": modelChecks, "rapid.steps": 60} {
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var (
	pods    = resource.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}
	nodes   = resource.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node"}
	widgets = resource.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, Kind: "Widget", Namespaced: true}
)

// cluster is a scripted API server's end: resources that are installed, and their
// sources, which the test feeds.
type cluster struct {
	t      testing.TB
	limits source.Limits

	mu        sync.Mutex
	installed []resource.Resource
	sources   map[resource.Resource]*source.Source
	open      int
}

func newCluster(t testing.TB, installed ...resource.Resource) *cluster {
	return &cluster{t: t, installed: installed, sources: map[resource.Resource]*source.Source{}}
}

func (c *cluster) install(res resource.Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.installed = append(c.installed, res)
}

// remove ends the source of a resource that is served in other versions at most.
func (c *cluster) remove(res resource.Resource, versions ...string) {
	c.mu.Lock()
	c.installed = slices.DeleteFunc(c.installed, func(r resource.Resource) bool { return r == res })
	s := c.sources[res]
	c.mu.Unlock()
	s.End(versions)
}

func (c *cluster) Resolve(_ context.Context, group, version, name string) (resource.Resource, error) {
	if name == "tokenreviews" {
		return resource.Resource{}, fmt.Errorf("%w: %q", resource.ErrNotWatchable, name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.installed, func(r resource.Resource) bool {
		return r.Group == group && r.Resource == name && (version == "" || r.Version == version)
	})
	if i < 0 {
		return resource.Resource{}, fmt.Errorf("%w %q", resource.ErrUnknown, name)
	}
	return c.installed[i], nil
}

func (c *cluster) Open(res resource.Resource) (*source.Source, func()) {
	s := c.source(res)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	return s, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	}
}

func (c *cluster) source(res resource.Resource) *source.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sources[res]
	if !ok || s.State().Ended() {
		s = source.New(res, c.limits)
		c.sources[res] = s
	}
	return s
}

// object makes a record. Labels are "key=value,...".
func object(t testing.TB, res resource.Resource, namespace, name, uid string, rv int, labels string) *record.Record {
	t.Helper()
	var members []string
	for l := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(l, "="); ok {
			members = append(members, fmt.Sprintf("%q:%q", key, value))
		}
	}
	json := fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d","labels":{%s}},"spec":{"n":1}}`,
		name, namespace, uid, rv, strings.Join(members, ","))
	r, err := record.NewDecoder(res.GroupVersionKind()).Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pod is an object of pods; its UID is its name unless it is given.
func (c *cluster) pod(key string, rv int, labels string, uid ...string) *record.Record {
	c.t.Helper()
	namespace, name, _ := strings.Cut(key, "/")
	return object(c.t, pods, namespace, name, append(uid, name)[0], rv, labels)
}

// serve starts the service on bufconn.
func serve(t testing.TB, cfg Config) runnelv1.EventServiceClient {
	t.Helper()
	return serveService(t, New(cfg))
}

func serveService(t testing.TB, service *Service) runnelv1.EventServiceClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec{}))
	runnelv1.RegisterEventServiceServer(server, service)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	conn, err := grpc.NewClient("passthrough:bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		<-served
	})
	return runnelv1.NewEventServiceClient(conn)
}

// tape reads a stream, one line for each frame.
type tape struct {
	t      testing.TB
	stream grpc.ServerStreamingClient[runnelv1.SubscribeResponse]
	// withoutStatus leaves out the frames that tell of sources.
	withoutStatus bool
}

func subscribe(t testing.TB, client runnelv1.EventServiceClient, req *runnelv1.SubscribeRequest) *tape {
	t.Helper()
	stream, err := client.Subscribe(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return &tape{t: t, stream: stream}
}

// want reads as many frames as there are lines and compares them.
func (tp *tape) want(lines ...string) {
	tp.t.Helper()
	for _, line := range lines {
		frame, err := tp.stream.Recv()
		for tp.withoutStatus && frame.GetStatus() != nil {
			frame, err = tp.stream.Recv()
		}
		if err != nil {
			tp.t.Fatalf("want %q, got error %v", line, err)
		}
		if got := render(frame); got != line {
			tp.t.Fatalf("got  %q\nwant %q", got, line)
		}
	}
}

// end reads the stream's error.
func (tp *tape) end() error {
	tp.t.Helper()
	frame, err := tp.stream.Recv()
	if err == nil {
		tp.t.Fatalf("got %q, want the stream to end", render(frame))
	}
	return err
}

func render(r *runnelv1.SubscribeResponse) string {
	switch f := r.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		s := fmt.Sprintf("%d:", f.Batch.GetResource())
		if f.Batch.GetInitial() {
			s += " initial"
		}
		var events []string
		for _, e := range f.Batch.GetEvents() {
			event := fmt.Sprintf(" %s(%s %s@%s)", short(e.GetType(), "EVENT_TYPE_"), e.GetName(), e.GetUid(), e.GetResourceVersion())
			if reason := e.GetReason(); reason != 0 {
				event += short(reason, "DELETION_REASON_")
			}
			events = append(events, event)
		}
		if f.Batch.GetInitial() {
			slices.Sort(events) // in no order
		}
		return s + strings.Join(events, "")
	case *runnelv1.SubscribeResponse_Resumed:
		return fmt.Sprintf("%d: resumed", f.Resumed.GetResource())
	case *runnelv1.SubscribeResponse_Reset_:
		return fmt.Sprintf("%d: reset %s", f.Reset_.GetResource(), short(f.Reset_.GetReason(), "RESET_REASON_"))
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			return "synced"
		}
		return fmt.Sprintf("%d: synced %d", f.Synced.GetResource(), f.Synced.GetDigest().GetCount())
	case *runnelv1.SubscribeResponse_Bookmark:
		return fmt.Sprintf("%d: bookmark %d @%s", f.Bookmark.GetResource(), f.Bookmark.GetDigest().GetCount(), f.Bookmark.GetResourceVersion())
	case *runnelv1.SubscribeResponse_Status:
		return fmt.Sprintf("%d: status %s", f.Status.GetResource(), short(f.Status.GetState(), "SOURCE_STATE_"))
	case *runnelv1.SubscribeResponse_Goodbye:
		return "goodbye " + short(f.Goodbye.GetReason(), "GOODBYE_REASON_")
	}
	return "unknown frame"
}

func short(enum fmt.Stringer, prefix string) string { return strings.TrimPrefix(enum.String(), prefix) }

func request(subscriptions ...*runnelv1.ResourceSubscription) *runnelv1.SubscribeRequest {
	return &runnelv1.SubscribeRequest{Resources: subscriptions}
}
