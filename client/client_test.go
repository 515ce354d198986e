package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestNewFindsMistakesAtOnce(t *testing.T) {
	dir := t.TempDir()
	empty := write(t, dir, "empty", "\n")
	token := write(t, dir, "token", "secret")
	missing := filepath.Join(dir, "missing")
	for _, tt := range []struct {
		name string
		opts []Option
		want string
	}{
		{"a token in plaintext", []Option{WithInsecure(), WithTokenFile(token)}, "plaintext"},
		{"a CA in plaintext", []Option{WithInsecure(), WithCAFile(empty)}, "plaintext"},
		{"a missing token", []Option{WithTokenFile(missing)}, "no such file"},
		{"an empty token", []Option{WithTokenFile(empty)}, "empty"},
		{"a missing CA", []Option{WithCAFile(missing)}, "no such file"},
		{"an empty CA", []Option{WithCAFile(empty)}, "no certificate"},
		{"a certificate without a key", []Option{WithClientCertificate(empty, "")}, "both"},
		{"a missing certificate", []Option{WithClientCertificate(missing, missing)}, "no such file"},
		{"no backoff", []Option{WithBackoff(0, time.Second)}, "backoff"},
		{"a limit below the base", []Option{WithBackoff(time.Minute, time.Second)}, "backoff"},
		{"no logger", []Option{WithLogger(nil)}, "logger"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := New("localhost:1", tt.opts...)
			if err == nil {
				_ = c.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not say %q", err, tt.want)
			}
		})
	}
}

// Credentials that rotate are taken up without a new Client: the token for each
// call, the certificate for each connection.
func TestCredentialFilesAreReadAnew(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	caFile := write(t, dir, "ca.crt", ca.pem())
	certFile, keyFile, tokenFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "token")
	renew := func(name string) {
		cert, key := ca.issue(t, name)
		write(t, dir, "tls.crt", cert)
		write(t, dir, "tls.key", key)
		write(t, dir, "token", name+"-token\n")
	}
	renew("first")

	certificate, key := ca.issue(t, "server")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	var callers []string
	fake := &fakeServer{script: func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		callers = append(callers, strings.Join(md.Get("authorization"), ","))
		if len(callers) == 3 {
			return status.Error(codes.NotFound, "")
		}
		if err := stream.Send(newReset()); err != nil {
			return err
		}
		// Makes the next stream use another connection.
		return stream.Send(&runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Goodbye{Goodbye: &runnelv1.Goodbye{}}})
	}}
	var names []string
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientCAs: ca.pool(),
		ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(s tls.ConnectionState) error {
			names = append(names, s.PeerCertificates[0].Subject.CommonName)
			return nil
		},
	})))
	runnelv1.RegisterEventServiceServer(server, fake)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	defer func() {
		server.Stop()
		<-served
	}()
	c, err := New("passthrough:///server", WithCAFile(caFile), WithClientCertificate(certFile, keyFile), WithTokenFile(tokenFile),
		WithBackoff(1, 1), WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		})))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Subscribe(t.Context(), podRequest(), Handler{
		Frame:       func(*runnelv1.SubscribeResponse) error { return nil },
		Interrupted: func(Interruption) { renew("second") },
	})
	if status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	if got := strings.Join(callers, " "); got != "Bearer first-token Bearer second-token Bearer second-token" {
		t.Errorf("tokens %q", got)
	}
	if got := strings.Join(names, " "); got != "first second second" {
		t.Errorf("certificates %q", got)
	}
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// authority issues certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) pem() string { return encode("CERTIFICATE", a.certificate.Raw) }

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (a *authority) issue(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	k := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, k.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
