package controlplane

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a child into a process group of its own and ties its life to the
// thread that starts it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isFrozen tells whether the last thread of a child that got SIGSTOP has stopped.
// It leaves the news of that, and of the child's end, for others to collect.
func isFrozen(pid int) (bool, error) {
	var news unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &news, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	switch err {
	case nil:
		return news.Signo != 0, nil
	case unix.EINTR, unix.ECHILD: // ECHILD: it has just ended
		return false, nil
	default:
		return false, os.NewSyscallError("waitid", err)
	}
}
