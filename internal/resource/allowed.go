package resource

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Wildcard stands for any group or any resource in an AllowedGroup.
const Wildcard = "*"

// Allowed says which resources may be served, in whichever version. What any of its
// groups lists is allowed; if it is empty, everything is. A wildcard never reaches
// Secrets, nor does the empty list: they are served only where they are listed by
// name. It must not be changed while it is in use.
type Allowed []AllowedGroup

// AllowedGroup allows resources of one API group.
type AllowedGroup struct {
	// Group is the API group, "" for the core group, or Wildcard.
	Group string
	// Resources are plural names, or Wildcard.
	Resources []string
}

// Allows tells whether the resource of that group and plural name is allowed. It
// does not matter whether there is such a resource.
func (a Allowed) Allows(group, name string) bool {
	if len(a) == 0 {
		return !secret(group, name)
	}
	return slices.ContainsFunc(a, func(g AllowedGroup) bool {
		if g.Group != group && g.Group != Wildcard {
			return false
		}
		return slices.Contains(g.Resources, name) || slices.Contains(g.Resources, Wildcard) && !secret(group, name)
	})
}

// secret tells whether objects of the resource are made to hold what only a few may
// read. Whoever deploys a server for Pods must not open them unawares.
func secret(group, name string) bool { return group == "" && name == "secrets" }

// NotAllowedError says that a resource is not among the allowed ones, and how to
// allow it.
type NotAllowedError struct{ Group, Resource string }

// Error names the entry of the configuration that is missing.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("%q are not allowed here; to allow them, list {group: %q, resources: [%q]} under allowedResources in the server's configuration",
		schema.GroupResource{Group: e.Group, Resource: e.Resource}.String(), e.Group, e.Resource)
}
