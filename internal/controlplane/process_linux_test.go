package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

func TestFrozenProcessHasNoThreadThatRuns(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{}) // etcd has many threads
	etcd := cp.etcd.current()
	for range 20 {
		thaw, err := etcd.freeze()
		if err != nil {
			t.Fatal(err)
		}
		frozen := threadStates(t, etcd.pid())
		thaw()
		if strings.Trim(frozen, "T") != "" || frozen == "" {
			t.Fatalf("states of the threads are %q, want T for stopped", frozen)
		}
		eventually(t, func() error {
			if thawed := threadStates(t, etcd.pid()); strings.Contains(thawed, "T") {
				return fmt.Errorf("states of the threads are %q after the thaw", thawed)
			}
			return nil
		})
	}
}

// threadStates returns a letter for each thread of the process.
func threadStates(t *testing.T, pid int) (states string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ") // after the name
		states += fields[:1]
	}
	return states
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
