// Package config reads the server's configuration: one versioned YAML file, with
// command-line flags over it.
//
// Reading is strict. What the file holds and the schema does not know is an error, and
// so is a field that is set twice; all errors are reported at once, each with
// the path of the field and, where it comes from the file, the line.
//
// The schema is Config: its fields are documented there and in
// deploy/config.example.yaml, which shows every one at its default. The file and the
// flags say the same in two ways; the flags that were given win.
//
// Everything here is pure: no file is opened and nothing is reached out to. `runnel
// serve` calls it once, before anything starts. Start reading at Read, then
// decode.go, validate.go and flags.go.
package config

import (
	"log/slog"
	"time"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/subscriber"
	"github.com/runnel-dev/runnel/internal/view"
)

// The version and kind that a file must declare.
const (
	APIVersion = "runnel.dev/v1alpha1"
	Kind       = "ServerConfiguration"
)

// Config is the content of a file. A field that is absent, or null, has its default.
// The defaults are valid but for TLS, which has none.
type Config struct {
	// APIVersion and Kind are those above.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Listen is the address to serve at, as host:port.
	Listen string `json:"listen"`
	// TLS names the serving certificate. Required unless Insecure.
	TLS TLS `json:"tls"`
	// Insecure serves plaintext to anyone who reaches the port.
	Insecure bool `json:"insecure"`
	// DrainTimeout is the time for streams to end at shutdown.
	DrainTimeout Duration `json:"drainTimeout"`
	// Log is what to log and how.
	Log Log `json:"log"`
	// Sources says which resources are watched, and how long.
	Sources Sources `json:"sources"`
	// AllowedResources are those that may be subscribed to, in whichever version;
	// empty for everything but Secrets.
	AllowedResources []AllowedResources `json:"allowedResources"`
	// Limits bound what one request may ask for.
	Limits Limits `json:"limits"`
	// Views bound what is kept for the readers of each view.
	Views Views `json:"views"`
}

// TLS are paths of PEM files.
type TLS struct {
	// CertFile is the serving certificate, with its chain.
	CertFile string `json:"certFile"`
	// KeyFile is its key.
	KeyFile string `json:"keyFile"`
	// ClientCAFile is the CA whose certificates clients must present, if set.
	ClientCAFile string `json:"clientCAFile"`
}

// Log is what to log and how.
type Log struct {
	// Level is the least level to log: debug, info, warn or error.
	Level Level `json:"level"`
	// Format is json or text.
	Format string `json:"format"`
}

// Sources says which resources are watched, and how long.
type Sources struct {
	// IdleStop is how long a resource without subscribers is watched.
	IdleStop Duration `json:"idleStop"`
	// RecentBytes is how much of what was superseded is remembered of each resource, and
	// LingerBytes how much its views without subscribers may take: for those who come
	// back within the horizon of the views.
	RecentBytes Bytes `json:"recentBytes"`
	LingerBytes Bytes `json:"lingerBytes"`
	// Audit is how often the identities of all objects of a resource are listed, to find
	// out whether the API server's watch lost events; 0 for never.
	Audit Duration `json:"audit"`
	// Preload are the resources that are watched from the start and for ever.
	Preload []Preload `json:"preload"`
}

// Preload is a resource that is watched from the start and for ever.
type Preload struct {
	// Group is the API group, empty for the core group.
	Group string `json:"group"`
	// Version is the API version, empty for the preferred one.
	Version string `json:"version"`
	// Resource is the plural name.
	Resource string `json:"resource"`
	// LabelSelector and FieldSelector are the API server's own. They limit what is
	// held, and so served, of the resource at all, in whichever version.
	LabelSelector string `json:"labelSelector"`
	FieldSelector string `json:"fieldSelector"`
}

// AllowedResources allows resources of one API group.
type AllowedResources struct {
	// Group is the API group: empty for the core group, "*" for any.
	Group string `json:"group"`
	// Resources are plural names, or "*" for all but Secrets.
	Resources []string `json:"resources"`
}

// Allowed returns the allowed resources in the form that they are used in.
func (c *Config) Allowed() resource.Allowed {
	var allowed resource.Allowed
	for _, a := range c.AllowedResources {
		allowed = append(allowed, resource.AllowedGroup(a))
	}
	return allowed
}

// Preloads returns the preloaded resources in the form that they are used in.
func (s *Sources) Preloads() []source.Preload {
	var preload []source.Preload
	for _, p := range s.Preload {
		preload = append(preload, source.Preload(p))
	}
	return preload
}

