package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// results is what was measured.
type results struct {
	pods, nodes []*subscriber
	direct      []*directWatch
	// took is how long the churn was.
	took time.Duration
	// stored and sent are the sizes of the ready Pods, as the API server has them and
	// as whole objects are sent; both sorted.
	stored, sent []int
}

// measure subscribes in all ways, lets the workload churn, and verifies what the
// subscribers hold afterwards.
func measure(ctx context.Context, address string, restConfig *rest.Config, work *workload, progress io.Writer) (*results, error) {
	r := &results{direct: directWatches()}
	for _, set := range []struct {
		ways []way
		into *[]*subscriber
	}{{podWays(), &r.pods}, {nodeWays(), &r.nodes}} {
		for _, w := range set.ways {
			s, err := newSubscriber(w)
			if err != nil {
				return nil, err
			}
			*set.into = append(*set.into, s)
		}
	}
	version, err := work.currentVersion(ctx)
	if err != nil {
		return nil, err
	}

	group, running := errgroup.WithContext(ctx)
	var ready []<-chan struct{}
	for _, s := range append(r.pods[:len(r.pods):len(r.pods)], r.nodes...) {
		group.Go(func() error { return s.run(running, address) })
		ready = append(ready, s.synced)
	}
	for _, d := range r.direct {
		group.Go(func() error { return d.run(running, restConfig, version) })
		ready = append(ready, d.opened)
	}
	group.Go(func() error {
		if err := all(running, ready); err != nil {
			return err
		}
		fmt.Fprintf(progress, "%d rounds of rolling out and scaling, %d subscribers looking on\n", work.rounds, len(ready))
		began := time.Now()
		if err := work.churn(running); err != nil {
			return err
		}
		r.took = time.Since(began)
		return work.end(running)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r, r.verify(ctx, work)
}

// all waits until all are closed.
func all(ctx context.Context, channels []<-chan struct{}) error {
	for _, c := range channels {
		select {
		case <-c:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
