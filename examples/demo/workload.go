package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

const namespace = "runnel-demo"

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets    = schema.GroupVersionResource{Group: "demo.runnel.dev", Version: "v1", Resource: "widgets"}
)

// workload is a handful of objects that change.
type workload struct{ client dynamic.Interface }

// pace leaves time to read a line.
const pace = 1200 * time.Millisecond

// prepare creates the namespace, the CRD and what the snapshot is going to hold.
func (w *workload) prepare(ctx context.Context) error {
	err := w.create(ctx, namespaces, "", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace))
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s exists already: another demo runs there, or its end was cut short; delete it", namespace)
	}
	if err != nil {
		return err
	}
	err = w.create(ctx, crds, "", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"widgets.demo.runnel.dev"},
		"spec":{"group":"demo.runnel.dev","scope":"Namespaced",
			"names":{"plural":"widgets","singular":"widget","kind":"Widget"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
				"properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, name := range []string{"web-1", "web-2"} {
		if err := w.create(ctx, pods, namespace, podJSON(name, "web")); err != nil {
			return err
		}
	}
	if err := w.create(ctx, pods, namespace, podJSON("db-1", "db")); err != nil {
		return err
	}
	// A CRD is served a moment after it is created.
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := w.create(ctx, widgets, namespace, widgetJSON("dial", 9007199254740993))
		return err == nil || apierrors.IsAlreadyExists(err), nil
	})
}

// cleanUp removes what prepare created, as far as it can: it matters only on a
// cluster that outlives the demo.
func (w *workload) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = w.client.Resource(namespaces).Delete(ctx, namespace, metav1.DeleteOptions{})
	_ = w.client.Resource(crds).Delete(ctx, "widgets.demo.runnel.dev", metav1.DeleteOptions{})
}

// step is one change and how people would say it.
type step struct {
	say string
	do  func(ctx context.Context) error
}

// run changes objects, step by step and round by round, until ctx ends.
func (w *workload) run(ctx context.Context) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for round := int64(1); ; round++ {
		for _, s := range w.steps(round) {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			act(s.say)
			if err := s.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.say, err)
			}
		}
	}
}

func (w *workload) steps(round int64) []step {
	return []step{
		{"create pod web-3", func(ctx context.Context) error {
			return w.create(ctx, pods, namespace, podJSON("web-3", "web"))
		}},
		{"pod web-1 becomes Running, which the field selector status.phase=Running matches", func(ctx context.Context) error {
			return w.patch(ctx, pods, "web-1", fmt.Sprintf(`{"status":{"phase":"Running","message":"round %d"}}`, round), "status")
		}},
		{"label pod web-2 app=canary, which the selector app=web does not match", func(ctx context.Context) error {
			return w.patch(ctx, pods, "web-2", `{"metadata":{"labels":{"app":"canary"}}}`)
		}},
		{"change pod db-1, which is not subscribed to: nothing comes", func(ctx context.Context) error {
			return w.patch(ctx, pods, "db-1", fmt.Sprintf(`{"metadata":{"labels":{"round":"r%d"}}}`, round))
		}},
		{"pod web-1 fails", func(ctx context.Context) error {
			return w.patch(ctx, pods, "web-1", `{"status":{"phase":"Failed"}}`, "status")
		}},
		{"label pod web-2 app=web again", func(ctx context.Context) error {
			return w.patch(ctx, pods, "web-2", `{"metadata":{"labels":{"app":"web"}}}`)
		}},
		{"change widget dial", func(ctx context.Context) error {
			return w.patch(ctx, widgets, "dial", fmt.Sprintf(`{"spec":{"serial":%d}}`, 9007199254740993+2*round))
		}},
		{"delete pod web-3", func(ctx context.Context) error { return w.delete(ctx, pods, "web-3") }},
		{"delete widget dial and create another of that name", func(ctx context.Context) error {
			if err := w.delete(ctx, widgets, "dial"); err != nil {
				return err
			}
			return w.create(ctx, widgets, namespace, widgetJSON("dial", 9007199254740993))
		}},
	}
}

func podJSON(name, app string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":%q}},
		"spec":{"containers":[{"name":"main","image":"example"}]}}`, name, app)
}

func widgetJSON(name string, serial int64) string {
	return fmt.Sprintf(`{"apiVersion":"demo.runnel.dev/v1","kind":"Widget","metadata":{"name":%q},"spec":{"serial":%d}}`, name, serial)
}

func (w *workload) create(ctx context.Context, gvr schema.GroupVersionResource, namespace, json string) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(json)); err != nil {
		return err
	}
	_, err := w.client.Resource(gvr).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}

func (w *workload) patch(ctx context.Context, gvr schema.GroupVersionResource, name, json string, subresource ...string) error {
	_, err := w.client.Resource(gvr).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(json), metav1.PatchOptions{}, subresource...)
	return err
}

func (w *workload) delete(ctx context.Context, gvr schema.GroupVersionResource, name string) error {
	now := int64(0) // no kubelet is there to end a grace period
	return w.client.Resource(gvr).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}
