package client

import (
	"crypto/tls"
	"log/slog"
	"time"

	"google.golang.org/grpc"
)

// Option changes how a Client is made. Without any, it speaks TLS 1.3 and trusts
// the system's certificate authorities.
type Option func(*settings)

// WithTLSConfig sets the TLS configuration, which is copied. The minimum version
// stays TLS 1.3 unless the configuration names one. It combines with WithCAFile
// and WithClientCertificate, which set their parts of it.
func WithTLSConfig(config *tls.Config) Option {
	return func(s *settings) { s.tls = config.Clone() }
}

// WithCAFile trusts the certificate authorities in a PEM file, and no others. The
// file is read once, by New.
func WithCAFile(path string) Option {
	return func(s *settings) { s.caFile = path }
}

// WithClientCertificate presents a client certificate from PEM files. They are
// read by New, to find mistakes early, and again for each connection, so that a
// renewed certificate is taken up.
func WithClientCertificate(certFile, keyFile string) Option {
	return func(s *settings) { s.certFile, s.keyFile = certFile, keyFile }
}

// WithInsecure speaks plaintext: for demonstrations and tests on one machine. New
// refuses it together with any credentials.
func WithInsecure() Option {
	return func(s *settings) { s.insecure = true }
}

// WithTokenFile sends the bearer token in a file, such as a projected service
// account token, with each call. The file is read anew for each. A token is never
// sent in plaintext.
func WithTokenFile(path string) Option {
	return func(s *settings) { s.tokenFile = path }
}

// WithoutProxy ignores the proxy that the environment (HTTPS_PROXY) names.
func WithoutProxy() Option {
	return func(s *settings) { s.noProxy = true }
}

// WithDialOptions adds gRPC dial options. They come last: they can undo what this
// package sets, static flow-control windows included. A connection of one's own,
// to an in-process server for example, is made with grpc.WithContextDialer.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(s *settings) { s.dialOptions = append(s.dialOptions, opts...) }
}

// WithLogger sets the log for reconnects and for copies that proved wrong. It
// never gets the content of objects. The default discards everything.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithBackoff sets the delays between attempts to subscribe: before the n-th in a
// row, counted from 0, the delay is uniform in [0, min(limit, base·2ⁿ)]. Both must
// be positive. The defaults are 100 ms and 30 s.
func WithBackoff(base, limit time.Duration) Option {
	return func(s *settings) { s.backoffBase, s.backoffMax = base, limit }
}
