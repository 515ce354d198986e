package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLSFiles are paths of PEM files.
type TLSFiles struct {
	// Cert and Key are the serving certificate and its key.
	Cert, Key string
	// ClientCA, if set, makes clients present a certificate that it signed.
	ClientCA string
}

var (
	errNoTLS       = errors.New("TLS needs a certificate and a key; to serve plaintext, ask for it with insecure")
	errTLSInsecure = errors.New("TLS files and insecure exclude each other")
)

func (c *Config) credentials() (credentials.TransportCredentials, error) {
	if c.Insecure {
		if c.TLS != (TLSFiles{}) {
			return nil, errTLSInsecure
		}
		return insecure.NewCredentials(), nil
	}
	if c.TLS.Cert == "" || c.TLS.Key == "" {
		return nil, errNoTLS
	}
	cfg, problems := c.TLS.load()
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return credentials.NewTLS(cfg), nil
}

// Check reads the files and returns all that is wrong with them, as New would find
// it. It does not look at files that are not named.
func (f TLSFiles) Check() []error {
	_, problems := f.load()
	return problems
}

func (f TLSFiles) load() (cfg *tls.Config, problems []error) {
	cfg = &tls.Config{MinVersion: tls.VersionTLS13}
	if f.Cert != "" && f.Key != "" {
		cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			problems = append(problems, fmt.Errorf("serving certificate: %w", err))
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	if f.ClientCA != "" {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		cfg.ClientCAs = x509.NewCertPool()
		pem, err := os.ReadFile(f.ClientCA)
		if err == nil && !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("no certificate in %s", f.ClientCA)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("client CA: %w", err))
		}
	}
	return cfg, problems
}
