package source

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/view"
)

// PoolConfig configures a Pool.
type PoolConfig struct {
	// REST reaches the API server.
	REST *rest.Config
	// Limits bound the views.
	Limits view.Limits
	// IdleStop is how long a source without users is kept; 0 for the default.
	IdleStop time.Duration
	// Log tells of sources that start and stop.
	Log *slog.Logger
}

// A source costs a list to start, so it outlives a consumer's restart.
const defaultIdleStop = 5 * time.Minute

// Pool starts sources on demand, shares them, and stops those that nobody has
// used for a while. It is safe for concurrent use.
type Pool struct {
	cfg    PoolConfig
	client *http.Client

	mu      sync.Mutex // guards all below
	sources map[resource.Resource]*pooled
	// run starts a source; nil before Run.
	run     func(p *pooled)
	running sync.WaitGroup
}

type pooled struct {
	*Source
	users int
	stop  context.CancelFunc
	idle  *time.Timer
}

// NewPool returns a pool without sources. It does not reach out to the API
// server.
func NewPool(cfg PoolConfig) (*Pool, error) {
	client, err := rest.HTTPClientFor(cfg.REST)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	if cfg.IdleStop == 0 {
		cfg.IdleStop = defaultIdleStop
	}
	return &Pool{cfg: cfg, client: client, sources: map[resource.Resource]*pooled{}}, nil
}

// Run runs the sources until ctx ends, and returns when all have stopped.
// Sources that were opened before start now.
func (p *Pool) Run(ctx context.Context) error {
	p.mu.Lock()
	p.run = func(s *pooled) {
		ctx, stop := context.WithCancel(ctx)
		s.stop = stop
		p.running.Go(func() { p.feed(ctx, s.Source) })
	}
	for _, s := range p.sources {
		p.run(s)
	}
	p.mu.Unlock()

	<-ctx.Done()
	p.mu.Lock()
	p.run = func(s *pooled) { s.stop = func() {} } // too late
	for _, s := range p.sources {
		if s.idle != nil {
			s.idle.Stop()
		}
	}
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

func (p *Pool) feed(ctx context.Context, s *Source) {
	log := p.cfg.Log.With("resource", s.Resource().String())
	lw, err := newListWatch(p.cfg.REST, p.client, s.Resource())
	if err == nil {
		log.Info("source started")
		err = runInformer(ctx, s, lw)
	}
	if err != nil {
		s.Failed(err)
		log.Error("source failed", "error", err)
		return
	}
	log.Info("source stopped")
}

// Open returns the source of the resource, started if it was not running, until
// release is called.
func (p *Pool) Open(res resource.Resource) (s *Source, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared, ok := p.sources[res]
	if !ok {
		shared = &pooled{Source: New(res, p.cfg.Limits)}
		p.sources[res] = shared
		if p.run != nil {
			p.run(shared)
		}
	}
	if shared.idle != nil {
		shared.idle.Stop()
		shared.idle = nil
	}
	shared.users++
	return shared.Source, sync.OnceFunc(func() { p.release(res, shared) })
}

func (p *Pool) release(res resource.Resource, shared *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	shared.idle = time.AfterFunc(p.cfg.IdleStop, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if shared.users > 0 || p.sources[res] != shared {
			return
		}
		delete(p.sources, res)
		if shared.stop != nil {
			shared.stop()
		}
	})
}
