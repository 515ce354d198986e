package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) {
	if program := os.Getenv(orphanEnv); program != "" {
		startOrphan(program)
	}
	goleak.VerifyTestMain(m)
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	bindings   = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

func TestObjectsOutliveRestartsOfBothServers(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	admin := client(t, cp, Admin)
	create(t, admin.Resource(namespaces), `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"orchard"}}`)
	orchard := admin.Resource(configMaps).Namespace("orchard")
	create(t, orchard, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tree"},"data":{"fruit":"apple"}}`)

	cp.StopAPIServer()
	if _, err := get(t, orchard, "tree"); !utilnet.IsConnectionRefused(err) {
		t.Fatalf("a stopped API server answers %v, want a refused connection", err)
	}
	if err := cp.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantApple(t, orchard)

	cp.StopEtcd()
	if err := cp.StartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	// kube-apiserver takes a moment to find its etcd again.
	eventually(t, func() error { _, err := get(t, orchard, "tree"); return err })
	wantApple(t, orchard)
}

func TestPausedAPIServerAnswersNothingUntilItResumes(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	ns := client(t, cp, Admin).Resource(namespaces)

	cp.PauseAPIServer()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := ns.Get(ctx, "default", metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a paused API server answers %v, want no answer", err)
	}
	cp.ResumeAPIServer()
	if _, err := get(t, ns, "default"); err != nil {
		t.Fatal(err)
	}
	cp.PauseAPIServer() // stopping it like this must not hang
}

func TestUserMayDoWhatItsGroupMay(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{Users: map[string][]string{"alice": {"oncall", "developers"}}})
	alice := client(t, cp, "alice").Resource(configMaps).Namespace("default")

	if _, err := get(t, alice, "any"); !apierrors.IsForbidden(err) {
		t.Fatalf("alice gets %v, want forbidden", err)
	}
	create(t, client(t, cp, Admin).Resource(bindings), `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
		"metadata":{"name":"developers"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:aggregate-to-view"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"developers"}]}`)
	eventually(t, func() error {
		if _, err := get(t, alice, "any"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("alice gets %w, want not found", err)
		}
		return nil
	})
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	pids := []int{cp.etcd.current().pid(), cp.apiServer.current().pid()}

	for range 2 { // the second does nothing
		if err := cp.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, 0); err != unix.ESRCH {
			t.Errorf("process %d is there after Stop: %v", pid, err)
		}
	}
	if _, err := os.Stat(cp.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Stop: %v", err)
	}
	if err := cp.StartAPIServer(t.Context()); err == nil {
		t.Error("a stopped control plane started its API server")
	}
}

func TestFailedStartTellsWhyAndLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	for _, test := range []struct {
		name, etcd string
		ctx        context.Context
		want       []string
	}{
		{
			name: "a server that ends",
			etcd: "echo first; echo disk is full >&2; exit 3",
			ctx:  t.Context(),
			want: []string{"etcd ended before it was ready", "exit status 3", "first\ndisk is full"},
		},
		{
			name: "a server that ends well",
			etcd: "true",
			ctx:  t.Context(),
			want: []string{"etcd ended before it was ready", "exit status 0"},
		},
		{
			name: "a server that never serves",
			etcd: "sleep 600",
			ctx:  canceled,
			want: []string{"etcd is not ready", context.Canceled.Error()},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(test.ctx, Config{Assets: fakeAssets(t, test.etcd)})
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "runnel-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// start starts a control plane that ends with the test.
func start(t *testing.T, config Config) *ControlPlane {
	t.Helper()
	cp, err := Start(t.Context(), config)
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

// client returns a client for the user that leaves no connection behind.
func client(t *testing.T, cp *ControlPlane, user string) dynamic.Interface {
	t.Helper()
	config := cp.RESTConfig(user)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(httpClient.Transport) })
	c, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, resource dynamic.ResourceInterface, object string) {
	t.Helper()
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(object)); err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Create(t.Context(), &u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, resource dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	return resource.Get(t.Context(), name, metav1.GetOptions{})
}

func wantApple(t *testing.T, orchard dynamic.ResourceInterface) {
	t.Helper()
	tree, err := get(t, orchard, "tree")
	if err != nil {
		t.Fatal(err)
	}
	if fruit, _, _ := unstructured.NestedString(tree.Object, "data", "fruit"); fruit != "apple" {
		t.Fatalf("fruit is %q after a restart, want apple", fruit)
	}
}

// eventually tries until it succeeds, for at most half a minute.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after 30s: %v", err)
		case <-ticker.C:
		}
	}
}

// fakeAssets returns a folder whose etcd is the shell script.
func fakeAssets(t *testing.T, etcd string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"etcd": etcd, "kube-apiserver": "exit 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
