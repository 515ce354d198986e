package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// errStale says that the engine no longer holds what a fault replaces.
var errStale = errors.New("fault is stale")

// fault is one planted error.
type fault struct {
	name string
	// file is relative to the module's root; old occurs exactly once in it.
	file, old, new string
	// pkg is where the model test is that must notice.
	pkg string
}

// finding is how the model test failed. It is empty if it did not.
type finding struct {
	// contract is the number of the broken contract, such as "D4".
	contract string
	// after is the number of histories that were needed.
	after string
}

var (
	// A view's slots are in the order of a map to begin with, so that a failure need
	// not come again when rapid looks at it once more; it is one all the same.
	broken = regexp.MustCompile(`(?:failed after \d+ tests: |Original traceback \()(D\d+):`)
	after  = regexp.MustCompile(`failed after (\d+) tests`)
	draws  = regexp.MustCompile(`(?m)^.*\[rapid\] draw.*\n`)
)

// plant runs the model test with the fault. Everything it writes is below dir.
func (f fault) plant(ctx context.Context, root, dir string) (finding, error) {
	overlay, err := f.overlay(root, dir)
	if err != nil {
		return finding{}, err
	}
	// Short: without the tally, which is about histories and not about faults.
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count=1", "-short", "-run", "^TestModel$",
		f.pkg, "-rapid.checks=20000", "-rapid.seed=1", "-rapid.shrinktime=0s", "-rapid.nofailfile")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil {
		return finding{}, nil
	}
	m := broken.FindSubmatch(out)
	if m == nil {
		return finding{}, fmt.Errorf("failed otherwise than by a contract: %w\n%s", err, draws.ReplaceAll(out, nil))
	}
	found := finding{contract: string(m[1]), after: "some"}
	if m := after.FindSubmatch(out); m != nil {
		found.after = string(m[1])
	}
	return found, nil
}

// overlay writes the faulty file and the description that go build wants.
func (f fault) overlay(root, dir string) (string, error) {
	faulty, err := f.apply(root)
	if err != nil {
		return "", err
	}
	file, overlay := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, faulty, 0o600); err != nil {
		return "", err
	}
	description, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, filepath.FromSlash(f.file)): file},
	})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, description, 0o600)
}

// apply returns the content of the file with the fault in it.
func (f fault) apply(root string) ([]byte, error) {
	good, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.file)))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(good), f.old); n != 1 {
		return nil, fmt.Errorf("%w: the snippet occurs %d times in %s", errStale, n, f.file)
	}
	return []byte(strings.Replace(string(good), f.old, f.new, 1)), nil
}
