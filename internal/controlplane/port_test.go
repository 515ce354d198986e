package controlplane

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReservedPortServesOnlyThoseWhoShareIt(t *testing.T) {
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()

	if _, err := net.Dial("tcp", p.address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling it gives %v, want refused", err)
	}
	if _, err := net.Listen("tcp", p.address()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("listening on it gives %v, want in use", err)
	}
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}), err)
	}}
	for range 3 { // as a server that is restarted
		listener, err := share.Listen(t.Context(), "tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		listener.Close()
	}
}
