package controlplane

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
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
}

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

// signal goes to the whole group. A process that has ended gets nothing, for its
// number may be another's by now.
func (p *process) signal(signal syscall.Signal) {
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
		p.signal(unix.SIGKILL)
		<-p.done
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
