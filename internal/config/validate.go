package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/runnel-dev/runnel/internal/resource"
)

// The largest sizes. gRPC reads no larger request, and writes no larger frame to a
// client that has not raised its limit of 4 MiB.
const (
	maxRequestBytes Bytes = 64 << 20
	maxFrameBytes   Bytes = 4<<20 - 64<<10 // less the head of a batch
)

// minAudit is the least time between audits: each lists everything.
const minAudit = Duration(time.Minute)

// validator collects what is wrong with the values of a Config.
type validator struct {
	file string
	// lines and flags tell where fields were set, by path.
	lines map[string]int
	flags map[string]string
	// unread are the paths of fields that are wrong as they stand.
	unread   map[string]bool
	problems Problems
	// other says that the file is of another version or kind: what else it holds
	// cannot be judged.
	other bool
}

// reject says what is wrong with a field.
func (v *validator) reject(field string, err error) {
	p := Problem{Field: field, Flag: v.flags[field], Err: err}
	if p.Flag == "" {
		p.File = v.file
		for at := field; at != ""; at = parent(at) {
			if v.unread[at] {
				return
			}
			// What is missing in the file is missed where it ought to be.
			p.Line = cmp.Or(p.Line, v.lines[at])
		}
	}
	v.problems = append(v.problems, p)
}

// parent is the path of what a field stands in.
func parent(field string) string { return field[:max(0, strings.LastIndexAny(field, ".["))] }

func (v *validator) rejectAll(field string, problems []string) {
	for _, problem := range problems {
		v.reject(field, errors.New(problem))
	}
}

func (v *validator) version(c *Config) {
	for _, f := range []struct{ field, got, want string }{
		{"apiVersion", c.APIVersion, APIVersion}, {"kind", c.Kind, Kind},
	} {
		if f.got != f.want {
			v.reject(f.field, fmt.Errorf("must be %s", f.want))
			v.other = v.other || f.got != ""
		}
	}
}

func (v *validator) config(c *Config) {
	v.listen(c.Listen)
	v.tls(c)
	positive(v, "drainTimeout", c.DrainTimeout)
	if c.Log.Format != "json" && c.Log.Format != "text" {
		v.reject("log.format", fmt.Errorf("%q is neither json nor text", c.Log.Format))
	}
	positive(v, "sources.idleStop", c.Sources.IdleStop)
	positive(v, "sources.recentBytes", c.Sources.RecentBytes)
	positive(v, "sources.lingerBytes", c.Sources.LingerBytes)
	if a := c.Sources.Audit; a != 0 && a < minAudit {
		v.reject("sources.audit", fmt.Errorf("must be 0s for never, or at least %s", minAudit))
	}
	v.allowed(c.AllowedResources)
	v.preload(c)
	v.limits(&c.Limits)
	positive(v, "views.batchBytes", c.Views.BatchBytes)
	positive(v, "views.liveBytes", c.Views.LiveBytes)
	positive(v, "views.horizon", c.Views.Horizon)
	positive(v, "views.ring", c.Views.Ring)
	positive(v, "views.endedStays", c.Views.EndedStays)
}

func (v *validator) listen(address string) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		v.reject("listen", fmt.Errorf("%q is no host:port", address))
	}
}

func (v *validator) tls(c *Config) {
	switch {
	case c.Insecure && c.TLS != TLS{}:
		v.reject("insecure", errors.New("TLS files and insecure exclude each other"))
	case c.Insecure:
	case c.TLS.CertFile == "" && c.TLS.KeyFile == "":
		v.reject("tls", errors.New("TLS needs a certificate and a key; to serve plaintext to anyone, set insecure"))
	case c.TLS.CertFile == "":
		v.reject("tls.certFile", errors.New("TLS needs a certificate besides the key"))
	case c.TLS.KeyFile == "":
		v.reject("tls.keyFile", errors.New("TLS needs a key besides the certificate"))
	}
}

