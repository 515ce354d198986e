package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

func TestRestoreRewritesHistoryUnderRunningClients(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	trees := client(t, cp, Admin).Resource(configMaps).Namespace("default")
	create(t, trees, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tree"},"data":{"fruit":"apple"}}`)
	old := mustGet(t, trees, "tree")
	snapshot := takeSnapshot(t, cp)

	for range 2 { // a snapshot may be restored again
		create(t, trees, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"later"}}`)
		for n := range 100 { // many more writes than kube-apiserver makes by itself
			patch(t, trees, "tree", fmt.Sprintf(`{"data":{"fruit":"pear","n":"%d"}}`, n))
		}
		before := listVersion(t, trees)
		watching, err := trees.Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.FormatUint(before, 10)})
		if err != nil {
			t.Fatal(err)
		}

		restore(t, cp, snapshot)
		wantEnd(t, watching)
		if tree := mustGet(t, trees, "tree"); tree.GetResourceVersion() != old.GetResourceVersion() || tree.GetUID() != old.GetUID() {
			t.Errorf("tree is %s at %s, want %s at %s", tree.GetUID(), tree.GetResourceVersion(), old.GetUID(), old.GetResourceVersion())
		}
		wantApple(t, trees)
		if _, err := get(t, trees, "later"); !apierrors.IsNotFound(err) {
			t.Errorf("what was created after the snapshot: %v, want not found", err)
		}
		if after := listVersion(t, trees); after >= before {
			t.Errorf("the list's resourceVersion went from %d to %d, want a lower one", before, after)
		}
		// The API server refuses no resourceVersion of the history that is gone.
		patch(t, trees, "tree", `{"data":{"fruit":"plum"}}`)
		if plum := version(t, mustGet(t, trees, "tree").GetResourceVersion()); plum >= before {
			t.Errorf("a write after the restore is at %d, want below %d", plum, before)
		}
	}
}

func TestSnapshotUnderWritesHoldsAllThatWereAcknowledged(t *testing.T) {
	t.Parallel()
	const writers = 4
	cp := start(t, Config{})
	counters := client(t, cp, Admin).Resource(configMaps).Namespace("default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked, acknowledged [writers]atomic.Int64
	var writing sync.WaitGroup
	defer writing.Wait()
	for w := range writers {
		create(t, counters, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"n":"0"}}`, w))
		writing.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				asked[w].Store(n)
				_, err := counters.Patch(t.Context(), fmt.Sprintf("c%d", w), types.MergePatchType,
					fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{})
				if err != nil {
					t.Errorf("a write meets %v", err)
					return
				}
				acknowledged[w].Store(n)
			}
		})
	}
	progress := func(more int64) {
		t.Helper()
		for w := range writers {
			want := acknowledged[w].Load() + more
			eventually(t, func() error {
				if n := acknowledged[w].Load(); n < want {
					return fmt.Errorf("writer %d is at %d, want %d", w, n, want)
				}
				return nil
			})
		}
	}

	progress(20)
	var least, most [writers]int64
	for w := range writers {
		least[w] = acknowledged[w].Load()
	}
	snapshot := takeSnapshot(t, cp)
	for w := range writers {
		most[w] = asked[w].Load()
	}
	progress(20) // writes go on, without an error
	cancel()
	writing.Wait()

	restore(t, cp, snapshot)
	for w := range writers {
		text, _, _ := unstructured.NestedString(mustGet(t, counters, fmt.Sprintf("c%d", w)).Object, "data", "n")
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < least[w] || n > most[w] {
			t.Errorf("writer %d: the snapshot holds %q, want %d to %d", w, text, least[w], most[w])
		}
	}
}

func TestKilledEtcdComesBackWithItsData(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	trees := client(t, cp, Admin).Resource(configMaps).Namespace("default")
	create(t, trees, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tree"},"data":{"fruit":"apple"}}`)
	old := mustGet(t, trees, "tree")
	etcd := cp.etcd.current()

	cp.KillEtcd()
	if status, ok := etcd.cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }); !ok || status.Signal() != unix.SIGKILL {
		t.Errorf("etcd ended by %v, want a kill", etcd.err)
	}
	cp.KillEtcd() // does nothing
	if _, err := cp.Snapshot(); !errors.Is(err, errNotRunning) {
		t.Errorf("a snapshot without etcd: %v, want %v", err, errNotRunning)
	}
	if err := cp.StartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { _, err := get(t, trees, "tree"); return err })
	if tree := mustGet(t, trees, "tree"); tree.GetResourceVersion() != old.GetResourceVersion() {
		t.Errorf("tree is at %s, want %s", tree.GetResourceVersion(), old.GetResourceVersion())
	}
	wantApple(t, trees)
}

