package client

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"
)

// Client talks to one Runnel service. It is safe for concurrent use; its
// subscriptions share a connection.
type Client struct {
	settings    settings
	connections *connections
}

// New returns a client for a gRPC target, such as "host:7443" or
// "dns:///runnel.runnel-system:7443". It reads the files that the options name,
// but does not connect: a server that is away shows in Subscribe.
func New(target string, opts ...Option) (*Client, error) {
	s := defaults()
	for _, opt := range opts {
		opt(&s)
	}
	if s.backoffBase <= 0 || s.backoffMax < s.backoffBase {
		return nil, errors.New("backoff: the base must be positive and not above the limit")
	}
	if s.logger == nil {
		return nil, errors.New("logger is nil")
	}
	dialOptions, err := s.credentialOptions()
	if err != nil {
		return nil, err
	}
	dialOptions = append(dialOptions, s.connectionOptions()...)
	c := &Client{settings: s, connections: &connections{
		dial: func() (*grpc.ClientConn, error) { return grpc.NewClient(target, dialOptions...) },
		open: map[*connection]struct{}{},
	}}
	// Makes the first connection, idle as it is, so that a malformed target shows.
	first, err := c.connections.acquire()
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", target, err)
	}
	c.connections.release(first, false)
	return c, nil
}

// Close ends all subscriptions, which return ErrClosed, and gives back the
// connections. It does not wait for handlers to return.
func (c *Client) Close() error { return c.connections.close() }
