// Command faults proves that the model tests are worth something: it plants known
// faults in the engine, one by one, and demands that a test fails for each.
//
// A fault is one snippet of one file, replaced at compile time through go's
// -overlay; the checkout is not touched. A snippet that does not occur exactly once
// means that the engine has moved on and that the fault must be written anew. Run
// it with
//
//	make faults
//
// or, for those whose name holds a text, with
//
//	go run ./internal/faults digest
//
// Start reading at faults.go, the table.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, like string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "runnel-faults")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	missed := 0
	for _, f := range faults {
		if !strings.Contains(f.name, like) {
			continue
		}
		found, err := f.plant(ctx, root, dir)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", f.name, err)
		case found.contract == "":
			missed++
			_, _ = fmt.Fprintf(out, "MISSED\t%s\t\n", f.name)
		default:
			_, _ = fmt.Fprintf(out, "%s\t%s\tafter %s histories\n", found.contract, f.name, found.after)
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d faults went unnoticed", missed, len(faults))
	}
	return nil
}

// moduleRoot is the folder of the go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}
