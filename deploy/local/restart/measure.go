package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"
)

// measurement is one run.
type measurement struct {
	options
	rest     *rest.Config
	progress io.Writer
	api      dynamic.ResourceInterface
	rows     []row
}

// row is what it took all subscribers to be level again.
type row struct {
	what           string
	sent, received int64
}

const namespace = "default"

func (m *measurement) measure(ctx context.Context) error {
	cfg := rest.CopyConfig(m.rest)
	cfg.QPS = -1 // without a limit
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	m.api = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	_, _ = fmt.Fprintf(m.progress, "creating %d objects\n", m.objects)
	if err := m.each(ctx, m.objects, m.create); err != nil {
		return err
	}
	stays, err := m.start(ctx)
	if err != nil {
		return err
	}
	defer stays.stop()

	all := make([]*subscriber, m.subscribers)
	for i := range all {
		all[i] = &subscriber{held: make(map[uint64]uint64, m.objects)}
	}
	// Each part has a replica that was just started, but the last.
	parts := []struct {
		what    string
		changed int
		fresh   bool
	}{
		{"a snapshot", 0, true},
		{"coming back, nothing changed", 0, true},
		{fmt.Sprintf("coming back, %d changed", m.changed), m.changed, true},
		{fmt.Sprintf("the same, to a replica that stayed, %d changed", m.changed), m.changed, false},
		{"the same, nothing changed", 0, false},
	}
	for _, part := range parts {
		_, _ = fmt.Fprintf(m.progress, "measuring: %s\n", part.what)
		if err := m.each(ctx, part.changed, m.change); err != nil {
			return err
		}
		if err := m.part(ctx, part.what, part.fresh, stays, all); err != nil {
			return fmt.Errorf("%s: %w", part.what, err)
		}
	}
	return nil
}

// part lets all subscribers come to a replica until they are level, and leave.
func (m *measurement) part(ctx context.Context, what string, fresh bool, stays *replica, all []*subscriber) error {
	r := stays
	if fresh {
		var err error
		if r, err = m.start(ctx); err != nil {
			return err
		}
		defer r.stop()
	}
	sent, received := r.meter.sent.Load(), r.meter.received.Load()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(200) // who decodes a snapshot takes memory
	for _, s := range all {
		group.Go(func() error { return s.visit(ctx, r.address()) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// What a subscriber receives is what the replica sent.
	m.rows = append(m.rows, row{what, r.meter.received.Load() - received, r.meter.sent.Load() - sent})
	return nil
}

func (m *measurement) create(ctx context.Context, i int) error {
	_, err := m.api.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": fmt.Sprintf("c%d", i)},
		"data":     map[string]any{"value": strings.Repeat("x", m.size)},
	}}, metav1.CreateOptions{})
	return err
}

func (m *measurement) change(ctx context.Context, i int) error {
	name := fmt.Sprintf("c%d", i*m.objects/m.changed)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"part":"%d"}}}`, len(m.rows))
	_, err := m.api.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// each calls f for the numbers below n, some at a time.
func (m *measurement) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

func (m *measurement) print(out io.Writer) error {
	n := int64(m.subscribers)
	_, err := fmt.Fprintf(out, "%d subscribers of %d objects, bytes of each, with TCP's payload as it is on a connection of its own:\n\n", n, m.objects)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "sent\treceived\tboth, of a snapshot\t  what\n") // errors show in Flush
	snapshot := m.rows[0].sent + m.rows[0].received
	for _, r := range m.rows {
		_, _ = fmt.Fprintf(w, "%d\t%d\t%.3f %%\t  %s\n", r.sent/n, r.received/n, 100*float64(r.sent+r.received)/float64(snapshot), r.what)
	}
	return w.Flush()
}
