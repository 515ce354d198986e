// Command churn measures, under real Pod churn, the bytes that subscribers receive
// in each way to subscribe: whole objects, merge patches, parts of objects; and by
// watching the API server directly.
//
// It runs a control plane with controllers, scheduler and simulated Nodes
// (internal/controlplane), a Runnel server (server) and one subscriber for each way,
// all on loopback and all at the same time, so that they see the same changes. Then
// it rolls and scales Deployments, for a given number of rounds. Each subscriber
// keeps a copy (client.Replica) that is verified against the server's digests.
//
// Start reading at measure; workload.go is what changes, ways.go what is compared.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/runnel-dev/runnel/internal/controlplane"
	"github.com/runnel-dev/runnel/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "churn:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	nodes, deployments, pods, rounds int
	timeout                          time.Duration
}

func newCommand() *cobra.Command {
	o := options{
		nodes:       5,
		deployments: 5,
		pods:        50,
		rounds:      3,
		timeout:     10 * time.Minute, // a run takes one or two; what hangs shall end
	}
	cmd := &cobra.Command{
		Use:   "churn",
		Short: "Measure the bytes of merge patches against whole objects",
		Long: `Measure the bytes that a subscriber receives as merge patches, as whole objects and
in other ways, while Deployments are rolled and scaled.

Everything is real but the kubelets, which kwok plays: kube-apiserver, etcd,
kube-controller-manager and kube-scheduler run on loopback, with ports and data of
their own, and leave nothing behind. The first run builds them, which takes about
eight minutes; three of them if ` + "`make assets`" + ` has run before.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&o.nodes, "nodes", o.nodes, "how many nodes")
	cmd.Flags().IntVar(&o.deployments, "deployments", o.deployments, "how many Deployments")
	cmd.Flags().IntVar(&o.pods, "pods", o.pods, "how many Pods in all, divided among the Deployments")
	cmd.Flags().IntVar(&o.rounds, "rounds", o.rounds, "how often everything is rolled out anew, and a part scaled up and down")
	cmd.Flags().DurationVar(&o.timeout, "timeout", o.timeout, "when to give up; the time of the first build does not count")
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// podsPerNode is what a Node takes, less what rolling and scaling need.
const podsPerNode = 60

func (o options) validate() error {
	switch {
	case o.nodes < 1 || o.deployments < 1 || o.rounds < 1:
		return errors.New("--nodes, --deployments and --rounds must be at least 1")
	case o.pods < o.deployments:
		return fmt.Errorf("--pods=%d is less than one for each of %d Deployments", o.pods, o.deployments)
	case o.pods > o.nodes*podsPerNode:
		return fmt.Errorf("--pods=%d is more than %d nodes take: set --nodes to %d", o.pods, o.nodes, (o.pods+podsPerNode-1)/podsPerNode)
	}
	return nil
}

func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go's view of servers that stop
	assets, err := controlplane.Assets(ctx, progress)
	if err != nil {
		return err
	}
	workers, err := controlplane.WorkerAssets(ctx, progress)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done after %s: see --timeout", o.timeout))
	defer cancel()

	fmt.Fprintf(progress, "starting an API server, controllers and %d nodes\n", o.nodes)
	cp, err := controlplane.Start(ctx, controlplane.Config{Assets: assets})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	if err := cp.StartWorkers(ctx, workers, o.nodes); err != nil {
		return err
	}
	work, err := newWorkload(ctx, cp.RESTConfig(controlplane.Admin), o)
	if err != nil {
		return err
	}
	defer work.close()
	fmt.Fprintf(progress, "starting %d pods\n", o.pods)
	if err := work.prepare(ctx); err != nil {
		return err
	}
	return serveAndMeasure(ctx, cp.RESTConfig(controlplane.Admin), work, out, progress)
}

// serveAndMeasure runs a Runnel server for as long as the measurement takes.
func serveAndMeasure(ctx context.Context, restConfig *rest.Config, work *workload, out, progress io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := server.New(server.Config{
		Listener: listener,
		REST:     restConfig,
		Insecure: true, // the bytes of TLS are no matter of Runnel
		Log:      slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Drain:    2 * time.Second,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(ctx)
	group.Go(func() error { return s.Run(serving) })
	group.Go(func() error {
		defer stop()
		r, err := measure(ctx, listener.Addr().String(), restConfig, work, progress)
		if err != nil {
			return err
		}
		return r.print(out)
	})
	return group.Wait()
}
