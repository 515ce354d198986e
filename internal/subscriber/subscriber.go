// Package subscriber serves streams: it implements EventService.
//
// Each stream is served by its own goroutine, the one that gRPC calls Subscribe
// on. It reads the views of its resources through cursors, sends what it finds,
// and sleeps until a view or a source wakes it. A stream keeps nothing that grows:
// whatever its subscriber is slow to take stays in the views, conflated per
// object (D3, D10).
//
// Files: request.go checks requests and allowed.go their resources, stream.go is
// the life of one stream, subscription.go one resource of it, and resume.go how a
// subscriber goes on that comes back. Start reading at stream.run.
package subscriber

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Resolver finds resources by the names in requests. Its errors are those of
// package resource.
type Resolver interface {
	Resolve(ctx context.Context, group, version, name string) (resource.Resource, error)
}

// Sources opens the shared source of a resource, until release is called.
type Sources interface {
	Open(res resource.Resource) (s *source.Source, release func())
}

// Config configures a Service.
type Config struct {
	// Resolver finds resources.
	Resolver Resolver
	// Sources opens them.
	Sources Sources
	// Allowed are the resources that may be subscribed to; empty for all but
	// Secrets.
	Allowed resource.Allowed
	// Draining is closed when streams must end. Nil: never.
	Draining <-chan struct{}
	// Limits bound requests; zero fields take the defaults.
	Limits Limits
	// Cluster tells the clusters apart whose tokens are valid: the same on every replica.
	Cluster string
	// Log is told of what should not happen; nil discards it.
	Log *slog.Logger
}

// Limits bound what one request may ask for.
type Limits struct {
	// RequestBytes is the largest request.
	RequestBytes int
	// Resources is the largest number of resources.
	Resources int
	// Namespaces and Names are the largest numbers of them per resource.
	Namespaces, Names int
	// SelectorBytes is the longest selector.
	SelectorBytes int
	// Requirements is the largest number of requirements in a selector. Each is
	// looked at for every change, in the informer's handler; the number of values in
	// one does not matter.
	Requirements int
	// Paths is the largest number of paths in a projection.
	Paths int
	// FrameBytes is the size beyond which a batch is split in frames.
	FrameBytes int
	// Bookmark is the default bookmark interval, and MinBookmark the least one
	// that a request gets.
	Bookmark, MinBookmark time.Duration
	// Retry is how long to wait before looking again for a resource that was not
	// found.
	Retry time.Duration
	// BehindWait is how long a subscriber waits for a replica that is behind its resume
	// token, before it is told to try another one.
	BehindWait time.Duration
}

// DefaultLimits are the limits that a zero field takes.
func DefaultLimits() Limits {
	return Limits{
		RequestBytes:  16 << 20,  // known versions of a million objects
		Resources:     64,        // an operator with everything it owns, several times
		Namespaces:    1000,      // each is a view of its own
		Names:         10_000,    // all Secrets of a busy node, ten times
		SelectorBytes: 256 << 10, // a set of 2,000 values of any length
		Requirements:  100,       // more than people write
		Paths:         1000,      // more than an object has members
		FrameBytes:    256 << 10, // clients accept 4 MiB by default
		Bookmark:      30 * time.Second,
		MinBookmark:   time.Second,
		Retry:         5 * time.Second, // a CRD that is installed while a subscriber waits
		BehindWait:    5 * time.Second, // a busy API server's delay; another replica is sooner
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	orDefault(&l.RequestBytes, d.RequestBytes)
	orDefault(&l.Resources, d.Resources)
	orDefault(&l.Namespaces, d.Namespaces)
	orDefault(&l.Names, d.Names)
	orDefault(&l.SelectorBytes, d.SelectorBytes)
	orDefault(&l.Requirements, d.Requirements)
	orDefault(&l.Paths, d.Paths)
	orDefault(&l.FrameBytes, d.FrameBytes)
	orDefault(&l.Bookmark, d.Bookmark)
	orDefault(&l.MinBookmark, d.MinBookmark)
	orDefault(&l.Retry, d.Retry)
	orDefault(&l.BehindWait, d.BehindWait)
	return l
}

func orDefault[T int | time.Duration](value *T, fallback T) {
	if *value <= 0 {
		*value = fallback
	}
}

// Service implements EventService. It is safe for concurrent use.
type Service struct {
	runnelv1.UnimplementedEventServiceServer
	cfg    Config
	counts counts
}

// New returns a service.
func New(cfg Config) *Service {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg}
}

// Subscribe serves one stream until the caller, an error or the server ends it.
func (s *Service) Subscribe(req *runnelv1.SubscribeRequest, out grpc.ServerStreamingServer[runnelv1.SubscribeResponse]) error {
	selections, err := parse(req, s.cfg.Limits)
	if err != nil {
		return err
	}
	if err := allow(selections, s.cfg.Allowed); err != nil {
		return err
	}
	st := s.newStream(req, out)
	defer st.close()
	if err := st.open(out.Context(), selections); err != nil {
		return err
	}
	return st.run(out.Context())
}

func (s *Service) newStream(req *runnelv1.SubscribeRequest, out grpc.ServerStream) *stream {
	st := &stream{
		cfg:         &s.cfg,
		counts:      &s.counts,
		failFast:    req.GetFailFast(),
		failExpired: req.GetOnExpired() == runnelv1.OnExpired_ON_EXPIRED_FAIL,
		patches:     req.GetDelta() == runnelv1.DeltaMode_DELTA_MODE_PATCH,
		interval:    s.cfg.Limits.Bookmark,
		pace:        pace{interval: req.GetMinInterval().AsDuration()},
		out:         out,
		wake:        make(chan struct{}, 1),
	}
	if b := req.GetBookmarkInterval().AsDuration(); b > 0 {
		st.interval = max(b, s.cfg.Limits.MinBookmark)
	}
	return st
}
