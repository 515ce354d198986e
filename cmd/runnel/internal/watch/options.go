package watch

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
)

// options are what the flags say.
type options struct {
	server, serverName string
	insecure           bool
	ca, cert, key      string
	tokenFile          string

	namespaces, names []string
	allNamespaces     bool
	selector, field   string
	projection        string
	paths, ignore     []string
	minInterval       time.Duration
	bookmarkInterval  time.Duration

	output              string
	showPatch           bool
	labelColumns        []string
	showLabels          bool
	timestamps          bool
	bookmarks           bool
	color               string
	untilSynced, verify bool
	duration            time.Duration

	stdout, stderr io.Writer
}

// check finds contradictions before anybody is asked for anything.
func (o *options) check() error {
	switch {
	case o.projection != "" && o.projection != "whole" && o.projection != "metadata":
		return fmt.Errorf("--projection: %q is neither whole nor metadata", o.projection)
	case o.projection != "" && len(o.paths) > 0:
		return errors.New("--projection and --path exclude each other")
	case o.allNamespaces && len(o.namespaces) > 0:
		return errors.New("--all-namespaces and --namespace exclude each other")
	case o.color != "auto" && o.color != "always" && o.color != "never":
		return fmt.Errorf("--color: %q is not one of auto, always and never", o.color)
	case o.showPatch && !o.isTable() && o.output != "json":
		return fmt.Errorf("--show-patch: --output %s has no place for it", o.output)
	}
	if _, err := o.printed([]target{{}}); err != nil {
		return err
	}
	_, err := o.printer(nil)
	return err
}

func (o *options) isTable() bool {
	return o.output == "" || o.output == "wide" || strings.HasPrefix(o.output, "custom-columns=")
}

// needsReplica says whether events must carry whole objects: of DELETED ones the last
// state, of patched ones what the patch makes of them.
func (o *options) needsReplica() bool {
	return o.verify || o.output != "json" && o.output != "name"
}

func (o *options) printer(all []printer.Resource) (printer.Printer, error) {
	if o.isTable() {
		return printer.Table(o.stdout, all, printer.TableOptions{
			Wide: o.output == "wide", Colour: o.colour(), Changes: o.showPatch, Timestamps: o.timestamps, Now: time.Now,
			MayLeave: o.selector != "" || o.field != "",
		}), nil
	}
	switch o.output {
	case "name":
		return printer.Names(o.stdout, all), nil
	case "json":
		return printer.JSON(o.stdout, all), nil
	}
	if template, ok := strings.CutPrefix(o.output, "jsonpath="); ok {
		p, err := printer.JSONPath(o.stdout, template)
		if err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("--output: %q is not one of wide, name, json, jsonpath= and custom-columns=", o.output)
}

func (o *options) colour() bool {
	if o.color != "auto" {
		return o.color == "always"
	}
	file, ok := o.stdout.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

func (o *options) client() []client.Option {
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
