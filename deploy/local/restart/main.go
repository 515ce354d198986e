// Command restart measures what it costs subscribers that a replica restarts: the bytes of
// coming back to another one, or to the one that was just started, in both directions,
// beside those of a snapshot.
//
// It runs a real API server with many objects, and Runnel servers one after the other, all
// on loopback. Subscribers are clients of the SDK, each with a connection of its own, that
// keep the version of each object and verify each digest. Start reading at measure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/runnel-dev/runnel/internal/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "restart:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	objects, size, subscribers, changed int
	timeout                             time.Duration
}

func newCommand() *cobra.Command {
	o := options{
		objects:     10_000,
		size:        1000, // with the metadata, an object is then of 1.3 KB
		subscribers: 1000,
		changed:     100,              // one in a hundred of the objects
		timeout:     15 * time.Minute, // a run takes three; what hangs shall end
	}
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "Measure the bytes of coming back after a restart against those of a snapshot",
		Long: `Measure how many bytes each subscriber sends and receives when it comes back after
a replica was restarted, beside those of its snapshot: where nothing changed, and where
some objects did; to the restarted replica, which knows no past, and to another one.

The API server and etcd are real. Everything is on loopback, with ports and data of its
own, and leaves nothing behind. The subscribers' memory is the limit: 0.5 MB for each, of
10,000 objects.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.objects < 1 || o.subscribers < 1 || o.changed < 0 || o.changed > o.objects {
				return errors.New("--objects and --subscribers must be at least 1, and --changed not more than --objects")
			}
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&o.objects, "objects", o.objects, "how many objects")
	cmd.Flags().IntVar(&o.size, "size", o.size, "how many bytes each holds, beside its metadata")
	cmd.Flags().IntVar(&o.subscribers, "subscribers", o.subscribers, "how many subscribers")
	cmd.Flags().IntVar(&o.changed, "changed", o.changed, "how many objects change while the subscribers are away")
	cmd.Flags().DurationVar(&o.timeout, "timeout", o.timeout, "when to give up; the time of the first build does not count")
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go's view of servers that stop
	assets, err := controlplane.Assets(ctx, progress)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done after %s: see --timeout", o.timeout))
	defer cancel()
	cp, err := controlplane.Start(ctx, controlplane.Config{Assets: assets})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	m := &measurement{options: o, rest: cp.RESTConfig(controlplane.Admin), progress: progress}
	if err := m.measure(ctx); err != nil {
		return err
	}
	return m.print(out)
}
