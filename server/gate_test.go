package server_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/controlplane"
)

// gate forwards TCP connections to an API server while it is open, and cuts all
// when it closes.
type gate struct {
	listener net.Listener
	target   string
	config   *rest.Config

	mu     sync.Mutex // guards all below
	closed bool
	conns  map[net.Conn]struct{}
}

func newGate(t *testing.T, cp *controlplane.ControlPlane) *gate {
	t.Helper()
	address, err := url.Parse(cp.URL())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{
		listener: listener,
		target:   address.Host,
		config:   cp.RESTConfig(controlplane.Admin),
		conns:    map[net.Conn]struct{}{},
	}
	g.config.Host = "https://" + listener.Addr().String()
	var accepting sync.WaitGroup
	accepting.Go(g.accept)
	t.Cleanup(func() {
		listener.Close()
		g.close()
		accepting.Wait()
	})
	return g
}

// restConfig reaches the API server through the gate.
func (g *gate) restConfig() *rest.Config { return g.config }

func (g *gate) accept() {
	var piping sync.WaitGroup
	defer piping.Wait()
	for {
		in, err := g.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.target)
		if err != nil || !g.keep(in, out) {
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

// keep remembers the connections, or closes out if the gate is closed.
func (g *gate) keep(in, out net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		out.Close()
		return false
	}
	g.conns[in], g.conns[out] = struct{}{}, struct{}{}
	return true
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for conn := range g.conns {
		conn.Close()
	}
	clear(g.conns)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

// held holds back the requests for ConfigMaps until release is closed.
type held struct {
	asked, release chan struct{}
	once           sync.Once
}

func newHeld() *held { return &held{asked: make(chan struct{}), release: make(chan struct{})} }

func (h *held) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/configmaps") {
			h.once.Do(func() { close(h.asked) })
			select {
			case <-h.release:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newListener(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}
