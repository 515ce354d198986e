// Command demo shows Runnel's main job on this machine: it starts a real API
// server and a Runnel server, changes a few Pods and custom resources, and prints
// what a subscriber is told.
//
// Start reading at show; workload.go is what changes, print.go what is printed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
	"github.com/runnel-dev/runnel/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var runTime time.Duration
	var listen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a stream of a small changing workload",
		Long: `Show what a Runnel subscriber is told while Pods and custom resources change.

A real API server is started for it, or the cluster of $KUBECONFIG is used where
that is set: then everything happens in namespace ` + namespace + `, which is removed at
the end. It runs until Ctrl-C, or for the time of --for.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), listen, runTime)
		},
	}
	cmd.Flags().DurationVar(&runTime, "for", 0, "stop after showing the stream for this time, such as 20s; 0 runs until Ctrl-C")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of the Runnel server; port 0 takes a free one")
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

func run(ctx context.Context, listen string, runTime time.Duration) (err error) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // client-go's view of a server that stops
	fmt.Println("starting an API server …")
	cluster, err := controlplane.StartOrExisting(ctx, os.Stderr, controlplane.Config{})
	if err != nil {
		return quiet(ctx, err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()

	work, err := newWorkload(cluster.RESTConfig())
	if err != nil {
		return err
	}
	if err := work.prepare(ctx); err != nil {
		return quiet(ctx, err)
	}
	defer work.cleanUp()

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	return quiet(ctx, serveAndShow(ctx, listener, cluster.RESTConfig(), work, runTime))
}

// serveAndShow runs the server, a subscriber and the workload until the time is
// over.
func serveAndShow(ctx context.Context, listener net.Listener, restConfig *rest.Config, work *workload, runTime time.Duration) error {
	if runTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, runTime)
		defer cancel()
	}
	s, err := server.New(server.Config{
		Listener: listener,
		REST:     restConfig,
		Insecure: true,
		Log:      slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Drain:    2 * time.Second,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	address := listener.Addr().String()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Run(ctx) })
	group.Go(func() error { return show(ctx, address, work) })
	return group.Wait()
}

// show subscribes, prints the stream, and keeps the workload changing once the
// snapshot is there.
func show(ctx context.Context, address string, work *workload) error {
	c, err := client.New(address, client.WithInsecure(), client.WithoutProxy())
	if err != nil {
		return err
	}
	defer c.Close()
	request := &runnelv1.SubscribeRequest{
		Resources: []*runnelv1.ResourceSubscription{
			{Resource: "pods", Namespaces: []string{namespace}, LabelSelector: "app=web"},
			{Resource: "pods", Namespaces: []string{namespace}, FieldSelector: "status.phase=Running"},
			{Group: widgets.Group, Resource: widgets.Resource, Namespaces: []string{namespace}},
		},
		Delta: runnelv1.DeltaMode_DELTA_MODE_PATCH,
	}
	explain(address, request)
	synced := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		printer := printer{names: []string{"pods app=web", "pods Running", "widgets"}}
		return c.Subscribe(ctx, request, client.Handler{Frame: func(frame *runnelv1.SubscribeResponse) error {
			printer.frame(frame)
			if s := frame.GetSynced(); s != nil && s.Resource == nil {
				close(synced)
			}
			return nil
		}})
	})
	group.Go(func() error {
		select {
		case <-synced:
			return work.run(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return group.Wait()
}

// quiet drops the error of what ended because it was told to, or had its time.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func newWorkload(cfg *rest.Config) (*workload, error) {
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &workload{client: c}, nil
}
