package server_test

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
)

// balancer forwards each new connection to one of several servers, chosen at random.
type balancer struct {
	listener net.Listener

	mu      sync.Mutex // guards all below
	targets []string
	conns   map[net.Conn]struct{}
	closed  bool
}

func newBalancer(t *testing.T, targets ...string) *balancer {
	t.Helper()
	b := &balancer{listener: newListener(t), targets: slices.Clone(targets), conns: map[net.Conn]struct{}{}}
	var accepting sync.WaitGroup
	accepting.Go(b.accept)
	t.Cleanup(func() {
		b.listener.Close()
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.cut(1)
		accepting.Wait()
	})
	return b
}

func (b *balancer) address() string { return b.listener.Addr().String() }

// use forwards to other servers from now on, and cuts what there is.
func (b *balancer) use(targets ...string) {
	b.mu.Lock()
	b.targets = slices.Clone(targets)
	b.mu.Unlock()
	b.cut(1)
}

// cut closes each connection with a probability.
func (b *balancer) cut(probability float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.conns {
		if rand.Float64() < probability {
			conn.Close()
			delete(b.conns, conn)
		}
	}
}

func (b *balancer) accept() {
	var piping sync.WaitGroup
	defer piping.Wait()
	for {
		in, err := b.listener.Accept()
		if err != nil {
			return
		}
		out := b.dial(in)
		if out == nil {
			in.Close()
			continue
		}
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			to.Close()
		}
		piping.Go(func() { pipe(in, out) })
		piping.Go(func() { pipe(out, in) })
	}
}

// dial connects to a server, unless there is none.
func (b *balancer) dial(in net.Conn) net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.targets) == 0 {
		return nil
	}
	out, err := net.Dial("tcp", b.targets[rand.IntN(len(b.targets))])
	if err != nil {
		return nil
	}
	b.conns[in] = struct{}{}
	return out
}
