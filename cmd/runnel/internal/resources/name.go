package resources

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	labelPattern   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// Name is a resource as people write it: resource, resource.group or
// resource.version.group.
type Name struct {
	// Resource is in lower case: a plural, a singular, a kind or a short name.
	Resource string
	// Version is empty if none was given.
	Version string
	// Group may be empty with HasGroup: the core group, which "pods.v1" asks for.
	Group    string
	HasGroup bool
}

// Parse reads a name. The second part is a version if it looks like one (v1, v1beta2),
// else the group begins there. "pods.v1" and "pods.v1." are the same: of the core group.
func Parse(s string) (Name, error) {
	resource, rest, hasGroup := strings.Cut(s, ".")
	n := Name{Resource: strings.ToLower(resource), Group: rest, HasGroup: hasGroup}
	if version, group, _ := strings.Cut(rest, "."); versionPattern.MatchString(version) {
		n.Version, n.Group = version, group
	}
	labels := []string{n.Resource}
	if n.Group != "" || hasGroup && n.Version == "" {
		labels = append(labels, strings.Split(n.Group, ".")...)
	}
	for _, label := range labels {
		if !labelPattern.MatchString(label) {
			return Name{}, fmt.Errorf("resource %q: want a form like pods, deployments.apps or deployments.v1.apps", s)
		}
	}
	return n, nil
}

// String is the shortest form that Parse reads as the same.
func (n Name) String() string {
	s := n.Resource
	for _, part := range []string{n.Version, n.Group} {
		if part != "" {
			s += "." + part
		}
	}
	return s
}
