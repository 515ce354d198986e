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
	cert, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	if c.TLS.ClientCA != "" {
		pem, err := os.ReadFile(c.TLS.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("client CA: %w", err)
		}
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		cfg.ClientCAs = x509.NewCertPool()
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("client CA: no certificate in %s", c.TLS.ClientCA)
		}
	}
	return credentials.NewTLS(cfg), nil
}
