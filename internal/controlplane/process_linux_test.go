package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestChildDiesWithParentThatIsKilled(t *testing.T) {
	parent, child := orphanParent(t)
	// A pid says nothing about an orphan: whoever inherits it may leave it a
	// zombie. A pidfd tells when it ends.
	fd, err := unix.PidfdOpen(child, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Fatalf("the child is alive after 30s (%v)", err)
		}
		return
	}
}

// orphanParent starts this test binary as the parent of a process that sleeps,
// and returns it with the child's pid.
func orphanParent(t *testing.T) (parent *exec.Cmd, child int) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"="+sleep)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(stdout, &child); err != nil {
		t.Fatal(err)
	}
	return parent, child
}
