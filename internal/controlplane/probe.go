package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// probeTimeout lets a probe of a server that is stuck in its start end, and be
// tried again.
const probeTimeout = 5 * time.Second

// probe asks one server whether it is ready.
type probe struct {
	client *http.Client
	url    string
	token  string
	paths  []string
}

// etcdProbe is satisfied when etcd serves.
func (cp *ControlPlane) etcdProbe() *probe {
	return &probe{client: probeClient(nil), url: cp.etcdURL(), paths: []string{"/readyz"}}
}

// apiServerProbe is satisfied when kube-apiserver serves as a test expects it.
// /readyz covers the hook that creates the default roles, but not the namespaces
// that every cluster has, which come a moment later.
func (cp *ControlPlane) apiServerProbe() *probe {
	return &probe{
		client: probeClient(cp.ca),
		url:    cp.URL(),
		token:  cp.token(Admin),
		paths:  []string{"/readyz", "/api/v1/namespaces/default"},
	}
}

// probeClient returns a client that leaves no connection behind.
func probeClient(ca []byte) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots},
		},
	}
}

// check returns nil if every path answers OK, else the first answer that differs.
func (p *probe) check(ctx context.Context) error {
	for _, path := range p.paths {
		if err := p.get(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // for the message only
		return fmt.Errorf("%s: %s: %s", path, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
