package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runnel runs a command line.
func runnel(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestMistakesEndInOneLine(t *testing.T) {
	code, stdout, stderr := runnel("watch", "pods", "--no-such-flag")
	if code != 1 || stdout != "" || stderr != "runnel: unknown flag: --no-such-flag\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestShellsComplete(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // the offers
	}{
		{[]string{"watch", "po"}, "podcertificaterequests poddisruptionbudgets pods podtemplates"},
		{[]string{"watch", "ns,nod"}, "ns,nodes"},
		{[]string{"watch", "pods,po"}, "pods,podcertificaterequests pods,poddisruptionbudgets pods,podtemplates"},
		{[]string{"watch", "pods", "a"}, ""},
		{[]string{"watch", "pods", "--projection", ""}, "whole metadata"},
		{[]string{"watch", "pods", "-o", ""}, "wide name json jsonpath= custom-columns="},
	} {
		_, stdout, _ := runnel(append([]string{"__complete"}, tt.args...)...)
		offers, _, _ := strings.Cut(stdout, ":")
		if got := strings.Join(strings.Fields(offers), " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
	if code, stdout, _ := runnel("completion", "bash"); code != 0 || !strings.Contains(stdout, "__complete") {
		t.Errorf("completion bash: exit code %d", code)
	}
}
