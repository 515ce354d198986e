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

func TestEnvironmentNamesTheAssets(t *testing.T) {
	dir := fakeAssets(t, "true")
	t.Setenv(AssetsEnv, dir)
	if got, err := Assets(t.Context(), t.Output()); err != nil || got != dir {
		t.Errorf("got %q, %v", got, err)
	}
	if got, ok := Find(); !ok || got != dir {
		t.Errorf("Find: %q, %v", got, ok)
	}

	if err := os.Remove(filepath.Join(dir, "etcd")); err != nil {
		t.Fatal(err)
	}
	_, err := Assets(t.Context(), t.Output())
	if err == nil || !strings.Contains(err.Error(), AssetsEnv) || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("error %v names neither the variable nor the file", err)
	}
	if _, ok := Find(); ok {
		t.Error("Find found half a folder")
	}
}

func TestNothingBuiltIsAnErrorThatSaysWhatToRun(t *testing.T) {
	t.Setenv(AssetsEnv, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // Linux
	t.Setenv("HOME", t.TempDir())           // macOS
	if _, err := Start(t.Context(), Config{}); !errors.Is(err, ErrNoAssets) {
		t.Errorf("got %v, want %v", err, ErrNoAssets)
	}
}

func TestModuleRootPassesNestedModulesBy(t *testing.T) {
	want, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(want, assetsModule))
	if got, err := moduleRoot(); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	t.Chdir(t.TempDir())
	if got, err := moduleRoot(); err == nil {
		t.Errorf("got %q outside of the checkout", got)
	}
}

func TestSecondBuilderWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, "etcd", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var progress bytes.Buffer
	if _, err := lock(canceled, path, "etcd", &progress); !errors.Is(err, context.Canceled) {
		t.Errorf("the second got %v", err)
	}
	if !strings.Contains(progress.String(), "waiting") {
		t.Errorf("the second said %q", &progress)
	}
	unlock()
	unlock, err = lock(t.Context(), path, "etcd", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
