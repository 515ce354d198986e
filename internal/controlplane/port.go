package controlplane

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that stays ours until it is released, also
// while no server listens on it.
//
// To ask the kernel for a free port, close it and hand the number to a server is
// a race that suites running side by side do lose, and a server that is stopped
// for a while may find its port taken by somebody's outgoing connection. So the
// socket stays bound without ever listening, and shares the port
// (SO_REUSEPORT) with the servers of the same user that ask to. The kernel gives
// it to nobody else, and no connection ever reaches a socket that does not
// listen.
type port struct {
	number int
	socket int
}

// reservePort binds a port that the kernel chooses.
func reservePort() (*port, error) {
	// The lock keeps a child that is being forked from inheriting the socket.
	syscall.ForkLock.RLock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		p.release()
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	return p, nil
}

func (p *port) bind() error {
	// Not SO_REUSEADDR: as nothing listens here, it would let in anybody who sets
	// it too, which nearly every server does.
	if err := unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(p.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	name, err := unix.Getsockname(p.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.number = name.(*unix.SockaddrInet4).Port
	return nil
}

// release gives the port back. It must be called once.
func (p *port) release() { unix.Close(p.socket) }

// String returns the number in decimal.
func (p *port) String() string { return strconv.Itoa(p.number) }

// address returns host and port.
func (p *port) address() string { return net.JoinHostPort("127.0.0.1", p.String()) }
