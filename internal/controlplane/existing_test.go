package controlplane

import (
	"path/filepath"
	"testing"
)

func TestExistingClusterIsUsedAsItIs(t *testing.T) {
	cp := &ControlPlane{tokens: map[string]string{Admin: "secret"}, apiPort: &port{number: 6443}}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cp.WriteKubeconfig(path, Admin); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)

	cluster, err := StartOrExisting(t.Context(), t.Output(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if cluster.ControlPlane != nil {
		t.Error("a control plane was started")
	}
	if got := cluster.RESTConfig().Host; got != cp.URL() {
		t.Errorf("host %q, want %q", got, cp.URL())
	}
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}

	t.Setenv("KUBECONFIG", path+"-of-nobody")
	if _, err := StartOrExisting(t.Context(), t.Output(), Config{}); err == nil {
		t.Error("a KUBECONFIG that is not there was used")
	}
}
