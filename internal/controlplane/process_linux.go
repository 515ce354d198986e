package controlplane

import "syscall"

// ownGroup puts a child into a process group of its own and ties its life to the
// thread that starts it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