func (v *validator) allowed(groups []AllowedResources) {
	for i, g := range groups {
		field := fmt.Sprintf("allowedResources[%d]", i)
		if g.Group != resource.Wildcard {
			v.group(field+".group", g.Group)
		}
		if len(g.Resources) == 0 {
			v.reject(field+".resources", fmt.Errorf("at least one is needed, or %q", resource.Wildcard))
		}
		for j, name := range g.Resources {
			if name != resource.Wildcard {
				v.rejectAll(fmt.Sprintf("%s.resources[%d]", field, j), validation.IsDNS1123Label(name))
			}
		}
	}
}

func (v *validator) group(field, group string) {
	if group != "" {
		v.rejectAll(field, validation.IsDNS1123Subdomain(group))
	}
}

func (v *validator) preload(c *Config) {
	for i, p := range c.Sources.Preload {
		field := fmt.Sprintf("sources.preload[%d]", i)
		v.group(field+".group", p.Group)
		if p.Version != "" {
			v.rejectAll(field+".version", validation.IsDNS1035Label(p.Version))
		}
		if p.Resource == "" {
			v.reject(field+".resource", errors.New("the plural name is needed, such as pods"))
			continue
		}
		if problems := validation.IsDNS1123Label(p.Resource); len(problems) > 0 {
			v.rejectAll(field+".resource", problems)
			continue
		}
		if _, err := labels.Parse(p.LabelSelector); err != nil {
			v.reject(field+".labelSelector", err)
		}
		if _, err := fields.ParseSelector(p.FieldSelector); err != nil {
			v.reject(field+".fieldSelector", err)
		}
		v.beside(field, p, c.Sources.Preload[:i])
		if !c.Allowed().Allows(p.Group, p.Resource) {
			v.reject(field, &resource.NotAllowedError{Group: p.Group, Resource: p.Resource})
		}
	}
}

// beside checks that a preloaded resource goes with those before it.
func (v *validator) beside(field string, p Preload, before []Preload) {
	gr := schema.GroupResource{Group: p.Group, Resource: p.Resource}
	same := slices.IndexFunc(before, func(o Preload) bool { return o.Group == p.Group && o.Resource == p.Resource })
	switch {
	case same < 0:
	case before[same].LabelSelector != p.LabelSelector || before[same].FieldSelector != p.FieldSelector:
		v.reject(field, fmt.Errorf("%s has other selectors in sources.preload[%d]; they hold for all its versions", gr, same))
	case slices.Contains(before, p):
		v.reject(field, fmt.Errorf("the same as sources.preload[%d]", slices.Index(before, p)))
	}
}

func (v *validator) limits(l *Limits) {
	sized(v, "limits.requestBytes", l.RequestBytes, maxRequestBytes)
	positive(v, "limits.resources", l.Resources)
	positive(v, "limits.namespaces", l.Namespaces)
	positive(v, "limits.names", l.Names)
	positive(v, "limits.selectorBytes", l.SelectorBytes)
	positive(v, "limits.requirements", l.Requirements)
	positive(v, "limits.paths", l.Paths)
	sized(v, "limits.frameBytes", l.FrameBytes, maxFrameBytes)
	positive(v, "limits.bookmark", l.Bookmark)
	positive(v, "limits.minBookmark", l.MinBookmark)
	if l.Bookmark > 0 && l.MinBookmark > l.Bookmark {
		v.reject("limits.minBookmark", fmt.Errorf("must not be longer than limits.bookmark, which is %s", l.Bookmark))
	}
	positive(v, "limits.retry", l.Retry)
	positive(v, "limits.behindWait", l.BehindWait)
}

func positive[T cmp.Ordered](v *validator, field string, value T) bool {
	var zero T
	if value <= zero {
		v.reject(field, errors.New("must be more than 0"))
		return false
	}
	return true
}

func sized(v *validator, field string, value, most Bytes) {
	if positive(v, field, value) && value > most {
		v.reject(field, fmt.Errorf("must not be more than %s", most))
	}
}
