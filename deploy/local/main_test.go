package main

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/runnel-dev/runnel/internal/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunTellsHowToUseItAndLeavesNothing(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	if _, ok := controlplane.Find(); !ok {
		t.Fatal(controlplane.ErrNoAssets) // running it would build for minutes
	}
	out := run(t, "--user=alice=developers", "--for=1ns")

	paths := regexp.MustCompile(`export KUBECONFIG=(.+)\n(?s:.*)alice +(.+)\n`).FindStringSubmatch(out)
	if paths == nil {
		t.Fatalf("it does not say how to use it:\n%s", out)
	}
	for _, path := range paths[1:] {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after the end: %v", path, err)
		}
	}
}

func TestExistingClusterStartsNothing(t *testing.T) {
	kubeconfig := t.TempDir() + "/kubeconfig"
	err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":"https://cluster.example:6443"}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u"}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	out := run(t)
	for _, want := range []string{kubeconfig, "https://cluster.example:6443", "Nothing was started"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

func TestParseUsers(t *testing.T) {
	got := parseUsers([]string{"alice=developers,oncall", "bob", "carol="})
	want := map[string][]string{"alice": {"developers", "oncall"}, "bob": {}, "carol": {}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// run runs the command and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
