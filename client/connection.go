package client

import (
	"errors"
	"sync"

	"google.golang.org/grpc"
)

// ErrClosed says that the Client was closed.
var ErrClosed = errors.New("client is closed")

// connections shares one connection among the streams of a Client, and replaces
// it when a server asks to move: with the old one a stream would end up at the
// same server again.
type connections struct {
	dial func() (*grpc.ClientConn, error)

	mu sync.Mutex // guards what follows, and the fields of each connection
	// current is the one for new streams; nil before the first and after a move.
	current *connection
	open    map[*connection]struct{}
	closed  bool
}

// connection is closed when it is retired and has no streams.
type connection struct {
	*grpc.ClientConn
	streams int
	retired bool
}

// acquire returns the current connection. It does not block; grpc-go connects
// when the first call is made. Every acquire needs one release.
func (p *connections) acquire() (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.current == nil {
		cc, err := p.dial()
		if err != nil {
			return nil, err
		}
		p.current = &connection{ClientConn: cc}
		p.open[p.current] = struct{}{}
	}
	p.current.streams++
	return p.current, nil
}

// release ends the use of a connection by one stream. With move, streams to come
// get another connection; those that still use this one keep it.
func (p *connections) release(c *connection, move bool) {
	p.mu.Lock()
	c.streams--
	if move {
		c.retired = true
		if p.current == c {
			p.current = nil
		}
	}
	_, open := p.open[c]
	done := open && c.retired && c.streams == 0
	if done {
		delete(p.open, c)
	}
	p.mu.Unlock()
	if done {
		_ = c.Close() // there is nobody to tell, and nothing to be done
	}
}

func (p *connections) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close ends all streams.
func (p *connections) close() error {
	p.mu.Lock()
	open := p.open
	p.open, p.current, p.closed = nil, nil, true
	p.mu.Unlock()
	var errs []error
	for c := range open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
