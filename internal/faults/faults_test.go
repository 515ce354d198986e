package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Planting every fault takes minutes and is `make faults`; that each can be planted
// is checked with every change of the engine.
func TestNoFaultIsStale(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if _, err := f.apply(root); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

func TestSnippetThatDoesNotOccurOnceIsStale(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f.go"), []byte("once twice twice"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, stale := range map[string]bool{"once": false, "twice": true, "never": true} {
		if _, err := (fault{file: "f.go", old: old}).apply(root); errors.Is(err, errStale) != stale {
			t.Errorf("%s: %v", old, err)
		}
	}
}
