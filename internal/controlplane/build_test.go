package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildErrors(t *testing.T) {
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module empty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := assetTools.build(t.Context(), module, filepath.Join(module, "out"), t.Output())
	if err == nil || !strings.Contains(err.Error(), "k8s.io/kubernetes") {
		t.Errorf("error %v does not quote the go command", err)
	}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := assetTools.build(canceled, module, filepath.Join(module, "out"), t.Output()); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled build: %v", err)
	}

	t.Setenv("PATH", "")
	if err := assetTools.build(t.Context(), module, filepath.Join(module, "out"), t.Output()); err == nil || !strings.Contains(err.Error(), "takes Go") {
		t.Errorf("error without Go: %v", err)
	}
}

func TestReporterCountsAcrossPartialLines(t *testing.T) {
	var out bytes.Buffer
	r := &reporter{out: &out, tools: assetTools}
	for _, part := range []string{
		"go: downloading k8s.io/api v0.37.2\ngo: down", "loading go.etcd.io/bbolt v1.4.3\n",
		"internal/cpu\nk8s.io/a", "pi/core/v1\n# k8s.io/api/core/v1\n", "types.go:1:2: undefined: x\n",
	} {
		if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if r.modules != 2 || r.packages != 2 {
		t.Errorf("%d modules and %d packages, want 2 and 2", r.modules, r.packages)
	}
	if want := "# k8s.io/api/core/v1\ntypes.go:1:2: undefined: x"; r.complaints() != want {
		t.Errorf("complaints %q", r.complaints())
	}
	r.expect(1450)
	r.report()
	if !strings.Contains(out.String(), "2/1450 packages") {
		t.Errorf("report %q", &out)
	}
}

func TestStamp(t *testing.T) {
	const want = "-X k8s.io/component-base/version.gitVersion=v1.37.2" +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
	if got := stamp("v1.37.2"); got != want {
		t.Errorf("got %q", got)
	}
}
