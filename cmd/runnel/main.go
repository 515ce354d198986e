// Command runnel is Runnel's one binary: the server and the tools for those who
// look at it. Each command is a file of its own, beginning at its new…Command, or a
// package of its own, beginning at its NewCommand.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/watch"
)

func main() {
	// Writing into a closed pipe becomes an error, which commands take for the end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line and returns the exit code: 0, or 1 after one line
// on stderr that says why.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "runnel: %s\n", printer.OneLine(err.Error()))
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "runnel",
		Short: "One watch in, thousands of streams out",
		Long: `Runnel holds one watch per Kubernetes resource and streams filtered, deduplicated
changes of the objects to any number of subscribers.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newServeCommand(),
		watch.NewCommand(),
	)
	return root
}
