package watch

import (
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// request is what the options ask for of each target. A person at a terminal wants
// the error at once: fail_fast.
func (o *options) request(targets []target) *runnelv1.SubscribeRequest {
	request := &runnelv1.SubscribeRequest{FailFast: true}
	if o.bookmarkInterval > 0 {
		request.BookmarkInterval = durationpb.New(o.bookmarkInterval)
	}
	if o.minInterval > 0 {
		request.MinInterval = durationpb.New(o.minInterval)
	}
	if o.showPatch {
		request.Delta = runnelv1.DeltaMode_DELTA_MODE_PATCH
	}
	for _, t := range targets {
		r := &runnelv1.ResourceSubscription{
			Group:         t.resource.Group,
			Version:       t.name.Version,
			Resource:      t.resource.Plural,
			Names:         t.objects,
			LabelSelector: o.selector,
			FieldSelector: o.field,
			Projection:    o.part(),
			IgnorePaths:   o.ignore,
		}
		if t.resource.Namespaced { // like kubectl: of cluster-scoped ones, all
			r.Namespaces = o.namespaces
		}
		request.Resources = append(request.Resources, r)
	}
	return request
}

// part is the part of the objects to ask for; nil for all of it.
func (o *options) part() *runnelv1.Projection {
	switch {
	case len(o.paths) > 0:
		return &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: o.paths}}}
	case o.metadataOnly():
		return &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{MetadataOnly: &runnelv1.MetadataOnly{}}}
	}
	return nil
}

// metadataOnly says whether metadata is all that is asked for; names need no more.
func (o *options) metadataOnly() bool {
	return o.projection == "metadata" || o.projection == "" && o.output == "name" && len(o.paths) == 0
}
