package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/runnel-dev/runnel/internal/config"
	"github.com/runnel-dev/runnel/server"
)

// serveOptions are the flags that are no part of the configuration.
type serveOptions struct {
	config     string
	check      bool
	kubeconfig string
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
server may read, is only served with --insecure. Secrets are served only if a
configuration file lists them among its allowedResources.

A configuration file says all that flags say, and more: which resources to watch
from the start, and which to serve at all. A flag that is given wins over the file.
deploy/config.example.yaml explains every field. --check reports all that is wrong with
file and flags, without starting anything or looking for the API server.

SIGTERM and Ctrl-C drain it: subscribers are told to move, and what has not ended
after --drain is cut.`,
		Example: `  # In a cluster, with a certificate.
  runnel serve --tls-cert=/tls/tls.crt --tls-key=/tls/tls.key

  # With a configuration file; first, is it right?
  runnel serve --config=runnel.yaml --check
  runnel serve --config=runnel.yaml --log-level=debug

  # On this machine, for a try.
  runnel serve --insecure --listen=127.0.0.1:7443`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.read(cmd.Flags())
			if problems := (config.Problems)(nil); errors.As(err, &problems) {
				fmt.Fprintln(cmd.ErrOrStderr(), err)
				return fmt.Errorf("errors in the configuration: %d", len(problems))
			}
			if err != nil {
				return err
			}
			if o.check {
				fmt.Fprintln(cmd.OutOrStdout(), "ok")
				return nil
			}
			return o.run(cmd, cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "configuration `file`")
	f.BoolVar(&o.check, "check", false, "check the configuration, and exit")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the API server (default: as kubectl finds it)")
	config.AddFlags(f)
	return cmd
}

// read returns the configuration that the file and the flags make. With --check it
// also looks at the files which that names. The error is a config.Problems, except
// where the file cannot be read.
func (o *serveOptions) read(flags *pflag.FlagSet) (config.Config, error) {
	var data []byte
	if o.config != "" {
		var err error
		if data, err = os.ReadFile(o.config); err != nil {
			return config.Config{}, fmt.Errorf("configuration: %w", err)
		}
	}
	cfg, err := config.Read(o.config, data, flags)
	if !o.check {
		return cfg, err
	}
	var problems config.Problems
	errors.As(err, &problems)
	for _, err := range tlsFiles(cfg).Check() {
		problems = append(problems, config.Problem{Field: "tls", Err: err})
	}
	if o.kubeconfig != "" {
		if _, err := loadRESTConfig(o.kubeconfig); err != nil {
			problems = append(problems, config.Problem{Field: "--kubeconfig", Err: err})
		}
	}
	if len(problems) > 0 {
		return config.Config{}, problems
	}
	return cfg, nil
}

func tlsFiles(cfg config.Config) server.TLSFiles {
	return server.TLSFiles{Cert: cfg.TLS.CertFile, Key: cfg.TLS.KeyFile, ClientCA: cfg.TLS.ClientCAFile}
}

func (o *serveOptions) run(cmd *cobra.Command, cfg config.Config) error {
	log := newLogger(cmd.ErrOrStderr(), cfg.Log)
	klog.SetSlogLogger(log) // client-go's logs
	restConfig, err := loadRESTConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return err // "listen tcp :7443: bind: address already in use"
	}
	s, err := server.New(server.Config{
		Listener: listener,
		REST:     restConfig,
		TLS:      tlsFiles(cfg),
		Insecure: cfg.Insecure,
		Log:      log,
		Drain:    time.Duration(cfg.DrainTimeout),
		IdleStop: time.Duration(cfg.Sources.IdleStop),
		Preload:  cfg.Sources.Preloads(),
		Allowed:  cfg.Allowed(),
		Limits:   cfg.Limits.Subscriber(),
		Sources:  cfg.SourceLimits(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.Run(cmd.Context())
}

func newLogger(w io.Writer, c config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(c.Level)}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// loadRESTConfig finds the API server as kubectl does.
func loadRESTConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		if kubeconfig == "" {
			return nil, fmt.Errorf("no API server; name its kubeconfig by --kubeconfig or $KUBECONFIG: %w", err)
		}
		return nil, fmt.Errorf("no API server: %w", err)
	}
	return cfg, nil
}
