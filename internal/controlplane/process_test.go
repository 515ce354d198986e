package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStopKillsWhatIgnoresTheRequest(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess("/bin/sh", []string{"-c", "trap '' TERM; echo deaf; while :; do sleep 600; done"}, log)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if got := lastLines(log, 1); got != "deaf" {
			return fmt.Errorf("log is %q", got)
		}
		return nil
	})
	p.stop(1) // a nanosecond
	if status, ok := p.cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }); !ok || status.Signal() != unix.SIGKILL {
		t.Errorf("it ended by %v, want a kill", p.err)
	}
	p.stop(1) // does nothing
}

func TestFrozenProcessEndsOnlyAfterTheThaw(t *testing.T) {
	p, err := startProcess("/bin/sh", []string{"-c", "exec sleep 600"}, os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	thaw, err := p.freeze()
	if err != nil {
		t.Fatal(err)
	}
	killed := make(chan struct{})
	go func() {
		p.kill()
		close(killed)
	}()
	select {
	case <-p.done:
		t.Error("it was killed while it was frozen")
	case <-time.After(50 * time.Millisecond): // what it must not do has no event to wait for
	}
	thaw()
	<-killed
	if _, err := p.freeze(); !errors.Is(err, errNotRunning) {
		t.Errorf("freezing what has ended: %v, want %v", err, errNotRunning)
	}
	p.kill() // does nothing
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := startProcess(filepath.Join(t.TempDir(), "etcd"), nil, os.DevNull); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	content := strings.Repeat("padding that is further back than anyone reads\n", 1000) + "one\ntwo\nthree\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(path, 2); got != "two\nthree" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(path, []byte("only\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(path, 2); got != "only" {
		t.Errorf("got %q", got)
	}
}

// orphanEnv makes this test binary a parent that waits to be killed.
const orphanEnv = "CONTROLPLANE_TEST_ORPHAN"

// startOrphan starts the program as a child, prints its pid and never returns.
func startOrphan(program string) {
	p, err := startProcess(program, []string{"600"}, os.DevNull)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.pid())
	<-p.done
	os.Exit(0)
}
