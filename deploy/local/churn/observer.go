package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// observer sees the workload through informers of its own, not through Runnel: what
// is measured must not decide when the measurement is over.
type observer struct {
	factory           dynamicinformer.DynamicSharedInformerFactory
	pods, deployments cache.SharedIndexInformer
	// changed holds a token whenever something may have changed since it was taken.
	changed chan struct{}
}

func newObserver(client dynamic.Interface) *observer {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	return &observer{
		factory:     factory,
		pods:        factory.ForResource(pods).Informer(),
		deployments: factory.ForResource(deployments).Informer(),
		changed:     make(chan struct{}, 1),
	}
}

// start begins to watch until ctx ends; then wait returns.
func (o *observer) start(ctx context.Context) {
	note := func() {
		select {
		case o.changed <- struct{}{}:
		default: // it holds one
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(any, any) { note() },
		DeleteFunc: func(any) { note() },
	}
	for _, informer := range []cache.SharedIndexInformer{o.pods, o.deployments} {
		_, _ = informer.AddEventHandler(handler) // fails only on informers that have stopped
	}
	o.factory.Start(ctx.Done())
}

func (o *observer) wait() { o.factory.Shutdown() }

// until waits until there is nothing left to wait for, which pending tells after each
// change. The error of a context that ends says what was.
func (o *observer) until(ctx context.Context, pending func() string) error {
	for {
		why := pending()
		if why == "" {
			return nil
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting: %s: %w", why, context.Cause(ctx))
		}
	}
}

// unsettled says what keeps the Deployments from having just these replicas, all
// ready, at these generations or later ones; or nothing.
func (o *observer) unsettled(replicas []int, generations []int64) string {
	total := 1 // the marker
	for i, want := range replicas {
		total += want
		item, found, _ := o.deployments.GetStore().GetByKey(namespace + "/" + name(i))
		if !found {
			return name(i) + " is not seen"
		}
		if why := rolling(item.(*unstructured.Unstructured), int64(want), generations[i]); why != "" {
			return name(i) + " " + why
		}
	}
	if have := len(o.pods.GetStore().ListKeys()); have != total {
		return fmt.Sprintf("there are %d pods of %d", have, total)
	}
	return ""
}

// rolling says what keeps the Deployment from having settled, or nothing.
func rolling(d *unstructured.Unstructured, want, generation int64) string {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(d.Object, fields...)
		return n
	}
	if d.GetGeneration() < generation || number("status", "observedGeneration") != d.GetGeneration() {
		return "is not observed yet"
	}
	for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
		if have := number("status", field); have != want {
			return fmt.Sprintf("has %d of %d %s", have, want, field)
		}
	}
	return ""
}
