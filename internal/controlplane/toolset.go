package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// toolset is some programs that one nested module pins, built into a folder of
// the user's cache. It is not changed after it was made.
type toolset struct {
	programs string // what they are, for people
	estimate string // how long the build takes on two cores, for people
	module   string // the nested module's folder, below the root of the main one
	folder   string // how the name of the folder in the cache begins
	binaries []string
	// stamped says that they are Kubernetes' and get its version stamped in.
	stamped bool
	// instead tells people without Go what else they can do.
	instead string
	// finish completes the folder after the build; it may be nil.
	finish func(ctx context.Context, tool goCommand, out string) error
}

// ensure returns the folder with the programs and builds them if need be, with
// lines about that on progress. Callers in several processes build once: the
// others wait for the first.
func (t *toolset) ensure(ctx context.Context, progress io.Writer) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := t.dirBelow(root)
	if err != nil {
		return "", err
	}
	if t.missing(dir) == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock", t.programs, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if t.missing(dir) == nil { // someone else built them while we waited
		return dir, nil
	}

	// Nobody ever sees half a folder: the build goes beside it, and the name is
	// the last thing that a finished build gets. Leftovers are of builds that
	// were killed, for the lock is ours.
	partial := dir + ".partial"
	for _, leftover := range []string{partial, dir} {
		if err := os.RemoveAll(leftover); err != nil {
			return "", err
		}
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := t.build(ctx, filepath.Join(root, t.module), partial, progress); err != nil {
		return "", err
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// dir names the folder in the cache, whether or not it is there.
func (t *toolset) dir() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return t.dirBelow(root)
}

// dirBelow names the folder for what the nested module builds now, so that a
// newer version never meets an older binary.
func (t *toolset) dirBelow(root string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, t.module, name))
		if err != nil {
			return "", err
		}
		sum.Write(content)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key := hex.EncodeToString(sum.Sum(nil))[:12]
	return filepath.Join(cache, "runnel", t.folder+"-"+key), nil
}

// missing returns an error if the folder lacks one of the binaries.
func (t *toolset) missing(dir string) error {
	for _, name := range t.binaries {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// lock takes the lock file, which the kernel frees when its holder ends, however
// that comes about.
func lock(ctx context.Context, path, programs string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for waited := false; ; waited = true {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return func() { file.Close() }, nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR:
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !waited {
			fmt.Fprintf(progress, "another process is building %s: waiting for it\n", programs)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// lockPoll is how often a waiting builder looks again: flock itself would wait
// without heeding the context, and minutes are at stake, not milliseconds.
const lockPoll = 500 * time.Millisecond
