package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/runnel-dev/runnel/server"
)

// replica is a Runnel server that serves.
type replica struct {
	meter *meter
	// stop ends it, and waits until it has.
	stop func()
}

func (r *replica) address() string { return r.meter.Addr().String() }

func (m *measurement) start(ctx context.Context) (*replica, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &replica{meter: &meter{Listener: listener}}
	s, err := server.New(server.Config{
		Listener: r.meter,
		REST:     m.rest,
		Insecure: true, // the bytes of TLS are no matter of Runnel
		Preload:  []server.Preload{{Resource: "configmaps"}},
		Log:      slog.New(slog.NewTextHandler(m.progress, &slog.HandlerOptions{Level: slog.LevelError})),
		Drain:    2 * time.Second,
	})
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-stopped; err != nil {
			_, _ = io.WriteString(m.progress, err.Error()+"\n")
		}
	}
	return r, nil
}

// meter counts the bytes of all connections of a listener.
type meter struct {
	net.Listener
	sent, received atomic.Int64
}

// Accept returns a connection whose bytes are counted.
func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &metered{conn, m}, nil
}

type metered struct {
	net.Conn
	meter *meter
}

func (c *metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.received.Add(int64(n))
	return n, err
}

func (c *metered) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.meter.sent.Add(int64(n))
	return n, err
}
