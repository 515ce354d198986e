package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// directWatch is a watch of the Pods at the API server, as an informer without
// Runnel opens it. Its bytes are those of the response's body.
type directWatch struct {
	name, accept string
	// next reads one event, with the bytes that delimit it.
	next func(*bufio.Reader) ([]byte, error)

	opened chan struct{} // closed when the response has begun
	live   sum
	byType map[string]sum
}

// The names of the types in both encodings.
const (
	addedType    = "ADDED"
	modifiedType = "MODIFIED"
	deletedType  = "DELETED"
)

func directWatches() []*directWatch {
	return []*directWatch{
		{
			name:   "direct watch, JSON",
			accept: "application/json",
			next:   func(r *bufio.Reader) ([]byte, error) { return r.ReadBytes('\n') },
			opened: make(chan struct{}), byType: map[string]sum{},
		},
		{
			name:   "direct watch, protobuf",
			accept: "application/vnd.kubernetes.protobuf;stream=watch",
			next:   nextDelimited,
			opened: make(chan struct{}), byType: map[string]sum{},
		},
	}
}

// nextDelimited reads a message that its length precedes.
func nextDelimited(r *bufio.Reader) ([]byte, error) {
	const prefix = 4
	length, err := r.Peek(prefix)
	if err != nil {
		return nil, err
	}
	message := make([]byte, prefix+binary.BigEndian.Uint32(length))
	_, err = io.ReadFull(r, message)
	return message, err
}

// run watches from the resourceVersion and returns when the churn has ended.
func (d *directWatch) run(ctx context.Context, config *rest.Config, resourceVersion string) error {
	if err := d.watch(ctx, config, resourceVersion); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}

func (d *directWatch) watch(ctx context.Context, config *rest.Config, resourceVersion string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	query := url.Values{"watch": {"1"}, "resourceVersion": {resourceVersion}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		config.Host+"/api/v1/namespaces/"+namespace+"/pods?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", d.accept)
	request.Header.Set("Accept-Encoding", "identity") // watches are not compressed anyway
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server answers %s", response.Status)
	}
	close(d.opened)
	events := bufio.NewReader(response.Body)
	for {
		event, err := d.next(events)
		if err != nil {
			return err
		}
		if kind := d.count(event); kind == deletedType && bytes.Contains(event, []byte(marker)) {
			return nil // no other Pod has the name
		}
	}
}

// count takes in an event and returns its type, which both encodings have as text
// near the start.
func (d *directWatch) count(event []byte) (kind string) {
	d.live.add(len(event))
	const near = 32
	for _, kind := range []string{addedType, modifiedType, deletedType} {
		if bytes.Contains(event[:min(near, len(event))], []byte(kind)) {
			s := d.byType[kind]
			s.add(len(event))
			d.byType[kind] = s
			return kind
		}
	}
	return ""
}

// currentVersion is the resourceVersion of the Pods now.
func (w *workload) currentVersion(ctx context.Context) (string, error) {
	list, err := w.client.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.GetResourceVersion(), nil
}
