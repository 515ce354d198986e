package subscriber

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"

	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

const largePayload = 1 << 10 // distinguishes objects' bytes from what is around them

// payloads is a server codec that counts the different buffers in which objects
// were sent: as many as there were encodings.
type payloads struct {
	wire.Codec
	mu   sync.Mutex
	seen map[*byte]struct{}
}

func (p *payloads) Marshal(v any) (mem.BufferSlice, error) {
	data, err := p.Codec.Marshal(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range data {
		if b.Len() >= largePayload {
			p.seen[unsafe.SliceData(b.ReadOnlyData())] = struct{}{}
		}
	}
	return data, err
}

// discard is a client codec that tells of each message that holds an object, and
// does not decode it: the cost of clients is not what is measured.
type discard struct{ wire.Codec }

func (discard) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

// fanOut has n subscribers of one view. It returns a function that changes the
// object and waits until everyone has received it.
func fanOut(t testing.TB, n int) (change func(), codec *payloads) {
	c := newCluster(t, pods)
	src := c.source(pods)
	payload := "l=" + strings.Repeat("x", 2*largePayload)
	src.Upsert(c.pod("ns/a", 1, payload))
	src.Mark("1")

	codec = &payloads{seen: map[*byte]struct{}{}}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec))
	runnelv1.RegisterEventServiceServer(server, New(Config{
		Resolver: c, Sources: c, Limits: Limits{Bookmark: time.Hour},
	}))
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })

	const perConnection = 100
	received := make(chan struct{}, n)
	var conns []*grpc.ClientConn
	for i := range n {
		if i%perConnection == 0 {
			conn, err := grpc.NewClient("passthrough:bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.ForceCodecV2(discard{})),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		conn := conns[len(conns)-1]
		running.Go(func() {
			stream, err := conn.NewStream(t.Context(), &runnelv1.EventService_ServiceDesc.Streams[0], runnelv1.EventService_Subscribe_FullMethodName)
			if err != nil {
				return
			}
			_ = stream.SendMsg(request(&runnelv1.ResourceSubscription{Resource: "pods"}))
			_ = stream.CloseSend()
			for size := 0; stream.RecvMsg(&size) == nil; {
				if size >= largePayload {
					received <- struct{}{}
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			conn.Close()
		}
		server.Stop()
		running.Wait()
	})
	wait := func() {
		for range n {
			<-received
		}
	}
	wait() // the snapshots
	rv := 1
	return func() {
		rv++
		src.Upsert(c.pod("ns/a", rv, payload))
		wait()
	}, codec
}

func TestOneEncodingServesAllSubscribers(t *testing.T) {
	change, codec := fanOut(t, 200)
	const changes = 5
	for range changes {
		change()
	}
	if got := len(codec.seen); got != 1+changes {
		t.Errorf("%d encodings for a snapshot and %d changes, want %d", got, changes, 1+changes)
	}
}

// BenchmarkFanOut changes one object of 2 KB that n subscribers of one view
// receive, 100 to a connection. An operation is one change, received by all.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{1, 100, 2000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			change, codec := fanOut(b, n)
			before := len(codec.seen)
			for b.Loop() {
				change()
			}
			b.ReportMetric(float64(len(codec.seen)-before)/float64(b.N), "encodings/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delivery")
		})
	}
}
