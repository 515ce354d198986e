package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/runnel-dev/runnel/server"
)

type serveOptions struct {
	listen     string
	kubeconfig string
	tls        server.TLSFiles
	insecure   bool
	drain      time.Duration
	idleStop   time.Duration
	logLevel   slog.Level
	logFormat  string
}

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve streams of Kubernetes objects",
		Long: `Serve streams of Kubernetes objects to any number of subscribers.

The server lists and watches each resource once, when somebody first subscribes to
it, and fans the changes out. It finds its API server like kubectl: by --kubeconfig,
else by $KUBECONFIG, else by ~/.kube/config, else as a Pod of the cluster.

It serves TLS. Plaintext, which lets anyone who reaches the port read whatever the
server may read, is only served with --insecure.

SIGTERM and Ctrl-C drain it: subscribers are told to move, and what has not ended
after --drain is cut.`,
		Example: `  # In a cluster, with a certificate.
  runnel serve --tls-cert=/tls/tls.crt --tls-key=/tls/tls.key

  # On this machine, for a try.
  runnel serve --insecure --listen=127.0.0.1:7443`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", ":7443", "address to serve at")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the API server (default: as kubectl finds it)")
	f.StringVar(&o.tls.Cert, "tls-cert", "", "PEM file of the serving certificate, with its chain")
	f.StringVar(&o.tls.Key, "tls-key", "", "PEM file of its key")
	f.StringVar(&o.tls.ClientCA, "tls-client-ca", "", "PEM file of the CA whose certificates clients must present")
	f.BoolVar(&o.insecure, "insecure", false, "serve plaintext to anyone")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "time for streams to end at shutdown")
	f.DurationVar(&o.idleStop, "idle-stop", 5*time.Minute, "time to keep watching a resource without subscribers")
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least level to log: debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	return cmd
}

func (o *serveOptions) run(ctx context.Context, logs io.Writer) error {
	log, err := newLogger(logs, o.logFormat, o.logLevel)
	if err != nil {
		return err
	}
	klog.SetSlogLogger(log) // client-go's logs
	restConfig, err := loadRESTConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err // "listen tcp :7443: bind: address already in use"
	}
	s, err := server.New(server.Config{
		Listener: listener,
		REST:     restConfig,
		TLS:      o.tls,
		Insecure: o.insecure,
		Log:      log,
		Drain:    o.drain,
		IdleStop: o.idleStop,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.Run(ctx)
}

func newLogger(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format: %q is neither json nor text", format)
}

// loadRESTConfig finds the API server as kubectl does.
func loadRESTConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no API server: %w", err)
	}
	return cfg, nil
}
