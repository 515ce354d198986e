package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is an API server to work with: the one that the environment names, or
// a control plane that was started because it names none.
type Cluster struct {
	// ControlPlane is nil if the cluster was there before.
	ControlPlane *ControlPlane
	// Kubeconfig is what the variable KUBECONFIG is, or is to be: a path, or a
	// list of them.
	Kubeconfig string

	config *rest.Config
}

// StartOrExisting uses the cluster that KUBECONFIG names if that is set, as it
// is, starting nothing. Otherwise it starts a control plane, after building its
// binaries if there are none, with lines about that on progress.
func StartOrExisting(ctx context.Context, progress io.Writer, config Config) (*Cluster, error) {
	if kubeconfig := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); kubeconfig != "" {
		return existing(kubeconfig)
	}
	if config.Assets == "" {
		assets, err := Assets(ctx, progress)
		if err != nil {
			return nil, err
		}
		config.Assets = assets
	}
	cp, err := Start(ctx, config)
	if err != nil {
		return nil, err
	}
	kubeconfig := cp.file("kubeconfig")
	if err := cp.WriteKubeconfig(kubeconfig, Admin); err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	return &Cluster{ControlPlane: cp, Kubeconfig: kubeconfig, config: cp.RESTConfig(Admin)}, nil
}

func existing(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG=%s: %w", kubeconfig, err)
	}
	return &Cluster{Kubeconfig: kubeconfig, config: config}, nil
}

// RESTConfig returns a new configuration for clients: of Admin, or of the
// existing cluster's current context.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Stop stops what was started, and does nothing to an existing cluster.
func (c *Cluster) Stop() error {
	if c.ControlPlane == nil {
		return nil
	}
	return c.ControlPlane.Stop()
}
