package client

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

func TestConnectionIsSharedUntilOneMoves(t *testing.T) {
	p := &connections{open: map[*connection]struct{}{}, dial: func() (*grpc.ClientConn, error) {
		return grpc.NewClient("passthrough:///nowhere", grpc.WithTransportCredentials(insecure.NewCredentials()))
	}}
	acquire := func() *connection {
		t.Helper()
		c, err := p.acquire()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := acquire(), acquire()
	if first != second {
		t.Error("two streams have two connections")
	}
	p.release(first, true)
	third := acquire()
	if third == first {
		t.Error("the stream that was to move got the same connection")
	}
	if first.GetState() == connectivity.Shutdown {
		t.Error("the other stream lost its connection")
	}
	p.release(second, true)
	if first.GetState() != connectivity.Shutdown {
		t.Error("the connection that nobody uses is open")
	}
	if fourth := acquire(); fourth != third {
		t.Error("the stream that moved last has a connection of its own")
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	p.release(third, true)
	if third.GetState() != connectivity.Shutdown {
		t.Error("a closed client has an open connection")
	}
	if _, err := p.acquire(); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
