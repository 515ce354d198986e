// Command local runs a Kubernetes control plane on this machine: kube-apiserver
// and etcd, without nodes and controllers, until it is told to stop. The work is
// done by internal/controlplane; this is its command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnel-dev/runnel/internal/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var (
		users   []string
		runTime time.Duration
	)
	run := &cobra.Command{
		Use:   "local",
		Short: "Run a Kubernetes control plane on this machine",
		Long: `Run a Kubernetes control plane on this machine: the real kube-apiserver and etcd,
on loopback, with ports, keys and data of its own. There are no nodes and no
controllers: an object is what you write, and nothing changes it behind your back.

It prints how to reach it, runs until Ctrl-C (or SIGTERM, or --for), and leaves
nothing behind. Any number of them run side by side. (A SIGTERM to "go run" does not
get here; a script builds this command and runs that, or sets --for.)

The binaries are built from source when there are none yet, which takes about five
minutes once. To use your own, set KUBEBUILDER_ASSETS to a folder that holds
kube-apiserver and etcd. To use a cluster that you have, set KUBECONFIG: then
nothing is started.`,
		Example: `  # Run until Ctrl-C.
  go run ./deploy/local

  # With two users whose permissions you set by RBAC, for ten minutes.
  go run ./deploy/local --user=alice=developers,oncall --user=bob --for=10m

  # Only build the binaries, and print the folder that holds them.
  go run ./deploy/local build`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runCluster(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), parseUsers(users), runTime)
		},
	}
	run.Flags().StringArrayVar(&users, "user", nil, "a user besides admin, as name or name=group,group; may be repeated")
	run.Flags().DurationVar(&runTime, "for", 0, "stop after this time, such as 30s; 0 runs until Ctrl-C")
	run.AddCommand(&cobra.Command{
		Use:   "build",
		Short: "Build kube-apiserver and etcd if need be, and print the folder that holds them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := controlplane.Assets(cmd.Context(), cmd.ErrOrStderr())
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), dir)
			}
			return err
		},
	})
	run.CompletionOptions.DisableDefaultCmd = true
	return run
}

// runCluster runs until ctx ends or the time is over.
func runCluster(ctx context.Context, out, progress io.Writer, users map[string][]string, runTime time.Duration) (err error) {
	cluster, err := controlplane.StartOrExisting(ctx, progress, controlplane.Config{Users: users})
	if err != nil {
		return err
	}
	if cluster.ControlPlane == nil {
		fmt.Fprintf(out, "KUBECONFIG is set (%s), so the cluster at %s is used as it is.\nNothing was started. Unset KUBECONFIG to run one here.\n",
			cluster.Kubeconfig, cluster.RESTConfig().Host)
		return nil
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if err := explain(out, cluster); err != nil {
		return err
	}

	if runTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, runTime)
		defer cancel()
	}
	<-ctx.Done()
	fmt.Fprintln(out, "stopping")
	return nil
}

// explain prints how to use the control plane, after writing a kubeconfig for
// each user.
func explain(out io.Writer, cluster *controlplane.Cluster) error {
	cp := cluster.ControlPlane
	fmt.Fprintf(out, `The control plane serves at %s. In another terminal:

  export KUBECONFIG=%s
  kubectl get namespaces

Users, each with a kubeconfig:
`, cp.URL(), cluster.Kubeconfig)
	for _, user := range cp.Users() {
		path := cluster.Kubeconfig
		if user != controlplane.Admin {
			path += "-" + filepath.Base(user)
			if err := cp.WriteKubeconfig(path, user); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "  %-12s %s\n", user, path)
	}
	fmt.Fprintf(out, "\nLogs and data are in %s until it stops. Ctrl-C stops it.\n", cp.Dir())
	return nil
}

// parseUsers reads name or name=group,group.
func parseUsers(flags []string) map[string][]string {
	users := make(map[string][]string, len(flags))
	for _, flag := range flags {
		name, groups, _ := strings.Cut(flag, "=")
		users[name] = strings.FieldsFunc(groups, func(r rune) bool { return r == ',' })
	}
	return users
}
