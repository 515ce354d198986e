package main

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

var (
	versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	labelPattern   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// resourceName is a resource as people write it: resource, resource.group or
// resource.version.group, like kubectl.
type resourceName struct{ resource, version, group string }

// parseResource reads a resource. The second part is a version if it looks like one
// (v1, v1beta2), else the group begins there; the core group is empty, so that
// "pods", "pods.v1" and "pods.v1." are the same.
func parseResource(s string) (resourceName, error) {
	resource, rest, _ := strings.Cut(s, ".")
	r := resourceName{resource: resource, group: rest}
	if version, group, _ := strings.Cut(rest, "."); versionPattern.MatchString(version) {
		r.version, r.group = version, group
	}
	labels := []string{r.resource}
	if r.group != "" || strings.HasSuffix(s, ".") && r.version == "" {
		labels = append(labels, strings.Split(r.group, ".")...)
	}
	for _, label := range labels {
		if !labelPattern.MatchString(label) {
			return resourceName{}, fmt.Errorf("resource %q: want a form like pods, deployments.apps or deployments.v1.apps", s)
		}
	}
	return r, nil
}

// String is the shortest form that parseResource reads as the same.
func (r resourceName) String() string {
	s := r.resource
	for _, part := range []string{r.version, r.group} {
		if part != "" {
			s += "." + part
		}
	}
	return s
}

// parseResources reads a list of resources, separated by commas.
func parseResources(list string) ([]resourceName, error) {
	var resources []resourceName
	for s := range strings.SplitSeq(list, ",") {
		r, err := parseResource(s)
		if err != nil {
			return nil, err
		}
		resources = append(resources, r)
	}
	return resources, nil
}

// request is what the options ask for of each resource. A person at a terminal
// wants the error at once: fail_fast.
func (o *watchOptions) request(resources []resourceName) (*runnelv1.SubscribeRequest, error) {
	var projection *runnelv1.Projection
	switch o.projection {
	case "whole":
	case "metadata":
		projection = &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{MetadataOnly: &runnelv1.MetadataOnly{}}}
	default:
		return nil, fmt.Errorf("--projection: %q is neither whole nor metadata", o.projection)
	}
	request := &runnelv1.SubscribeRequest{FailFast: true}
	if o.bookmarkInterval > 0 {
		request.BookmarkInterval = durationpb.New(o.bookmarkInterval)
	}
	for _, r := range resources {
		request.Resources = append(request.Resources, &runnelv1.ResourceSubscription{
			Group:         r.group,
			Version:       r.version,
			Resource:      r.resource,
			Namespaces:    o.namespaces,
			Names:         o.names,
			LabelSelector: o.selector,
			Projection:    projection,
		})
	}
	return request, nil
}
