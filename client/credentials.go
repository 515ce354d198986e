package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// credentialOptions reads every file that the settings name, so that a mistake
// shows at once and not as a server that cannot be reached.
func (s *settings) credentialOptions() ([]grpc.DialOption, error) {
	if s.insecure {
		if s.tls != nil || s.caFile != "" || s.certFile != "" || s.keyFile != "" || s.tokenFile != "" {
			return nil, errors.New("plaintext and credentials exclude each other")
		}
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
	}
	config, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(config))}
	if s.tokenFile != "" {
		token := tokenFile(s.tokenFile)
		if _, err := token.read(); err != nil {
			return nil, err
		}
		opts = append(opts, grpc.WithPerRPCCredentials(token))
	}
	return opts, nil
}

func (s *settings) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{}
	if s.tls != nil {
		config = s.tls.Clone()
	}
	if config.MinVersion == 0 {
		config.MinVersion = tls.VersionTLS13
	}
	if s.caFile != "" {
		pem, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, fmt.Errorf("certificate authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificate authorities: no certificate in %s", s.caFile)
		}
	}
	if (s.certFile == "") != (s.keyFile == "") {
		return nil, errors.New("a client certificate needs both a certificate and a key")
	}
	if s.certFile != "" {
		certFile, keyFile := s.certFile, s.keyFile
		load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			if err != nil {
				return nil, fmt.Errorf("client certificate: %w", err)
			}
			return &pair, nil
		}
		if _, err := load(nil); err != nil {
			return nil, err
		}
		config.GetClientCertificate = load
	}
	return config, nil
}

// tokenFile is the path of a bearer token. It implements
// credentials.PerRPCCredentials.
type tokenFile string

// GetRequestMetadata reads the token. A file that cannot be read is Unavailable:
// it is being replaced, or will be.
func (f tokenFile) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := f.read()
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity makes gRPC refuse to send the token in plaintext.
func (f tokenFile) RequireTransportSecurity() bool { return true }

func (f tokenFile) read() (string, error) {
	content, err := os.ReadFile(string(f))
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := string(bytes.TrimSpace(content))
	if token == "" {
		return "", fmt.Errorf("token: %s is empty", string(f))
	}
	return token, nil
}
