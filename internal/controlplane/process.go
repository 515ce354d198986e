package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one run of a program, in a process group of its own so that Ctrl-C
// in a terminal reaches us alone and the order of stopping stays ours. On Linux
// it dies with this process, whatever ends this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and was reaped
	err  error         // how it ended; to be read once done is closed

	// signaling is held while a signal is sent, and from freeze to thaw.
	signaling sync.Mutex
}

const (
	// freezeLimit is beyond the longest write that a busy disk makes a thread wait
	// for, which it finishes before it stands still.
	freezeLimit = 30 * time.Second
	// freezePoll is about what a freeze takes.
	freezePoll = time.Millisecond
)

var errNotRunning = errors.New("it is not running")

// startProcess starts the program with its output appended to the log. It starts
// a goroutine that ends with the process.
func startProcess(path string, args []string, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own copy

	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run starts the process and waits for its end.
func (p *process) run(started chan<- error) {
	// Linux sends the parent-death signal when the thread that forked ends, not
	// the whole process, and Go ends threads as it likes. A goroutine that is
	// locked to its thread keeps it until the child is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ended tells whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal goes to the whole group, once nobody holds it frozen.
func (p *process) signal(signal syscall.Signal) {
	p.signaling.Lock()
	defer p.signaling.Unlock()
	p.signalLocked(signal)
}

// signalLocked sends nothing to a process that has ended, for its number may be
// another's by now.
func (p *process) signalLocked(signal syscall.Signal) {
	if !p.ended() {
		_ = unix.Kill(-p.pid(), signal) // fails only if it ends right now
	}
}

// stop asks the process to end, makes it end after the grace, and returns when
// it has.
func (p *process) stop(grace time.Duration) {
	p.signal(unix.SIGTERM)
	p.signal(unix.SIGCONT) // a paused process would not hear of it
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
	}
}

// kill ends the process at once and returns when it has ended.
func (p *process) kill() {
	p.signal(unix.SIGKILL)
	<-p.done
}

// freeze returns when no thread of the process runs any more. None runs until
// thaw is called, once: whoever wants to end the process waits for it.
func (p *process) freeze() (thaw func(), err error) {
	p.signaling.Lock()
	thaw = func() {
		p.signalLocked(unix.SIGCONT)
		p.signaling.Unlock()
	}
	p.signalLocked(unix.SIGSTOP)
	if err := p.awaitFrozen(); err != nil {
		thaw()
		return nil, err
	}
	return thaw, nil
}

// awaitFrozen is needed because the signal only asks the threads to stop.
func (p *process) awaitFrozen() error {
	limit := time.NewTimer(freezeLimit)
	defer limit.Stop()
	ticker := time.NewTicker(freezePoll)
	defer ticker.Stop()
	for {
		if p.ended() {
			return errNotRunning
		}
		if frozen, err := isFrozen(p.pid()); frozen || err != nil {
			return err
		}
		select {
		case <-p.done:
		case <-ticker.C:
		case <-limit.C:
			return fmt.Errorf("it still runs after %s", freezeLimit)
		}
	}
}

// lastLines returns the end of a log, or why it cannot be read: it is for error
// messages.
func lastLines(path string, n int) string {
	const enough = 16 << 10 // bytes; a log line is some hundreds
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > enough {
		_, _ = file.Seek(-enough, io.SeekEnd) // at worst the start is read
	}
	content, err := io.ReadAll(io.LimitReader(file, enough))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
