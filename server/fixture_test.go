package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/controlplane"
	"github.com/runnel-dev/runnel/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// startControlPlane runs a real kube-apiserver and etcd for the test alone.
func startControlPlane(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	assets, ok := controlplane.Find()
	if !ok {
		t.Fatal(controlplane.ErrNoAssets)
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Config{Assets: assets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

// startServer serves until the test ends, or stop is called.
func startServer(t *testing.T, restConfig *rest.Config, change ...func(*server.Config)) (conn *grpc.ClientConn, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{Listener: listener, REST: restConfig, Insecure: true, Drain: 3 * time.Second, Log: testLog(t)}
	for _, f := range change {
		f(&cfg)
	}
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	conn, err = grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(4<<20))
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(func() {
		stop()
		conn.Close()
	})
	return conn, stop
}

// testLog writes the server's log to standard error where RUNNEL_TEST_LOG is set.
func testLog(t *testing.T) *slog.Logger {
	w := io.Discard
	if os.Getenv("RUNNEL_TEST_LOG") != "" {
		w = os.Stderr
	}
	return slog.New(slog.NewTextHandler(w, nil)).With("test", t.Name())
}

// api writes to the API server.
type api struct {
	t *testing.T
	dynamic.Interface
}

func newAPI(t *testing.T, cfg *rest.Config) api {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // without a limit
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api{t, client}
}

func parse(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return u
}

func (a api) create(gvr schema.GroupVersionResource, namespace, text string) *unstructured.Unstructured {
	a.t.Helper()
	created, err := a.Resource(gvr).Namespace(namespace).Create(a.t.Context(), parse(text), metav1.CreateOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return created
}

func (a api) namespace(name string) {
	a.t.Helper()
	a.create(namespaces, "", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
}

func (a api) configMap(namespace, name, value string) *unstructured.Unstructured {
	a.t.Helper()
	return a.create(configMaps, namespace, configMapJSON(name, value))
}

func configMapJSON(name, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"n":%q}}`, name, value)
}

// patch merges text into an object and returns its resourceVersion.
func (a api) patch(gvr schema.GroupVersionResource, namespace, name, text string) string {
	a.t.Helper()
	u, err := a.Resource(gvr).Namespace(namespace).Patch(a.t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	return u.GetResourceVersion()
}

func (a api) delete(gvr schema.GroupVersionResource, namespace, name string) {
	a.t.Helper()
	zero := int64(0) // Pods without a kubelet would stay
	err := a.Resource(gvr).Namespace(namespace).Delete(a.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	if err != nil {
		a.t.Fatal(err)
	}
}

// installWidgets installs a CRD whose objects may hold anything, and waits until
// it is served.
func (a api) installWidgets() {
	a.t.Helper()
	a.create(crds, "", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"widgets","singular":"widget","kind":"Widget"},
			"versions":[{"name":"v1","served":true,"storage":true,
				"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	eventually(a.t, func() error {
		_, err := a.Resource(widgets).List(a.t.Context(), metav1.ListOptions{})
		return err
	})
}

// eventually retries f until it succeeds; the test's deadline ends it.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatal(err)
		}
	}
}
