package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
	"github.com/runnel-dev/runnel/server"
)

func TestBadRequestsFailAtOnce(t *testing.T) {
	cp := startControlPlane(t)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	for _, tt := range []struct {
		name string
		req  *runnelv1.ResourceSubscription
		code codes.Code
		text string
	}{
		{"unknown resource", &runnelv1.ResourceSubscription{Resource: "unicorns"}, codes.NotFound, `resources[0].resource: unknown resource "unicorns"`},
		{"resource of another group", &runnelv1.ResourceSubscription{Group: "apps", Resource: "pods"}, codes.NotFound, `unknown resource "pods.apps"`},
		{"unknown version", &runnelv1.ResourceSubscription{Version: "v7", Resource: "pods"}, codes.NotFound, `unknown resource`},
		{"singular", &runnelv1.ResourceSubscription{Resource: "pod"}, codes.NotFound, `unknown resource "pod"`},
		{"no watch", &runnelv1.ResourceSubscription{Group: "authentication.k8s.io", Resource: "tokenreviews"}, codes.InvalidArgument, "cannot be listed and watched"},
		{"namespace of a cluster-scoped resource", &runnelv1.ResourceSubscription{Resource: "nodes", Namespaces: []string{"default"}}, codes.InvalidArgument, "resources[0].namespaces: nodes are cluster-scoped"},
		{"malformed selector", &runnelv1.ResourceSubscription{Resource: "pods", LabelSelector: "a in b"}, codes.InvalidArgument, "resources[0].label_selector"},
		{"oversize request", &runnelv1.ResourceSubscription{Resource: "pods", Known: make([]byte, 17<<20)}, codes.ResourceExhausted, "resources[0]: 17825"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := grpcstatus.Convert(mustObserve(t, conn, tt.req).next())
			if s.Code() != tt.code || !strings.Contains(s.Message(), tt.text) {
				t.Errorf("%v: %s; want %v with %q", s.Code(), s.Message(), tt.code, tt.text)
			}
			if info, ok := detail[*errdetails.ErrorInfo](s); !ok || info.GetDomain() != "runnel.v1" {
				t.Errorf("ErrorInfo is %v", info)
			}
			_, retry := detail[*errdetails.RetryInfo](s)
			if want := tt.code == codes.ResourceExhausted; retry != want {
				t.Errorf("RetryInfo is there: %v", retry)
			}
		})
	}
}

func detail[T any](s *grpcstatus.Status) (found T, ok bool) {
	for _, d := range s.Details() {
		if found, ok = d.(T); ok {
			return found, true
		}
	}
	return found, false
}

func TestServerTellsWhatItServes(t *testing.T) {
	cp := startControlPlane(t)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	health, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "runnel.v1.EventService"}, grpc.WaitForReady(true))
	if err != nil || health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v", health.GetStatus(), err)
	}
	info, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = info.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
		FileContainingSymbol: "runnel.v1.EventService",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := info.Recv(); err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection answers %v, %v", answer, err)
	}
}

func TestShutdownSaysGoodbyeAndThenNotServing(t *testing.T) {
	cp := startControlPlane(t)
	conn, stop := startServer(t, cp.RESTConfig(controlplane.Admin))
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "namespaces"})
	o.mustUntil(t, o.isSynced)
	go stop()
	o.mustUntil(t, func() bool { return o.last.GetGoodbye() != nil })
	if got := o.last.GetGoodbye().GetReason(); got != runnelv1.GoodbyeReason_GOODBYE_REASON_DRAINING {
		t.Errorf("goodbye because of %v", got)
	}
	s := grpcstatus.Convert(o.next())
	if _, retry := detail[*errdetails.RetryInfo](s); s.Code() != codes.Unavailable || !retry {
		t.Errorf("stream ended with %v, retry hint: %v", s, retry)
	}
}

func TestStartFailsWhereTheAPIServerIsNot(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Listener: listener, Insecure: true, REST: &rest.Config{Host: "https://" + nobody.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, server.ErrAPIServer) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Run returns %v, want ErrAPIServer in one line", err)
	}
}

func TestPlaintextIsServedOnlyWhereAskedFor(t *testing.T) {
	files := newTLSFiles(t)
	for _, tt := range []struct {
		name     string
		tls      server.TLSFiles
		insecure bool
		text     string
	}{
		{"neither", server.TLSFiles{}, false, "TLS needs a certificate and a key"},
		{"both", server.TLSFiles{Cert: files.cert, Key: files.key}, true, "exclude each other"},
		{"no key", server.TLSFiles{Cert: files.cert}, false, "TLS needs a certificate and a key"},
		{"no such file", server.TLSFiles{Cert: files.cert, Key: "nowhere"}, false, "nowhere"},
		{"client CA without certificate", server.TLSFiles{Cert: files.cert, Key: files.key, ClientCA: files.key}, false, "no certificate in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			_, err = server.New(server.Config{Listener: listener, REST: &rest.Config{}, TLS: tt.tls, Insecure: tt.insecure})
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("New returns %v, want %q", err, tt.text)
			}
		})
	}
}

func TestClientsPresentCertificatesOfTheCA(t *testing.T) {
	cp := startControlPlane(t)
	files := newTLSFiles(t)
	plain, _ := startServer(t, cp.RESTConfig(controlplane.Admin), func(c *server.Config) {
		c.Insecure = false
		c.TLS = server.TLSFiles{Cert: files.cert, Key: files.key, ClientCA: files.cert}
	})
	for _, tt := range []struct {
		name         string
		certificates []tls.Certificate
		want         codes.Code
	}{
		{"none", nil, codes.Unavailable},
		{"signed", []tls.Certificate{files.pair}, codes.OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := grpc.NewClient(plain.Target(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
				RootCAs: files.pool, Certificates: tt.certificates,
			})))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
			if got := grpcstatus.Code(err); got != tt.want {
				t.Errorf("call ends with %v, want %v", err, tt.want)
			}
		})
	}
	o, err := observe(t.Context(), plain, &runnelv1.SubscribeRequest{})
	if err == nil {
		err = o.next()
	}
	if grpcstatus.Code(err) != codes.Unavailable {
		t.Errorf("plaintext call ends with %v", err)
	}
}

// tlsFiles is a self-signed certificate for 127.0.0.1.
type tlsFiles struct {
	cert, key string
	pair      tls.Certificate
	pool      *x509.CertPool
}

func newTLSFiles(t *testing.T) tlsFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := tlsFiles{cert: write("tls.crt", "CERTIFICATE", der), key: write("tls.key", "PRIVATE KEY", keyDER), pool: x509.NewCertPool()}
	if f.pair, err = tls.LoadX509KeyPair(f.cert, f.key); err != nil {
		t.Fatal(err)
	}
	f.pool.AddCert(f.pair.Leaf)
	return f
}
