package main

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// way is one way to subscribe to the Pods or Nodes.
type way struct {
	name    string
	request *runnelv1.SubscribeRequest
}

// The ways that others are compared with, or that are compared object by object.
const (
	wholeObjects = "whole objects"
	mergePatches = "merge patches"
)

// agentPaths are what something that follows Pods around typically needs.
var agentPaths = []string{
	"metadata.labels", "metadata.deletionTimestamp",
	"spec.nodeName", "status.phase", "status.podIP", "status.conditions[*].type", "status.conditions[*].status",
}

// podWays are compared on the Pods of the workload.
func podWays() []way {
	pods := func(r *runnelv1.ResourceSubscription) *runnelv1.ResourceSubscription {
		r.Resource, r.Namespaces = "pods", []string{namespace}
		return r
	}
	metadata := &runnelv1.ResourceSubscription{Projection: &runnelv1.Projection{
		Part: &runnelv1.Projection_MetadataOnly{MetadataOnly: &runnelv1.MetadataOnly{}},
	}}
	// Paths leave out resourceVersion where they do not list it.
	paths := &runnelv1.ResourceSubscription{Projection: &runnelv1.Projection{
		Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: agentPaths}},
	}}
	conflated := patched("merge patches, once a second", pods(&runnelv1.ResourceSubscription{}))
	conflated.request.MinInterval = durationpb.New(time.Second)
	return []way{
		full(wholeObjects, pods(&runnelv1.ResourceSubscription{})),
		patched(mergePatches, pods(&runnelv1.ResourceSubscription{})),
		conflated,
		full("metadata only", pods(metadata)),
		patched("metadata only, merge patches", pods(metadata)),
		full("seven paths", pods(paths)),
		patched("seven paths, merge patches", pods(paths)),
	}
}

// nodeWays are compared on the Nodes, which report their status.
func nodeWays() []way {
	quiet := &runnelv1.ResourceSubscription{
		Resource:    "nodes",
		IgnorePaths: []string{"metadata.resourceVersion", "status.conditions[*].lastHeartbeatTime"},
	}
	return []way{
		full(wholeObjects, &runnelv1.ResourceSubscription{Resource: "nodes"}),
		patched(mergePatches, &runnelv1.ResourceSubscription{Resource: "nodes"}),
		full("ignoring resourceVersion and heartbeats", quiet),
	}
}

func full(name string, r *runnelv1.ResourceSubscription) way {
	return subscription(name, r, runnelv1.DeltaMode_DELTA_MODE_FULL)
}

func patched(name string, r *runnelv1.ResourceSubscription) way {
	return subscription(name, r, runnelv1.DeltaMode_DELTA_MODE_PATCH)
}

func subscription(name string, r *runnelv1.ResourceSubscription, delta runnelv1.DeltaMode) way {
	return way{name: name, request: &runnelv1.SubscribeRequest{
		Resources: []*runnelv1.ResourceSubscription{r},
		Delta:     delta,
		FailFast:  true,
		// Each bookmark carries a digest to verify the copy with. They are not counted.
		BookmarkInterval: durationpb.New(time.Second),
	}}
}
