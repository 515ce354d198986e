package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// AssetsEnv is the environment variable that names a folder with kube-apiserver
// and etcd. It is the one that controller-runtime's envtest reads.
const AssetsEnv = "KUBEBUILDER_ASSETS"

const (
	mainModule   = "github.com/runnel-dev/runnel"
	assetsModule = "deploy/local/assets" // the nested module, below the root of the main one
)

// assetTools are what every control plane needs.
var assetTools = &toolset{
	programs: "kube-apiserver and etcd",
	estimate: "about five minutes",
	module:   assetsModule,
	folder:   "controlplane",
	binaries: []string{"kube-apiserver", "etcd"},
	stamped:  true,
	instead:  " (or set " + AssetsEnv + " to a folder that holds them)",
	finish: func(_ context.Context, _ goCommand, out string) error {
		// Go names a binary after its folder, and etcd's is called server.
		return os.Rename(filepath.Join(out, "server"), filepath.Join(out, "etcd"))
	},
}

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
	return assetTools.ensure(ctx, progress)
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
	dir, err := assetTools.dir()
	if err != nil {
		return "", err
	}
	if missing(dir) != nil {
		return "", ErrNoAssets
	}
	return dir, nil
}

// missing returns an error if the folder lacks one of the binaries.
func missing(dir string) error { return assetTools.missing(dir) }

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
