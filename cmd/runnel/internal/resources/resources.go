// Package resources knows the names under which people ask for resources, as kubectl
// resolves them: plurals, singulars, kinds and short names, in any case, with or
// without group and version.
//
// The resources of Kubernetes itself are a table (builtin.go), generated from an API
// server's discovery; those of custom resources come from their definitions, see
// FromDefinition. Everything here is immutable and safe for concurrent use.
//
// Start reading at Parse and Find.
package resources

import (
	"slices"
	"strings"
)

// Resource is what an API server says of a resource in discovery.
type Resource struct {
	// Group is empty for the core group.
	Group string
	// Plural is the resource's name in the API, Singular another one for people.
	Plural, Singular string
	Kind             string
	Short            []string
	Namespaced       bool
}

// String is how kubectl names the resource: "pods", "deployments.apps".
func (r Resource) String() string { return join(r.Plural, r.Group) }

// Object is how kubectl names an object of the resource: "pod/web-1",
// "deployment.apps/web".
func (r Resource) Object(name string) string {
	singular := r.Singular
	if singular == "" {
		singular = strings.ToLower(r.Kind)
	}
	if singular == "" {
		singular = r.Plural
	}
	return join(singular, r.Group) + "/" + name
}

func join(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// Builtin are the resources of Kubernetes that can be listed and watched, those of the
// core group first. The caller owns the slice.
func Builtin() []Resource { return slices.Clone(builtin[:]) }

// Find returns the resource that a name means. Plurals, singulars and kinds come
// before short names, and earlier resources before later ones: kubectl's order. A
// group must be the resource's, or the beginning of it where no group is equal.
//
// The version plays no part: a resource is served in several.
func Find(all []Resource, name Name) (Resource, bool) {
	for _, inGroup := range []func(group string) bool{
		func(group string) bool { return !name.HasGroup || group == name.Group },
		func(group string) bool { return name.Group != "" && strings.HasPrefix(group, name.Group) },
	} {
		for _, named := range []func(Resource) bool{
			func(r Resource) bool {
				return name.Resource == r.Plural || name.Resource == r.Singular || name.Resource == strings.ToLower(r.Kind)
			},
			func(r Resource) bool { return slices.Contains(r.Short, name.Resource) },
		} {
			for _, r := range all {
				if inGroup(r.Group) && named(r) {
					return r, true
				}
			}
		}
	}
	return Resource{}, false
}

// Complete returns the names that begin with the prefix: plurals, with their groups
// where the plural alone means another resource. They are sorted.
func Complete(all []Resource, prefix string) []string {
	var names []string
	for _, r := range all {
		name := r.Plural
		if found, _ := Find(all, Name{Resource: name}); found.Group != r.Group {
			name = r.String()
		}
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
