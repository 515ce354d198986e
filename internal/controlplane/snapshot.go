package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Snapshot is a copy of etcd's data as it was at one moment. It may be restored
// any number of times, to the control plane that it was taken of. The zero value
// is of none.
type Snapshot struct {
	of  *ControlPlane
	dir string
}

// Snapshot copies etcd's data while the control plane runs, as a snapshot of its
// volume would: etcd is frozen, its folder copied, and etcd thawed. The copy is
// what a crash at that moment would have left; it holds every write that was
// acknowledged before the call and some of those in flight.
//
// Clients see nothing but requests that take as long as the copy does, a fraction
// of a second. Until then Snapshot blocks, as does whoever stops or kills etcd.
// It is an error if etcd is not running or the folder cannot be copied; etcd runs
// on then, and nothing is left of the copy.
//
// A copy takes some 130 MB on disk, which etcd's log has from the start, and as
// much more as the objects do. Stop removes it.
func (cp *ControlPlane) Snapshot() (Snapshot, error) {
	cp.copying.Lock()
	defer cp.copying.Unlock()
	thaw, err := cp.etcd.freeze()
	if err != nil {
		return Snapshot{}, fmt.Errorf("taking a snapshot: %w", err)
	}
	defer thaw()
	dir, err := cp.copyData(cp.dataDir())
	if err != nil {
		return Snapshot{}, fmt.Errorf("taking a snapshot: %w", err)
	}
	return Snapshot{of: cp, dir: dir}, nil
}

// Restore puts etcd's data back to what it was when the snapshot was taken, and
// with it every object and the resourceVersion, from which new writes count up
// again: history is rewritten. It goes about it as Kubernetes tells operators to:
// it stops kube-apiserver, kills etcd, replaces its data, starts both, and returns
// when they serve. It does not matter whether they ran before.
//
// Kube-apiserver writes, too: a few times in its start, and then every few
// seconds. So a resourceVersion is lower after Restore than before only if more
// than that was written since the snapshot; a hundred writes are.
//
// Clients see what StopAPIServer and StartAPIServer show them: watches end,
// connections are refused for a few seconds, and then the same address, keys and
// tokens work again. Nothing tells them that the data is older.
//
// The context bounds the starts. If the snapshot cannot be read, the error comes
// before anything is stopped. After an error of a later step one server or both
// may be down; another Restore may mend that, and Stop works as ever. Restore
// fails, too, if someone else starts a server meanwhile.
func (cp *ControlPlane) Restore(ctx context.Context, s Snapshot) error {
	if s.of != cp {
		return errors.New("restoring a snapshot: it was not taken of this control plane")
	}
	cp.copying.Lock()
	defer cp.copying.Unlock()
	if err := cp.restore(ctx, s.dir); err != nil {
		return fmt.Errorf("restoring a snapshot: %w", err)
	}
	return nil
}

func (cp *ControlPlane) restore(ctx context.Context, snapshot string) error {
	data, err := cp.copyData(snapshot) // etcd will write to it, and the snapshot stays as it is
	if err != nil {
		return err
	}
	cp.apiServer.stop()
	cp.etcd.kill()
	if err := replace(cp.dataDir(), data); err != nil {
		return errors.Join(err, os.RemoveAll(data))
	}
	if err := cp.etcd.start(ctx); err != nil {
		return err
	}
	return cp.apiServer.start(ctx)
}

// dataDir is the folder of all that etcd knows.
func (cp *ControlPlane) dataDir() string { return cp.file("etcd") }

// copyData copies a folder of etcd's data to a new one, or leaves none. No process
// may write to it meanwhile.
func (cp *ControlPlane) copyData(from string) (string, error) {
	to, err := os.MkdirTemp(cp.dir, "data-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", errors.Join(fmt.Errorf("copying %s: %w", filepath.Base(from), err), os.RemoveAll(to))
	}
	return to, nil
}

// replace puts the folder source in target's place.
func replace(target, source string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.Rename(source, target)
}
