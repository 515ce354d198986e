package source

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/resource"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// PoolConfig configures a Pool.
type PoolConfig struct {
	// REST reaches the API server.
	REST *rest.Config
	// Limits bound each source.
	Limits Limits
	// IdleStop is how long a source without users is kept; 0 for the default.
	IdleStop time.Duration
	// Preload are the sources that start with the pool and are kept.
	Preload []Preload
	// Resolver finds the resources of Preload, and finds out whether the API server still
	// serves one. Required.
	Resolver Resolver
	// Log tells of sources that start and stop.
	Log *slog.Logger
}

// A source costs a list to start, so it outlives a consumer's restart.
const defaultIdleStop = 5 * time.Minute

// Pool starts sources on demand, shares them, and stops those that nobody has
// used for a while; some it starts by itself and keeps. It is safe for concurrent
// use.
type Pool struct {
	cfg    PoolConfig
	client *http.Client
	// restrictions limit what is kept of a resource.
	restrictions map[schema.GroupResource]restriction
	// settled is closed once none of the preloaded sources is unsettled.
	settled   chan struct{}
	unsettled atomic.Int64

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
// server. The error says that it could not, or that Preload is wrong.
func NewPool(cfg PoolConfig) (*Pool, error) {
	client, err := rest.HTTPClientFor(cfg.REST)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	restricted, err := restrictions(cfg.Preload)
	if err != nil {
		return nil, fmt.Errorf("preload: %w", err)
	}
	if cfg.IdleStop == 0 {
		cfg.IdleStop = defaultIdleStop
	}
	p := &Pool{
		cfg:          cfg,
		client:       client,
		restrictions: restricted,
		settled:      make(chan struct{}),
		sources:      map[resource.Resource]*pooled{},
	}
	p.unsettled.Store(int64(len(cfg.Preload)))
	if len(cfg.Preload) == 0 {
		close(p.settled)
	}
	return p, nil
}

// Settled is closed once each preloaded source has synced, or it is known why it has
// not: the resource is not installed, or its list is forbidden or fails. It stays
// closed, whatever happens to them later.
func (p *Pool) Settled() <-chan struct{} { return p.settled }

// Run runs the sources until ctx ends, and returns when all have stopped.
// Sources that were opened before, or are to be preloaded, start now.
func (p *Pool) Run(ctx context.Context) error {
	p.mu.Lock()
	p.run = func(s *pooled) {
		ctx, stop := context.WithCancel(ctx)
		s.stop = stop
		p.running.Go(func() {
			defer stop()
			p.feed(ctx, s.Source)
			p.forgetEnded(s)
		})
	}
	for _, s := range p.sources {
		p.run(s)
	}
	for _, pre := range p.cfg.Preload {
		settle := sync.OnceFunc(func() {
			if p.unsettled.Add(-1) == 0 {
				close(p.settled)
			}
		})
		p.running.Go(func() { p.preload(ctx, pre, settle) })
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api, err := newAPI(p.cfg.REST, p.client, s.Resource(), p.restrictions[s.Resource().GroupResource()], log)
	if err == nil {
		log.Info("source started")
		p.running.Go(func() { logStates(ctx, log, s) })
		p.running.Go(func() { s.AnswerCurrent(ctx, api.current) })
		err = runInformer(ctx, s, func() *upstream {
			return &upstream{
				source: s, api: api, log: log, seen: position{resourceVersion: s.complete()},
				versions: func(ctx context.Context) ([]string, error) {
					return p.cfg.Resolver.Versions(ctx, s.Resource().GroupResource())
				},
			}
		})
	}
	if err != nil {
		s.Failed(err)
		log.Error("source failed", "error", err)
		return
	}
	if state := s.State(); state.Ended() {
		log.Warn("source ended", "state", state.Source.String(), "reason", state.Message)
		return
	}
	log.Info("source stopped")
}

// forgetEnded drops a source whose resource is not served any more.
func (p *Pool) forgetEnded(s *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if res := s.Resource(); s.State().Ended() && p.sources[res] == s {
		delete(p.sources, res)
	}
}

// logStates tells of each change of the source's state, once.
func logStates(ctx context.Context, log *slog.Logger, s *Source) {
	wake := make(chan struct{}, 1)
	defer s.Notify(wake)()
	told := runnelv1.SourceState_SOURCE_STATE_STARTING
	for {
		if state := s.State(); state.Source != told && !state.Ended() {
			told = state.Source
			if told == runnelv1.SourceState_SOURCE_STATE_SYNCED {
				log.Info("source synced", "objects", s.Stats().Objects)
			} else {
				log.Warn("source not current", "state", told.String(), "reason", state.Message, "data_as_of", state.AsOf)
			}
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

// Open returns the source of the resource, started if it was not running, until
// release is called.
func (p *Pool) Open(res resource.Resource) (s *Source, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared, ok := p.sources[res]
	if !ok || shared.State().Ended() {
		shared = &pooled{Source: New(res, p.cfg.Limits)}
		shared.restricted = p.restrictions[res.GroupResource()].any()
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
