package source

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/runnel-dev/runnel/internal/resource"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Preload is a resource whose source is started with the pool and kept as long as
// the pool runs, whether or not anybody uses it.
type Preload struct {
	// Group is the API group, "" for the core group.
	Group string
	// Version is the API version, "" for the preferred one.
	Version string
	// Resource is the plural name.
	Resource string
	// LabelSelector and FieldSelector are the API server's own. What they do not
	// select is not listed, watched or kept, in whichever version of the resource,
	// and so is there for nobody; when an object leaves them it is DELETED with
	// reason LEFT_VIEW, for to the pool that looks as if it were gone (D4).
	LabelSelector, FieldSelector string
}

// Resolver finds resources by their names. Its errors are those of package
// resource.
type Resolver interface {
	Resolve(ctx context.Context, group, version, name string) (resource.Resource, error)
	// Versions are those in which the API server serves the resource now; none if it does
	// not.
	Versions(ctx context.Context, gr schema.GroupResource) ([]string, error)
}

// restriction limits what a source lists and watches, by selectors in canonical
// form.
type restriction struct{ labels, fields string }

func (r restriction) any() bool { return r != restriction{} }

// apply makes a list or watch ask for just what is in the restriction.
func (r restriction) apply(options *metav1.ListOptions) {
	options.LabelSelector, options.FieldSelector = r.labels, r.fields
}

// restrictions returns those of the resources that have one.
func restrictions(preload []Preload) (map[schema.GroupResource]restriction, error) {
	all := map[schema.GroupResource]restriction{}
	for _, p := range preload {
		gr := schema.GroupResource{Group: p.Group, Resource: p.Resource}
		byLabels, err := labels.Parse(p.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("label selector of %s: %w", gr, err)
		}
		byFields, err := fields.ParseSelector(p.FieldSelector)
		if err != nil {
			return nil, fmt.Errorf("field selector of %s: %w", gr, err)
		}
		r := restriction{byLabels.String(), byFields.String()}
		// Its versions are the same objects: one must not let in what another keeps out.
		if other, ok := all[gr]; ok && other != r {
			return nil, fmt.Errorf("%s is preloaded with different selectors", gr)
		}
		all[gr] = r
	}
	return all, nil
}

// preloadBackoff is how a resource is looked for that is not there: soon at first,
// for a CRD is often installed together with what reads its objects.
func preloadBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: time.Minute}
}

// preload opens the source whenever the resource is there, until ctx ends, and calls settled
// once it has synced or it is known why not.
func (p *Pool) preload(ctx context.Context, pre Preload, settled func()) {
	log := p.cfg.Log.With("resource", schema.GroupVersionResource{Group: pre.Group, Version: pre.Version, Resource: pre.Resource}.String())
	for {
		res, ok := p.await(ctx, pre, log, settled)
		if !ok || !p.keep(ctx, res, log, settled) {
			return
		}
	}
}

// keep uses the source of a resource as long as that is served. It reports false if ctx
// ended before.
func (p *Pool) keep(ctx context.Context, res resource.Resource, log *slog.Logger, settled func()) bool {
	s, release := p.Open(res)
	wake := make(chan struct{}, 1)
	defer s.Notify(wake)()
	tell := sync.OnceFunc(func() {
		if state := s.State(); state.Ready() {
			log.Info("preloaded", "objects", s.Stats().Objects)
		} else {
			log.Warn("cannot preload yet", "state", state.Source.String(), "reason", state.Message)
		}
	})
	for {
		state := s.State()
		if state.Source != runnelv1.SourceState_SOURCE_STATE_STARTING {
			tell()
			settled()
		}
		if state.Ended() {
			release()
			return true
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return false
		}
	}
}

// await resolves the resource, however long it takes.
func (p *Pool) await(ctx context.Context, pre Preload, log *slog.Logger, missing func()) (res resource.Resource, ok bool) {
	backoff := preloadBackoff()
	var told string
	for {
		res, err := p.resolve(ctx, pre)
		if err == nil {
			return res, true
		}
		if ctx.Err() != nil {
			return res, false
		}
		if err.Error() != told {
			told = err.Error()
			log.Warn("cannot preload yet", "reason", told)
		}
		missing()
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
			return res, false
		}
	}
}

// resolve does not wait for an API server that hangs once ctx has ended.
func (p *Pool) resolve(ctx context.Context, pre Preload) (resource.Resource, error) {
	type answer struct {
		res resource.Resource
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		res, err := p.cfg.Resolver.Resolve(ctx, pre.Group, pre.Version, pre.Resource)
		answers <- answer{res, err}
	}()
	select {
	case a := <-answers:
		return a.res, a.err
	case <-ctx.Done():
		return resource.Resource{}, ctx.Err()
	}
}
