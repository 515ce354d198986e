package controlplane

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// createNodes creates Nodes as kubelets of small machines would.
func createNodes(ctx context.Context, client dynamic.ResourceInterface, count int) error {
	for i := range count {
		if _, err := client.Create(ctx, node(fmt.Sprintf("node-%d", i+1)), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating a node: %w", err)
		}
	}
	return nil
}

// nodesReady returns nil if at least as many Nodes take Pods: they are ready, and the
// controllers have seen it.
func nodesReady(ctx context.Context, client dynamic.ResourceInterface, count int) error {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	var waiting []string
	for i := range list.Items {
		if why := notReady(&list.Items[i]); why != "" {
			waiting = append(waiting, list.Items[i].GetName()+" "+why)
			continue
		}
		ready++
	}
	if ready < count {
		return fmt.Errorf("%d of %d nodes are ready: %s", ready, count, strings.Join(waiting, ", "))
	}
	return nil
}

// notReady says why the Node takes no Pods, or nothing if it does.
func notReady(node *unstructured.Unstructured) string {
	if taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints"); len(taints) > 0 {
		return fmt.Sprintf("has taints %v", taints)
	}
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return ""
		}
	}
	return "is not Ready"
}

// nodes returns a client of the Nodes, and what closes its connections.
func (cp *ControlPlane) nodes() (client dynamic.ResourceInterface, done func(), err error) {
	config := cp.RESTConfig(Admin)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	c, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, nil, err
	}
	return c.Resource(nodeResource), func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) }, nil
}

func node(name string) *unstructured.Unstructured {
	resources := map[string]any{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]any{
				"kubernetes.io/arch":     "amd64",
				"kubernetes.io/os":       "linux",
				"kubernetes.io/hostname": name,
			},
		},
		"status": map[string]any{"capacity": resources, "allocatable": resources},
	}}
}
