package client

import (
	"crypto/tls"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
)

// settings is what the options set.
type settings struct {
	insecure             bool
	tls                  *tls.Config
	caFile               string
	certFile, keyFile    string
	tokenFile            string
	noProxy              bool
	dialOptions          []grpc.DialOption
	logger               *slog.Logger
	backoffBase          time.Duration
	backoffMax           time.Duration
	hintMax              time.Duration
	streamWindow         int32
	connectionWindow     int32
	maxMessage           int
	keepalive            keepalive.ClientParameters
	connectTimeout       time.Duration
	defaultServiceConfig string
	// random returns a duration from [0, n], all equally likely.
	random func(n time.Duration) time.Duration
}

func defaults() settings {
	return settings{
		logger: slog.New(slog.DiscardHandler), // a library does not write on its own

		backoffBase: 100 * time.Millisecond, // a restarted server is back before people notice
		backoffMax:  30 * time.Second,       // long outages end within this time for everyone
		hintMax:     5 * time.Minute,        // a wrong hint must not silence a subscriber for days

		// With dynamic windows a grpc-go client pings on data, which doubles what a
		// delivered event costs the server; static ones stop that. One stream's
		// window is what an idle handler may leave in memory, and four full batches
		// (256 KiB each) in flight fill a link of 100 MB/s at 10 ms. Streams share a
		// connection: its window lets four of them run at that speed.
		streamWindow:     1 << 20,
		connectionWindow: 4 << 20,

		// The server splits batches at 256 KiB, but never an object. etcd takes 1.5
		// MiB, often configured up to 10, and an aggregated API has no such limit.
		maxMessage: 64 << 20,

		keepalive: keepalive.ClientParameters{
			Time:    30 * time.Second, // a dead path is noticed within 40 s, at 1 ping per 30 s of silence
			Timeout: 10 * time.Second,
		},
		connectTimeout: 10 * time.Second, // a black hole must not hold up the next address for long

		// Clients that resolve several replicas must not all take the first.
		defaultServiceConfig: `{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}`,

		random: func(n time.Duration) time.Duration { return rand.N(n + 1) },
	}
}

// connectionOptions is what every connection is made with; credentials come from
// elsewhere, and the caller's own options last so that they win.
func (s *settings) connectionOptions() []grpc.DialOption {
	opts := []grpc.DialOption{
		grpc.WithStaticStreamWindowSize(s.streamWindow),
		grpc.WithStaticConnWindowSize(s.connectionWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(s.maxMessage)),
		grpc.WithKeepaliveParams(s.keepalive),
		grpc.WithDefaultServiceConfig(s.defaultServiceConfig),
		grpc.WithDisableRetry(), // Subscribe does it, and knows when a stream was healthy
		grpc.WithConnectParams(grpc.ConnectParams{
			// grpc-go reconnects by itself. Half the maximum and a jitter of 1 make
			// its delays uniform in [0, maximum], as Subscribe's own.
			Backoff: grpcbackoff.Config{
				BaseDelay: s.backoffBase, Multiplier: 2, Jitter: 1, MaxDelay: s.backoffMax / 2,
			},
			MinConnectTimeout: s.connectTimeout,
		}),
	}
	if s.noProxy {
		opts = append(opts, grpc.WithNoProxy())
	}
	return append(opts, s.dialOptions...)
}