func TestFailedSnapshotLeavesEtcdRunningAndNoCopy(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	trees := client(t, cp, Admin).Resource(configMaps).Namespace("default")
	pipe := filepath.Join(cp.dataDir(), "member", "zzz") // after the files that can be copied
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cp.Snapshot(); err == nil || !strings.Contains(err.Error(), "copying etcd") {
		t.Errorf("a snapshot of what cannot be copied: %v", err)
	}
	create(t, trees, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tree"},"data":{"fruit":"apple"}}`)
	wantCopies(t, cp, 0)

	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	takeSnapshot(t, cp)
	wantCopies(t, cp, 1)
}

func TestFailedRestoreCanBeMended(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	trees := client(t, cp, Admin).Resource(configMaps).Namespace("default")
	create(t, trees, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"tree"},"data":{"fruit":"apple"}}`)
	good, broken, lost := takeSnapshot(t, cp), takeSnapshot(t, cp), takeSnapshot(t, cp)
	if err := os.Truncate(filepath.Join(broken.dir, "member", "snap", "db"), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(lost.dir); err != nil {
		t.Fatal(err)
	}

	patch(t, trees, "tree", `{"data":{"fruit":"pear"}}`)
	for _, test := range []struct {
		name     string
		snapshot Snapshot
		want     string
	}{
		{"no snapshot", Snapshot{}, "not taken of this control plane"},
		{"another's snapshot", Snapshot{of: &ControlPlane{}, dir: good.dir}, "not taken of this control plane"},
		{"a snapshot that is gone", lost, "copying data-"},
	} {
		if err := cp.Restore(t.Context(), test.snapshot); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if fruit := mustGet(t, trees, "tree"); fruit.Object["data"].(map[string]any)["fruit"] != "pear" {
			t.Errorf("%s changed the data", test.name)
		}
	}

	err := cp.Restore(t.Context(), broken)
	if err == nil || !strings.Contains(err.Error(), "etcd ended before it was ready") {
		t.Errorf("a broken snapshot: %v", err)
	}
	restore(t, cp, good)
	wantApple(t, trees)
	wantCopies(t, cp, 2)
}

func TestStopDuringRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	cp := start(t, Config{})
	snapshot := takeSnapshot(t, cp)
	apiServer := cp.apiServer.current()
	restored := make(chan error, 1)
	go func() { restored <- cp.Restore(t.Context(), snapshot) }()
	<-apiServer.done // it is under way
	if err := cp.Stop(); err != nil {
		t.Error(err)
	}
	if err := <-restored; err == nil {
		t.Error("a control plane that was stopped was restored")
	}
	for _, server := range []*server{cp.etcd, cp.apiServer} {
		if p := server.current(); !p.ended() {
			t.Errorf("%s (pid %d) is there after Stop", server.name(), p.pid())
		}
	}
	if _, err := os.Stat(cp.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Stop: %v", err)
	}
	if _, err := cp.Snapshot(); err == nil {
		t.Error("a snapshot of a stopped control plane was taken")
	}
	if err := cp.Restore(t.Context(), snapshot); err == nil {
		t.Error("a stopped control plane was restored")
	}
}

func takeSnapshot(t *testing.T, cp *ControlPlane) Snapshot {
	t.Helper()
	began := time.Now()
	snapshot, err := cp.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Snapshot took %s", time.Since(began).Round(time.Millisecond))
	return snapshot
}

func restore(t *testing.T, cp *ControlPlane, snapshot Snapshot) {
	t.Helper()
	began := time.Now()
	if err := cp.Restore(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	t.Logf("Restore took %s", time.Since(began).Round(time.Millisecond))
}

// wantCopies checks how many copies of etcd's data there are.
func wantCopies(t *testing.T, cp *ControlPlane, want int) {
	t.Helper()
	if copies, _ := filepath.Glob(cp.file("data-*")); len(copies) != want {
		t.Errorf("copies: %v, want %d", copies, want)
	}
}

// wantEnd waits until the watch ends. It may carry events before.
func wantEnd(t *testing.T, watching watch.Interface) {
	t.Helper()
	defer watching.Stop()
	limit := time.After(30 * time.Second)
	for {
		select {
		case _, open := <-watching.ResultChan():
			if !open {
				return
			}
		case <-limit:
			t.Fatal("a watch outlives the API server that it was opened at")
		}
	}
}

func mustGet(t *testing.T, resource dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := get(t, resource, name)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func patch(t *testing.T, resource dynamic.ResourceInterface, name, merge string) {
	t.Helper()
	if _, err := resource.Patch(t.Context(), name, types.MergePatchType, []byte(merge), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// listVersion is the resourceVersion of a list.
func listVersion(t *testing.T, resource dynamic.ResourceInterface) uint64 {
	t.Helper()
	list, err := resource.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return version(t, list.GetResourceVersion())
}

func version(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
