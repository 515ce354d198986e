package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	namespace = "churn"
	// marker is a Pod and a Node that nothing happens to until they are deleted, after
	// everything else: with them the end of the churn reaches every subscriber,
	// whatever part of objects it gets (D12: in order).
	marker = "end-of-churn"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// workload is Deployments that are rolled and scaled.
type workload struct {
	client dynamic.Interface
	close  func()
	watch  *observer
	// replicas is how many each Deployment has between the changes.
	replicas []int
	rounds   int
	// generations are those of the latest change of each Deployment: what was seen
	// before it settled says nothing.
	generations []int64
}

func newWorkload(ctx context.Context, config *rest.Config, o options) (*workload, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	w := &workload{client: client, watch: newObserver(client), rounds: o.rounds}
	for i := range o.deployments {
		w.replicas = append(w.replicas, (o.pods+i)/o.deployments)
	}
	w.generations = make([]int64, o.deployments)
	watching, stop := context.WithCancel(ctx)
	w.watch.start(watching)
	w.close = func() {
		stop()
		w.watch.wait()
		utilnet.CloseIdleConnectionsFor(httpClient.Transport)
	}
	return w, nil
}

// prepare creates everything and waits until all Pods are ready.
func (w *workload) prepare(ctx context.Context) error {
	if err := w.create(ctx, namespaces, "", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace)); err != nil {
		return err
	}
	if err := w.create(ctx, nodes, "", markerNode); err != nil {
		return err
	}
	if err := w.create(ctx, pods, namespace, markerPod); err != nil {
		return err
	}
	for i, replicas := range w.replicas {
		if err := w.create(ctx, deployments, namespace, deploymentJSON(name(i), replicas)); err != nil {
			return err
		}
	}
	return w.settle(ctx, w.replicas)
}

// churn rolls all Deployments out and scales the first one up and down, round by
// round, each time until everything has settled.
func (w *workload) churn(ctx context.Context) error {
	for round := range w.rounds {
		for i := range w.replicas {
			// As kubectl rollout restart does.
			patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"round-%d"}}}}}`, round)
			if err := w.patch(ctx, i, patch); err != nil {
				return err
			}
		}
		if err := w.settle(ctx, w.replicas); err != nil {
			return err
		}
		scaled := append([]int{2 * w.replicas[0]}, w.replicas[1:]...)
		for _, want := range [][]int{scaled, w.replicas} {
			if err := w.patch(ctx, 0, fmt.Sprintf(`{"spec":{"replicas":%d}}`, want[0])); err != nil {
				return err
			}
			if err := w.settle(ctx, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// end deletes the markers.
func (w *workload) end(ctx context.Context) error {
	now := int64(0) // no kubelet ends a grace period of a Pod without a Node
	if err := w.client.Resource(nodes).Delete(ctx, marker, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return w.client.Resource(pods).Namespace(namespace).Delete(ctx, marker, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// settle waits until each Deployment has just its replicas, all ready.
func (w *workload) settle(ctx context.Context, replicas []int) error {
	return w.watch.until(ctx, func() string { return w.watch.unsettled(replicas, w.generations) })
}

func (w *workload) create(ctx context.Context, gvr schema.GroupVersionResource, namespace, json string) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(json)); err != nil {
		return err
	}
	_, err := w.client.Resource(gvr).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}

func (w *workload) patch(ctx context.Context, deployment int, json string) error {
	u, err := w.client.Resource(deployments).Namespace(namespace).
		Patch(ctx, name(deployment), types.MergePatchType, []byte(json), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	w.generations[deployment] = u.GetGeneration()
	return nil
}
