// Package server is the Runnel server as a library: New(Config), then Run.
//
// It only wires: the API server's client, the pool of sources, the subscriber
// service, and gRPC around them. Nothing of the event path is here; see
// internal/subscriber, internal/view and internal/source for that.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/subscriber"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// ErrAPIServer says that the API server could not be reached at the start.
var ErrAPIServer = errors.New("cannot reach the API server")

// Config configures a Server.
type Config struct {
	// Listener is where to serve; Run closes it. Required.
	Listener net.Listener
	// REST reaches the API server. Required.
	REST *rest.Config
	// TLS names the files of the serving certificate. Required unless Insecure.
	TLS TLSFiles
	// Insecure serves plaintext to anyone: for tests, and demos on loopback.
	Insecure bool
	// Log is the server's log; nil discards it.
	Log *slog.Logger
	// Drain is how long streams have to end by themselves at shutdown; 0 takes
	// the default of 10 s.
	Drain time.Duration
	// StartTimeout is how long to wait for the API server at the start; 0 takes
	// the default of 10 s.
	StartTimeout time.Duration
	// IdleStop is how long a source without subscribers is kept; 0 takes the
	// default of 5 minutes.
	IdleStop time.Duration
	// Preload are the resources that are watched from the start and for ever; the
	// selectors of one limit what is served of it at all.
	Preload []Preload
	// Allowed are the resources that may be subscribed to; empty for all but
	// Secrets.
	Allowed Allowed
	// Limits bound what one request may ask for; zero fields take the defaults.
	Limits Limits
	// Sources bound what is kept of each resource, for readers that are slow and for
	// those that come back; zero fields take the defaults.
	Sources SourceLimits
}

// The parts of a Config are those of the packages that they configure.
type (
	// Preload is a resource that is watched from the start.
	Preload = source.Preload
	// Allowed lists the resources that may be subscribed to.
	Allowed = resource.Allowed
	// AllowedGroup is an entry of Allowed.
	AllowedGroup = resource.AllowedGroup
	// Limits bound requests.
	Limits = subscriber.Limits
	// SourceLimits bound sources.
	SourceLimits = source.Limits
	// ViewLimits bound views: they are a part of SourceLimits.
	ViewLimits = view.Limits
)

// Server is a Runnel server.
type Server struct {
	cfg       Config
	grpc      *grpc.Server
	health    *health.Server
	sources   *source.Pool
	resolver  subscriber.Resolver
	discovery discovery.DiscoveryInterface
	draining  chan struct{}
}