// Limits bound what one request may ask for.
type Limits struct {
	// RequestBytes is the largest request.
	RequestBytes Bytes `json:"requestBytes"`
	// Resources is the largest number of resources in a request.
	Resources int `json:"resources"`
	// Namespaces and Names are the largest numbers of them per resource.
	Namespaces int `json:"namespaces"`
	Names      int `json:"names"`
	// SelectorBytes is the longest selector.
	SelectorBytes Bytes `json:"selectorBytes"`
	// Requirements is the largest number of requirements in a selector, however many
	// values each has.
	Requirements int `json:"requirements"`
	// Paths is the largest number of paths in a projection, or to ignore.
	Paths int `json:"paths"`
	// FrameBytes is the size beyond which a batch is split.
	FrameBytes Bytes `json:"frameBytes"`
	// Bookmark is the interval between bookmarks where a request does not say.
	Bookmark Duration `json:"bookmark"`
	// MinBookmark is the least interval that a request gets.
	MinBookmark Duration `json:"minBookmark"`
	// Retry is how often a resource is looked for that was not found.
	Retry Duration `json:"retry"`
	// BehindWait is how long a subscriber waits for a replica that is behind its resume
	// token.
	BehindWait Duration `json:"behindWait"`
}

// Subscriber returns the limits in the form that they are used in.
func (l Limits) Subscriber() subscriber.Limits {
	return subscriber.Limits{
		RequestBytes:  int(l.RequestBytes),
		Resources:     l.Resources,
		Namespaces:    l.Namespaces,
		Names:         l.Names,
		SelectorBytes: int(l.SelectorBytes),
		Requirements:  l.Requirements,
		Paths:         l.Paths,
		FrameBytes:    int(l.FrameBytes),
		Bookmark:      time.Duration(l.Bookmark),
		MinBookmark:   time.Duration(l.MinBookmark),
		Retry:         time.Duration(l.Retry),
		BehindWait:    time.Duration(l.BehindWait),
	}
}

// Views bound what is kept for the readers of each view.
type Views struct {
	// BatchBytes is how much one batch of a snapshot takes, and LiveBytes how much
	// one read of changes.
	BatchBytes Bytes `json:"batchBytes"`
	LiveBytes  Bytes `json:"liveBytes"`
	// Horizon is for how long changes are remembered, so that subscribers who were away
	// can resume.
	Horizon Duration `json:"horizon"`
	// Ring is the largest number of changes that are remembered.
	Ring int `json:"ring"`
	// EndedStays is how many objects that left the view are remembered for those who
	// may still hold them.
	EndedStays int `json:"endedStays"`
}

// SourceLimits returns the limits of each resource in the form that they are used in.
func (c *Config) SourceLimits() source.Limits {
	v := &c.Views
	return source.Limits{
		Views: view.Limits{
			BatchBytes: int(v.BatchBytes),
			LiveBytes:  int(v.LiveBytes),
			Horizon:    time.Duration(v.Horizon),
			Ring:       v.Ring,
			EndedStays: v.EndedStays,
		},
		RecentBytes: int(c.Sources.RecentBytes),
		LingerBytes: int(c.Sources.LingerBytes),
		Audit:       time.Duration(c.Sources.Audit),
	}
}

// Default is what holds where neither the file nor a flag says anything.
func Default() Config {
	limits, sources := subscriber.DefaultLimits(), source.DefaultLimits() // their reasons stand there
	views := sources.Views
	return Config{
		APIVersion:   APIVersion,
		Kind:         Kind,
		Listen:       ":7443",                                           // not privileged, and HTTPS to the eye
		DrainTimeout: Duration(10 * time.Second),                        // within a Pod's 30 s of grace
		Log:          Log{Level: Level(slog.LevelInfo), Format: "json"}, // a line for each stream; for machines
		Sources: Sources{
			IdleStop:    Duration(5 * time.Minute), // a list costs much, so it outlives a consumer's restart
			RecentBytes: Bytes(sources.RecentBytes),
			LingerBytes: Bytes(sources.LingerBytes),
			Audit:       Duration(sources.Audit),
		},
		Limits: Limits{
			RequestBytes:  Bytes(limits.RequestBytes),
			Resources:     limits.Resources,
			Namespaces:    limits.Namespaces,
			Names:         limits.Names,
			SelectorBytes: Bytes(limits.SelectorBytes),
			Requirements:  limits.Requirements,
			Paths:         limits.Paths,
			FrameBytes:    Bytes(limits.FrameBytes),
			Bookmark:      Duration(limits.Bookmark),
			MinBookmark:   Duration(limits.MinBookmark),
			Retry:         Duration(limits.Retry),
			BehindWait:    Duration(limits.BehindWait),
		},
		Views: Views{
			BatchBytes: Bytes(views.BatchBytes),
			LiveBytes:  Bytes(views.LiveBytes),
			Horizon:    Duration(views.Horizon),
			Ring:       views.Ring,
			EndedStays: views.EndedStays,
		},
	}
}
