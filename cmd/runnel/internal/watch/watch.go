// Package watch is the command "runnel watch": it subscribes to resources and shows
// their objects and changes like kubectl get --watch.
//
// It speaks to a Runnel server and to nothing else. What it must know of resources is
// built in, or comes from the definitions of custom resources, which it asks the same
// server for (discover.go). A run is one goroutine, that of Client.Subscribe.
//
// Start reading at NewCommand, then run.go and stream.go.
package watch

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const long = `Show objects and their changes, as a subscriber gets them.

RESOURCE is a plural, a singular, a kind or a short name, with its group and version if
need be: pods, po, Deployment, deploy.apps, deployments.v1.apps. Several are joined with
commas. NAMEs, also as RESOURCE/NAME, choose objects; without any, all are shown, of all
namespaces unless -n names some.

First comes what exists, as ADDED, in the order of the resources; then "# synced"; then
each change as it happens. Events are relative to what was shown before: an object that
begins to match the selectors is ADDED, one that no longer does is DELETED left-view.
Other reasons are gone and final-state-unknown. A DELETED row shows the last known state.

The table has the columns of kubectl get, for custom resources those of their
definitions. With -o json everything is shown as the server sends it, control frames
included, a line each.

When the connection or the server goes away, the command says so on stderr, subscribes
again and shows what has changed meanwhile; with -o json and -o name, everything again
where the server cannot resume. --verify exits with 1 if what the server sent ever
disagreed with its own digests.

The command ends with Ctrl-C, or by --until-synced or --for, and exits with 0. It exits
with 1 when the server refuses the request, when a copy proved wrong (--verify), and when
it had to end before it was synced (--until-synced).`

const examples = `  # All Pods, and what happens to them, from a server on this machine.
  runnel watch pods --insecure

  # Deployments and Pods of one application in two namespaces, with more columns.
  runnel watch deploy,po -n web -n api -l app=shop -o wide --server runnel:7443 --ca ca.crt

  # The Pods of one node.
  runnel watch pods --field spec.nodeName=n1

  # What changes in a Deployment, value by value, without the noise of its status.
  runnel watch deploy/web -n shop --show-patch --ignore status --ignore metadata.resourceVersion

  # One object.
  runnel watch node n1

  # Two values, the only ones that the server sends, at most once per second.
  runnel watch pods --path status.phase --path spec.nodeName --min-interval 1s

  # What exists now, checked against the server's digest.
  runnel watch cm --until-synced --verify -o name

  # For scripts: the names of Pods that were deleted, and where Pods run.
  runnel watch pods -o json | jq -r 'select(.type == "DELETED").name'
  runnel watch pods -o jsonpath='{.metadata.name} {.spec.nodeName}'

  # For a minute, with the token of a service account, metadata only.
  runnel watch serviceaccounts --projection metadata --token-file token --for 1m`

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:               "watch RESOURCE[,RESOURCE...] [NAME...]",
		Short:             "Show objects and their changes, like kubectl get --watch",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: completeResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.stdout, o.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return o.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "field-selector" { // as kubectl calls it
			name = "field"
		}
		return pflag.NormalizedName(name)
	})
	o.choose(f)
	o.show(f)
	o.connect(f)
	completeFlags(cmd)
	return cmd
}

// choose has the flags for what to watch.
func (o *options) choose(f *pflag.FlagSet) {
	f.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "namespace, repeatable (default: all)")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "all namespaces, which is the default")
	f.StringVarP(&o.selector, "selector", "l", "", "label selector, such as app=web,tier in (a,b),!canary")
	f.StringVar(&o.field, "field", "", "field selector, such as spec.nodeName=n1,status.phase!=Running")
	f.StringSliceVar(&o.names, "name", nil, "object name, repeatable, like NAME")
	f.StringVar(&o.projection, "projection", "", "part of the objects to get: whole or metadata (default: whole, with -o name metadata)")
	f.StringArrayVar(&o.paths, "path", nil, "get only this path and show it in a column, repeatable, such as status.conditions[*].type")
	f.StringArrayVar(&o.ignore, "ignore", nil, "path whose changes are no news, repeatable, such as metadata.annotations")
	f.DurationVar(&o.minInterval, "min-interval", 0, "least time between deliveries; changes in between become one")
}

// show has the flags for how to show it, and until when.
func (o *options) show(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "wide, name, json, jsonpath=TEMPLATE or custom-columns=SPEC (default: a table)")
	f.BoolVar(&o.showPatch, "show-patch", false, "get changes as merge patches and show what changed")
	f.StringSliceVarP(&o.labelColumns, "label-columns", "L", nil, "label to show in a column, repeatable")
	f.BoolVar(&o.showLabels, "show-labels", false, "show all labels")
	f.BoolVar(&o.timestamps, "timestamps", false, "begin each row with the time")
	f.BoolVar(&o.bookmarks, "bookmarks", false, "show bookmarks")
	f.StringVar(&o.color, "color", "auto", "auto (on a terminal, unless $NO_COLOR is set), always or never")
	f.BoolVar(&o.untilSynced, "until-synced", false, "end when everything that exists was shown")
	f.BoolVar(&o.verify, "verify", false, "check objects and digests; with --until-synced, end only when all was checked")
	f.DurationVar(&o.duration, "for", 0, "end after this time")
}

// connect has the flags for the server.
func (o *options) connect(f *pflag.FlagSet) {
	f.StringVar(&o.server, "server", serverFromEnvironment(), "host:port of the server; the default is $RUNNEL_SERVER, if set")
	f.BoolVar(&o.insecure, "insecure", false, "speak plaintext")
	f.StringVar(&o.ca, "ca", "", "PEM file of the certificate authorities to trust (default: the system's)")
	f.StringVar(&o.serverName, "server-name", "", "name that the server's certificate must have (default: the host)")
	f.StringVar(&o.cert, "cert", "", "PEM file of a client certificate")
	f.StringVar(&o.key, "key", "", "PEM file of its key")
	f.StringVar(&o.tokenFile, "token-file", "", "file of a bearer token, read anew for each stream")
	f.DurationVar(&o.bookmarkInterval, "bookmark-interval", 0, "time between bookmarks (default: the server's)")
}

func serverFromEnvironment() string {
	if server := os.Getenv("RUNNEL_SERVER"); server != "" {
		return server
	}
	return "localhost:7443"
}
