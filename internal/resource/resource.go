// Package resource finds resources, built-in or custom, by the names that
// subscribers use.
//
// What the API server serves is learnt through discovery and kept; a name that is
// not known makes the resolver look again, at most once per interval however
// many callers ask for it. A Resolver is safe for concurrent use.
package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

var (
	// ErrUnknown says that the API server serves no such resource.
	ErrUnknown = errors.New("unknown resource")
	// ErrNotWatchable says that the resource has no list or no watch.
	ErrNotWatchable = errors.New("resource cannot be listed and watched")
)

// Resource is a resource in one version.
type Resource struct {
	schema.GroupVersionResource
	// Kind is that of its objects.
	Kind string
	// Namespaced says that its objects live in namespaces.
	Namespaced bool
}

// GroupVersionKind is that of the resource's objects.
func (r Resource) GroupVersionKind() schema.GroupVersionKind {
	return r.GroupVersion().WithKind(r.Kind)
}

// String is "resource.version.group", or "resource.version" in the core group.
func (r Resource) String() string {
	s := r.Resource + "." + r.Version
	if r.Group != "" {
		s += "." + r.Group
	}
	return s
}

// Resolver resolves names of resources.
type Resolver struct {
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper

	mu         sync.Mutex // guards refreshed
	refreshed  time.Time
	minRefresh time.Duration
}

// NewResolver returns a resolver that asks the API server through the client.
func NewResolver(client discovery.DiscoveryInterface) *Resolver {
	cached := memory.NewMemCacheClient(client)
	return &Resolver{
		discovery:  cached,
		mapper:     restmapper.NewDeferredDiscoveryRESTMapper(cached),
		minRefresh: time.Second, // a new CRD is found soon, and a typo costs little
	}
}

// Resolve returns the resource of that group and plural name. An empty version
// stands for the preferred one. It may ask the API server. Errors are
// ErrUnknown, ErrNotWatchable, or what the API server answered.
func (r *Resolver) Resolve(ctx context.Context, group, version, name string) (Resource, error) {
	asked := schema.GroupVersionResource{Group: group, Version: version, Resource: name}
	res, err := r.lookUp(asked)
	if errors.Is(err, ErrUnknown) && r.refresh() {
		res, err = r.lookUp(asked)
	}
	if ctx.Err() != nil {
		return Resource{}, ctx.Err()
	}
	return res, err
}

func (r *Resolver) lookUp(asked schema.GroupVersionResource) (Resource, error) {
	found, err := r.mapper.ResourcesFor(asked)
	if err != nil && !meta.IsNoMatchError(err) {
		return Resource{}, fmt.Errorf("discovery: %w", err)
	}
	// The mapper takes an empty group for any, and singular names too.
	found = slices.DeleteFunc(found, func(gvr schema.GroupVersionResource) bool {
		return gvr.Group != asked.Group || gvr.Resource != asked.Resource
	})
	if len(found) == 0 {
		return Resource{}, fmt.Errorf("%w %s", ErrUnknown, quoted(asked))
	}
	kind, err := r.mapper.KindFor(found[0])
	if err != nil {
		return Resource{}, fmt.Errorf("discovery: %w", err)
	}
	// Without a version the mapper answers with the preferred one.
	var versions []string
	if asked.Version != "" {
		versions = append(versions, asked.Version)
	}
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return Resource{}, fmt.Errorf("discovery: %w", err)
	}
	res := Resource{
		GroupVersionResource: mapping.Resource,
		Kind:                 mapping.GroupVersionKind.Kind,
		Namespaced:           mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}
	list, err := r.discovery.ServerResourcesForGroupVersion(res.GroupVersion().String())
	if err != nil {
		return Resource{}, fmt.Errorf("discovery: %w", err)
	}
	served := slices.IndexFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == res.Resource })
	if served < 0 {
		return Resource{}, fmt.Errorf("%w %s", ErrUnknown, quoted(asked))
	}
	if verbs := list.APIResources[served].Verbs; !slices.Contains(verbs, "list") || !slices.Contains(verbs, "watch") {
		return Resource{}, fmt.Errorf("%w: %q", ErrNotWatchable, asked.GroupResource())
	}
	return res, nil
}

// Versions asks the API server, whatever is known, in which versions it serves the
// resource now; there are none where it does not serve it at all. What was learnt within
// the last second is not asked again. An error says that it could not be found out.
func (r *Resolver) Versions(ctx context.Context, gr schema.GroupResource) (versions []string, err error) {
	r.refresh()
	groups, err := r.discovery.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	for _, group := range groups.Groups {
		if group.Name != gr.Group {
			continue
		}
		for _, version := range group.Versions {
			list, err := r.discovery.ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil {
				return nil, fmt.Errorf("discovery: %w", err)
			}
			if slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == gr.Resource }) {
				versions = append(versions, version.Version)
			}
		}
	}
	return versions, ctx.Err()
}

// quoted is the name that was asked for.
func quoted(asked schema.GroupVersionResource) string {
	name := strconv.Quote(asked.GroupResource().String())
	if asked.Version != "" {
		name += " in version " + strconv.Quote(asked.Version)
	}
	return name
}

// refresh forgets what is known, unless that was done just now.
func (r *Resolver) refresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.refreshed) < r.minRefresh {
		return false
	}
	r.refreshed = time.Now()
	r.mapper.Reset()
	return true
}