// New returns a server that does nothing yet. It reads the TLS files, and does not
// reach out to the API server.
func New(cfg Config) (*Server, error) {
	if cfg.Listener == nil || cfg.REST == nil {
		return nil, errors.New("server: Listener and REST are required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	orDefault(&cfg.Drain, 10*time.Second)        // within a Pod's 30 s of grace
	orDefault(&cfg.StartTimeout, 10*time.Second) // longer, and a restart is the better retry
	creds, err := cfg.credentials()
	if err != nil {
		return nil, err
	}

	restConfig := rest.CopyConfig(cfg.REST)
	if restConfig.UserAgent == "" {
		restConfig.UserAgent = "runnel"
	}
	disco, err := discovery.NewDiscoveryClientForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	resolver := resource.NewResolver(disco)
	sources, err := source.NewPool(source.PoolConfig{
		REST:     restConfig,
		Limits:   cfg.Sources,
		IdleStop: cfg.IdleStop,
		Preload:  cfg.Preload,
		Resolver: resolver,
		Log:      cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:       cfg,
		grpc:      grpc.NewServer(append(options(cfg.Log), grpc.Creds(creds))...),
		health:    health.NewServer(),
		sources:   sources,
		resolver:  resolver,
		discovery: disco,
		draining:  make(chan struct{}),
	}
	s.setServing(healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s, nil
}

func orDefault(d *time.Duration, fallback time.Duration) {
	if *d == 0 {
		*d = fallback
	}
}

// Run serves until ctx ends, then drains: streams are told to move and have the
// drain time to end, before they are cut. It returns nil after a shutdown in order
// and ErrAPIServer if the API server does not answer at the start. It may be called
// once.
//
// Its gRPC health is SERVING from when each preloaded source has synced or it is
// known why not, until it drains.
func (s *Server) Run(ctx context.Context) error {
	defer s.cfg.Listener.Close()
	if err := s.reachAPIServer(ctx); err != nil {
		return err
	}
	runnelv1.RegisterEventServiceServer(s.grpc, subscriber.New(subscriber.Config{
		Resolver: s.resolver,
		Sources:  s.sources,
		Allowed:  s.cfg.Allowed,
		Limits:   s.cfg.Limits,
		Draining: s.draining,
		Cluster:  s.cluster(ctx),
		Log:      s.cfg.Log,
	}))
	// Sources outlive the streams that drain.
	sourcesCtx, stopSources := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSources()
	var group errgroup.Group
	group.Go(func() error { return s.sources.Run(sourcesCtx) })
	served := make(chan struct{})
	if len(s.cfg.Preload) == 0 {
		s.setServing(healthv1.HealthCheckResponse_SERVING) // before anyone can ask
	}
	group.Go(func() error {
		defer stopSources()
		defer close(served)
		return s.grpc.Serve(s.cfg.Listener)
	})

	s.cfg.Log.Info("serving", "address", s.cfg.Listener.Addr().String(), "insecure", s.cfg.Insecure)
	s.untilEnd(ctx, served)
	return group.Wait()
}

// untilEnd tells the health and returns when nothing is served any more.
func (s *Server) untilEnd(ctx context.Context, served <-chan struct{}) {
	for settled := s.sources.Settled(); ; {
		select {
		case <-settled:
			settled = nil
			s.setServing(healthv1.HealthCheckResponse_SERVING)
			s.cfg.Log.Info("ready")
		case <-ctx.Done():
			s.drain()
			return
		case <-served: // the listener failed
			s.grpc.Stop()
			return
		}
	}
}

// cluster identifies the cluster as is usual: by the UID of the namespace kube-system.
// Without it resume tokens are told apart by what they say of the objects alone.
func (s *Server) cluster(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	var namespace metav1.PartialObjectMetadata
	body, err := s.discovery.RESTClient().Get().AbsPath("/api/v1/namespaces", metav1.NamespaceSystem).Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(body, &namespace)
	}
	if err != nil {
		s.cfg.Log.Warn("the cluster cannot be identified; resume tokens of others are not told apart at once",
			"namespace", metav1.NamespaceSystem, "error", err)
	}
	return string(namespace.UID)
}

func (s *Server) setServing(status healthv1.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", status)
	s.health.SetServingStatus(runnelv1.EventService_ServiceDesc.ServiceName, status)
}

func (s *Server) drain() {
	s.cfg.Log.Info("draining", "timeout", s.cfg.Drain)
	s.health.Shutdown()
	close(s.draining)
	cut := time.AfterFunc(s.cfg.Drain, s.grpc.Stop)
	defer cut.Stop()
	s.grpc.GracefulStop()
	s.cfg.Log.Info("stopped")
}

// reachAPIServer fails early where everything else would only retry.
func (s *Server) reachAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		version, err := s.discovery.ServerVersion() // it takes no context, but has a time-out
		if err == nil {
			s.cfg.Log.Info("API server reached", "address", s.cfg.REST.Host, "version", version.GitVersion)
		}
		result <- err
	}()
	select {
	case err := <-result:
		if err != nil {
			return fmt.Errorf("%w at %s: %w", ErrAPIServer, s.cfg.REST.Host, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w at %s: %w", ErrAPIServer, s.cfg.REST.Host, ctx.Err())
	}
}
