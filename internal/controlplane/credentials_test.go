package controlplane

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfigSaysWhatRESTConfigSays(t *testing.T) {
	const odd = `system:serviceaccount:"ns": {name}` // YAML must not see through it
	cp := &ControlPlane{
		ca:      []byte("certificate"),
		tokens:  map[string]string{odd: "secret"},
		apiPort: &port{number: 6443},
	}
	want := cp.RESTConfig(odd)
	got, err := clientcmd.RESTConfigFromKubeConfig(cp.Kubeconfig(odd))
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != want.Host || got.BearerToken != want.BearerToken || string(got.CAData) != string(want.CAData) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnknownUserPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a typing mistake became an anonymous user")
		}
	}()
	(&ControlPlane{apiPort: &port{}}).RESTConfig("alcie")
}
