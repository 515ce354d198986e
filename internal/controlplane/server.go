package controlplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// startLimit is far beyond the seconds that a start takes on a busy machine,
	// so that a server that hangs is an error and not a suite that never ends.
	startLimit = 2 * time.Minute
	// readyPoll is short against a start and long against a probe.
	readyPoll = 25 * time.Millisecond
	// failureLines holds the message of a server that gave up and what led to it.
	failureLines = 15
)

// server is etcd or kube-apiserver: a program that may be started and stopped
// again and again, always with the same arguments, and so with the same port,
// data and keys. Its methods may be called from any goroutine.
type server struct {
	path  string
	args  []string
	log   string
	ready func(context.Context) error // one probe
	grace time.Duration               // to end in; then it is killed

	mu      sync.Mutex // guards what follows; never held while waiting
	process *process   // the latest run, nil before the first
	closed  bool       // no further run may start
}

func (s *server) name() string { return filepath.Base(s.path) }

// start returns when the server is ready. If it does not get there, it is
// stopped, and the error ends with the last lines of its log.
func (s *server) start(ctx context.Context) error {
	p, err := s.launch()
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name(), err)
	}
	if err := s.awaitReady(ctx, p); err != nil {
		p.stop(s.grace)
		return fmt.Errorf("%w; the end of its log:\n%s", err, lastLines(s.log, failureLines))
	}
	return nil
}

func (s *server) launch() (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("the control plane is stopped")
	case s.process != nil && !s.process.ended():
		return nil, fmt.Errorf("it is running (pid %d)", s.process.pid())
	}
	p, err := startProcess(s.path, s.args, s.log)
	if err != nil {
		return nil, err
	}
	s.process = p
	return p, nil
}

func (s *server) awaitReady(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		answer := s.ready(ctx)
		if answer == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %w", s.name(), exitError(p.err))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w", s.name(), answer, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// exitError gives success a name: a server that ends by itself has failed.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// stop returns when the server has ended. It is no error if it is not running.
func (s *server) stop() {
	if p := s.current(); p != nil {
		p.stop(s.grace)
	}
}

// kill is stop without a chance to end well.
func (s *server) kill() {
	if p := s.current(); p != nil {
		p.kill()
	}
}

// close is stop, for good.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
}

// freeze makes a server that runs stand still until thaw is called, see process.
func (s *server) freeze() (thaw func(), err error) {
	err = errNotRunning
	if p := s.current(); p != nil {
		thaw, err = p.freeze()
	}
	if err != nil {
		return nil, fmt.Errorf("freezing %s: %w", s.name(), err)
	}
	return thaw, nil
}

func (s *server) signal(signal syscall.Signal) {
	if p := s.current(); p != nil {
		p.signal(signal)
	}
}

func (s *server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}
