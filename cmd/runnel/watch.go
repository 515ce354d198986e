package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnel-dev/runnel/client"
)

type watchOptions struct {
	server, serverName   string
	insecure             bool
	ca, cert, key        string
	tokenFile            string
	namespaces, names    []string
	selector, projection string
	output               string
	untilSynced, verify  bool
	duration             time.Duration
	bookmarks            bool
	bookmarkInterval     time.Duration
	stdout, stderr       io.Writer
}

func newWatchCommand() *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch RESOURCE[,RESOURCE...]",
		Short: "Show objects and their changes, as a subscriber gets them",
		Long: `Show objects and their changes, as a subscriber gets them.

A RESOURCE is named by its plural, with its group and, if need be, its version: pods,
deployments.apps, deployments.v1.apps. First comes what exists, as ADDED, in the order of
the resources; then "# synced"; then each change as it happens. Types are relative to
what was shown before: an object that begins to match the selector is ADDED, one that no
longer does is DELETED with reason left-view.

When the connection or the server goes away, the command says so on stderr and
subscribes again; each stream begins with what exists. With --verify it holds a copy, shows
only what differs from it, and compares it with the digests that the server sends.

The command ends with Ctrl-C, or by --until-synced or --for, and exits with 0. It exits
with 1 when the server refuses the request, when a copy proved wrong (--verify), and when
it had to end before it was synced (--until-synced).`,
		Example: `  # All Pods, and what happens to them, from a server on this machine.
  runnel watch pods --insecure

  # Deployments and the Pods of one application in two namespaces.
  runnel watch deployments.apps,pods -n web -n api -l app=shop --server runnel:7443 --ca ca.crt

  # As JSON lines, for a program: the names of Pods that were deleted.
  runnel watch pods -o json | jq -r 'select(.type == "DELETED").name'

  # What exists now, checked against the server's digest.
  runnel watch configmaps --until-synced --verify -o name

  # Watch for a minute with the token of a service account, metadata only.
  runnel watch secrets --projection metadata --token-file token --for 1m`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New(`which resource? For example: runnel watch pods`)
			case 1:
				return nil
			}
			return fmt.Errorf("one list of resources, please: join them with commas, name objects with --name (got %q)", args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.stdout, o.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.server, "server", serverFromEnvironment(), "host:port of the server; the default is $RUNNEL_SERVER, if set")
	f.BoolVar(&o.insecure, "insecure", false, "speak plaintext")
	f.StringVar(&o.ca, "ca", "", "PEM file of the certificate authorities to trust (default: the system's)")
	f.StringVar(&o.serverName, "server-name", "", "name that the server's certificate must have (default: the host)")
	f.StringVar(&o.cert, "cert", "", "PEM file of a client certificate")
	f.StringVar(&o.key, "key", "", "PEM file of its key")
	f.StringVar(&o.tokenFile, "token-file", "", "file of a bearer token, read anew for each stream")
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "namespace, repeatable (default: all)")
	f.StringSliceVar(&o.names, "name", nil, "object name, repeatable (default: all)")
	f.StringVarP(&o.selector, "selector", "l", "", "label selector, such as app=web,tier in (a,b),!canary")
	f.StringVar(&o.projection, "projection", "whole", "part of the objects to get: whole or metadata")
	f.StringVarP(&o.output, "output", "o", "", "wide, name or json (default: a table)")
	f.BoolVar(&o.untilSynced, "until-synced", false, "end when everything that exists was shown")
	f.BoolVar(&o.verify, "verify", false, "check objects and digests; with --until-synced, end only when all was checked")
	f.DurationVar(&o.duration, "for", 0, "end after this time")
	f.BoolVar(&o.bookmarks, "bookmarks", false, "show bookmarks")
	f.DurationVar(&o.bookmarkInterval, "bookmark-interval", 0, "time between bookmarks (default: the server's)")
	return cmd
}

func serverFromEnvironment() string {
	if server := os.Getenv("RUNNEL_SERVER"); server != "" {
		return server
	}
	return "localhost:7443"
}

func (o *watchOptions) run(ctx context.Context, list string) error {
	resources, err := parseResources(list)
	if err != nil {
		return err
	}
	request, err := o.request(resources)
	if err != nil {
		return err
	}
	printer, err := newWatchPrinter(o.output, o.stdout, resources)
	if err != nil {
		return err
	}
	c, err := client.New(o.server, o.clientOptions()...)
	if err != nil {
		return err
	}
	w := &watch{options: o, resources: resources, printer: printer, verified: make([]bool, len(resources))}
	if o.verify {
		if w.replica, err = client.NewReplica(request, w.change); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.duration, errTimeIsUp)
		defer cancel()
	}
	err = c.Subscribe(ctx, request, client.Handler{Frame: w.frame, Connected: w.connected, Interrupted: w.interrupted})
	return errors.Join(w.result(ctx, err), c.Close())
}

func (o *watchOptions) clientOptions() []client.Option {
	var opts []client.Option
	if o.insecure {
		opts = append(opts, client.WithInsecure())
	}
	if o.serverName != "" {
		opts = append(opts, client.WithTLSConfig(&tls.Config{ServerName: o.serverName, MinVersion: tls.VersionTLS13}))
	}
	if o.ca != "" {
		opts = append(opts, client.WithCAFile(o.ca))
	}
	if o.cert != "" || o.key != "" {
		opts = append(opts, client.WithClientCertificate(o.cert, o.key))
	}
	if o.tokenFile != "" {
		opts = append(opts, client.WithTokenFile(o.tokenFile))
	}
	return opts
}
