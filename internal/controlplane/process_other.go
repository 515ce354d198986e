//go:build !linux

package controlplane

import "syscall"

// ownGroup puts a child into a process group of its own. Only Linux can tie its
// life to ours: elsewhere a parent that is killed leaves its children running.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// isFrozen tells whether a child that got SIGSTOP has stopped. Darwin suspends all
// threads before kill returns.
func isFrozen(int) (bool, error) { return true, nil }
