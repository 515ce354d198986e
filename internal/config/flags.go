package config

import "github.com/spf13/pflag"

// AddFlags adds the flags that set fields, which Read puts over those of a file.
func AddFlags(fs *pflag.FlagSet) {
	defaults := Default()
	bind(fs, &defaults)
}

// bind adds the flags to fs, as variables in config.
func bind(fs *pflag.FlagSet, config *Config) {
	for _, f := range flags {
		switch value := f.value(config).(type) {
		case *string:
			fs.StringVar(value, f.name, *value, f.usage)
		case *bool:
			fs.BoolVar(value, f.name, *value, f.usage)
		case *int:
			fs.IntVar(value, f.name, *value, f.usage)
		case pflag.Value:
			fs.Var(value, f.name, f.usage)
		}
	}
}

// override puts the flags that were given over config, and returns their names by
// the field that they set.
func override(config *Config, given *pflag.FlagSet) (map[string]string, error) {
	set := map[string]string{}
	over := pflag.NewFlagSet("", pflag.ContinueOnError)
	bind(over, config)
	for _, f := range flags {
		if g := given.Lookup(f.name); g != nil && g.Changed {
			if err := over.Set(f.name, g.Value.String()); err != nil {
				return nil, err // a value that was parsed does not read back
			}
			set[f.field] = f.name
		}
	}
	return set, nil
}

// flag is a flag that sets a field.
type flag struct {
	name, field, usage string
	// value is where the field is.
	value func(*Config) any
}

// flags are all of them, in the order of the schema. Lists have none: a command line
// is no place for them.
var flags = []flag{
	{"listen", "listen", "address to serve at", func(c *Config) any { return &c.Listen }},
	{"tls-cert", "tls.certFile", "PEM `file` of the serving certificate, with its chain", func(c *Config) any { return &c.TLS.CertFile }},
	{"tls-key", "tls.keyFile", "PEM `file` of its key", func(c *Config) any { return &c.TLS.KeyFile }},
	{"tls-client-ca", "tls.clientCAFile", "PEM `file` of the CA whose certificates clients must present", func(c *Config) any { return &c.TLS.ClientCAFile }},
	{"insecure", "insecure", "serve plaintext to anyone", func(c *Config) any { return &c.Insecure }},
	{"drain", "drainTimeout", "time for streams to end at shutdown", func(c *Config) any { return &c.DrainTimeout }},
	{"log-level", "log.level", "least level to log: debug, info, warn or error", func(c *Config) any { return &c.Log.Level }},
	{"log-format", "log.format", "json or text", func(c *Config) any { return &c.Log.Format }},
	{"idle-stop", "sources.idleStop", "time to keep watching a resource without subscribers", func(c *Config) any { return &c.Sources.IdleStop }},
	{"recent-bytes", "sources.recentBytes", "most superseded bytes that are remembered of a resource", func(c *Config) any { return &c.Sources.RecentBytes }},
	{"linger-bytes", "sources.lingerBytes", "most bytes of a resource's views without subscribers", func(c *Config) any { return &c.Sources.LingerBytes }},
	{"audit", "sources.audit", "time between comparisons of what is held with what the API server lists, or 0 for never", func(c *Config) any { return &c.Sources.Audit }},
	{"limit-request-bytes", "limits.requestBytes", "largest request", func(c *Config) any { return &c.Limits.RequestBytes }},
	{"limit-resources", "limits.resources", "most resources in a request", func(c *Config) any { return &c.Limits.Resources }},
	{"limit-namespaces", "limits.namespaces", "most namespaces per resource of a request", func(c *Config) any { return &c.Limits.Namespaces }},
	{"limit-names", "limits.names", "most names per resource of a request", func(c *Config) any { return &c.Limits.Names }},
	{"limit-selector-bytes", "limits.selectorBytes", "longest selector", func(c *Config) any { return &c.Limits.SelectorBytes }},
	{"limit-requirements", "limits.requirements", "most requirements in a selector", func(c *Config) any { return &c.Limits.Requirements }},
	{"limit-paths", "limits.paths", "most paths in a projection, or to ignore", func(c *Config) any { return &c.Limits.Paths }},
	{"limit-frame-bytes", "limits.frameBytes", "size beyond which a batch is split", func(c *Config) any { return &c.Limits.FrameBytes }},
	{"limit-bookmark", "limits.bookmark", "time between bookmarks where a request does not say", func(c *Config) any { return &c.Limits.Bookmark }},
	{"limit-min-bookmark", "limits.minBookmark", "least time between bookmarks that a request gets", func(c *Config) any { return &c.Limits.MinBookmark }},
	{"limit-retry", "limits.retry", "time until a resource is looked for again that was not found", func(c *Config) any { return &c.Limits.Retry }},
	{"limit-behind-wait", "limits.behindWait", "time to wait for this replica where it is behind a resume token", func(c *Config) any { return &c.Limits.BehindWait }},
	{"view-batch-bytes", "views.batchBytes", "size of one batch of a snapshot", func(c *Config) any { return &c.Views.BatchBytes }},
	{"view-live-bytes", "views.liveBytes", "size of one read of changes", func(c *Config) any { return &c.Views.LiveBytes }},
	{"view-horizon", "views.horizon", "time for which changes are remembered for those who come back", func(c *Config) any { return &c.Views.Horizon }},
	{"view-ring", "views.ring", "most changes that a view remembers", func(c *Config) any { return &c.Views.Ring }},
	{"view-ended-stays", "views.endedStays", "most objects that a view remembers after they left it", func(c *Config) any { return &c.Views.EndedStays }},
}
