package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWorkerThatEndsTellsWhyAndStopLeavesNothing(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	err := cp.StartWorkers(t.Context(), fakeWorkers(t, "echo no such controller; exit 4"), 2)
	for _, want := range []string{"kube-controller-manager ended before it was ready", "exit status 4", "no such controller"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	nodes, err := client(t, cp, Admin).Resource(nodeResource).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("%d nodes, %v; want 2", len(nodes.Items), err)
	}
	if err := cp.StartWorkers(t.Context(), fakeWorkers(t, "true"), 2); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("a second start: %v", err)
	}
}

func TestStopEndsWorkersThatRun(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	workers := fakeWorkers(t, "exec sleep 600")
	done := make(chan error, 1)
	go func() { done <- cp.StartWorkers(t.Context(), workers, 0) }()
	eventually(t, func() error {
		cp.workers.mu.Lock()
		defer cp.workers.mu.Unlock()
		if len(cp.workers.servers) == 0 || cp.workers.servers[0].current() == nil {
			return errors.New("nothing runs")
		}
		return nil
	})
	pid := cp.workers.servers[0].current().pid()
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("process %d is there after Stop: %v", pid, err)
	}
	if err := <-done; err == nil {
		t.Error("a worker that was ended did start")
	}
	if err := cp.StartWorkers(t.Context(), fakeWorkers(t, "true"), 0); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a start after Stop: %v", err)
	}
}

func TestMissingWorkersAreAnError(t *testing.T) {
	if err := (&ControlPlane{}).StartWorkers(t.Context(), Workers{}, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestNodeIsReadyWithoutTaints(t *testing.T) {
	for _, test := range []struct{ name, json, want string }{
		{"new", `{"spec":{}}`, "not Ready"},
		{"failing", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "not Ready"},
		{"not seen by the controllers", `{"spec":{"taints":[{"key":"not-ready"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "taints"},
		{"ready", `{"status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var node unstructured.Unstructured
			if err := node.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Node",` + test.json[1:])); err != nil {
				t.Fatal(err)
			}
			if got := notReady(&node); got == "" != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFoldersOfToolsDiffer(t *testing.T) {
	var dirs []string
	for _, tools := range []*toolset{assetTools, kubernetesWorkerTools, kwokTools} {
		dir, err := tools.dir()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(dirs, dir) {
			t.Errorf("two have %s", dir)
		}
		dirs = append(dirs, dir)
	}
}

// fakeWorkers are scripts; kube-controller-manager's is given.
func fakeWorkers(t *testing.T, controllerManager string) Workers {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"kube-controller-manager": controllerManager, "kube-scheduler": "exit 1", "kwok": "exit 1", stagesFolder: "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return Workers{kubernetes: dir, kwok: dir}
}
