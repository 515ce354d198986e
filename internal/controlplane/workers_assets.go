package controlplane

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The programs that make Pods live. They are built for benchmarks alone, so that
// tests need not wait for them.
var (
	kubernetesWorkerTools = &toolset{
		programs: "kube-controller-manager and kube-scheduler",
		estimate: "about two minutes",
		module:   "deploy/local/workers/kubernetes",
		folder:   "workers",
		binaries: []string{"kube-controller-manager", "kube-scheduler"},
		stamped:  true,
	}
	kwokTools = &toolset{
		programs: "kwok",
		estimate: "about a minute",
		module:   "deploy/local/workers/kwok",
		folder:   "kwok",
		binaries: []string{"kwok", stagesFolder},
		finish:   copyStages,
	}
)

// stagesFolder holds kwok's stages, which say how Nodes and Pods change. They come
// from its module, beside the binary.
const stagesFolder = "stages"

// Workers are the folders that hold the programs that make Pods live.
type Workers struct {
	kubernetes, kwok string
}

// WorkerAssets finds kube-controller-manager, kube-scheduler and kwok in the user's
// cache and builds them if need be, which takes some three minutes on two cores. It
// is to them what Assets is to kube-apiserver and etcd, but for KUBEBUILDER_ASSETS.
func WorkerAssets(ctx context.Context, progress io.Writer) (w Workers, err error) {
	if w.kubernetes, err = kubernetesWorkerTools.ensure(ctx, progress); err != nil {
		return Workers{}, err
	}
	if w.kwok, err = kwokTools.ensure(ctx, progress); err != nil {
		return Workers{}, err
	}
	return w, nil
}

// copyStages puts kwok's stages beside the binary.
func copyStages(ctx context.Context, tool goCommand, out string) error {
	module, err := tool.run(ctx, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	from := filepath.Join(strings.TrimSpace(module), "kustomize", "stage")
	return os.CopyFS(filepath.Join(out, stagesFolder), os.DirFS(from))
}

// stages are the files that kwok is given. Pods become ready at once. Nodes report
// their status every 20 to 45 seconds.
func (w Workers) stages() []string {
	var paths []string
	for _, name := range []string{
		"node/fast/node-initialize.yaml",
		"node/heartbeat/node-heartbeat.yaml",
		"pod/fast/pod-ready.yaml",
		"pod/fast/pod-complete.yaml",
		"pod/fast/pod-delete.yaml",
	} {
		paths = append(paths, filepath.Join(w.kwok, stagesFolder, filepath.FromSlash(name)))
	}
	return paths
}
