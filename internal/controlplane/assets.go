package controlplane

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// AssetsEnv is the environment variable that names a folder with kube-apiserver
// and etcd. It is the one that controller-runtime's envtest reads.
const AssetsEnv = "KUBEBUILDER_ASSETS"

const (
	mainModule   = "github.com/runnel-dev/runnel"
	assetsModule = "deploy/local/assets" // the nested module, below the root of the main one
)

// ErrNoAssets says that there is no kube-apiserver and etcd to run.
var ErrNoAssets = errors.New("kube-apiserver and etcd are not built: run `make assets`")

// Find returns the folder that holds kube-apiserver and etcd, and whether there
// is one. It builds nothing, and takes no longer than reading a few small files.
func Find() (dir string, ok bool) {
	dir, err := locate()
	return dir, err == nil
}

// Assets returns the folder that holds kube-apiserver and etcd and builds them
// if need be. The folder that KUBEBUILDER_ASSETS names wins; else it is one in
// the user's cache, which changes with the versions in the nested module.
//
// A build takes some five minutes on two cores, during which lines about its
// progress go to progress. Callers in several processes build once: the others
// wait for the first.
func Assets(ctx context.Context, progress io.Writer) (dir string, err error) {
	dir, err = locate()
	if !errors.Is(err, ErrNoAssets) {
		return dir, err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err = cacheDir(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock", progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if missing(dir) == nil { // someone else built them while we waited
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
	if err := build(ctx, filepath.Join(root, assetsModule), partial, progress); err != nil {
		return "", err
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// locate returns the folder with the binaries, or ErrNoAssets if they may be
// built, or why the environment's folder will not do.
func locate() (string, error) {
	if dir := os.Getenv(AssetsEnv); dir != "" {
		if err := missing(dir); err != nil {
			return "", fmt.Errorf("%s: %w", AssetsEnv, err)
		}
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(root)
	if err != nil {
		return "", err
	}
	if missing(dir) != nil {
		return "", ErrNoAssets
	}
	return dir, nil
}

// missing returns an error if the folder lacks one of the binaries.
func missing(dir string) error {
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// cacheDir names the folder for what the nested module builds now, so that a
// newer version never meets an older binary.
func cacheDir(root string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, assetsModule, name))
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
	return filepath.Join(cache, "runnel", "controlplane-"+key), nil
}

// moduleRoot walks up from the working directory to the main module. It passes
// nested modules by.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		switch is, err := declaresMain(filepath.Join(dir, "go.mod")); {
		case err != nil:
			return "", err
		case is:
			return dir, nil
		case dir == filepath.Dir(dir):
			return "", fmt.Errorf("%s is not inside a checkout of %s: go there, or set %s", start, mainModule, AssetsEnv)
		}
	}
}

// declaresMain tells whether the file exists and is the main module's go.mod.
func declaresMain(goMod string) (bool, error) {
	file, err := os.Open(goMod)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if slices.Equal(strings.Fields(lines.Text()), []string{"module", mainModule}) {
			return true, nil
		}
	}
	return false, nil
}

// lock takes the lock file, which the kernel frees when its holder ends, however
// that comes about.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
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
			fmt.Fprintln(progress, "another process is building kube-apiserver and etcd: waiting for it")
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
