package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// explain says what is subscribed to, and how to do it by hand.
func explain(address string, request *runnelv1.SubscribeRequest) {
	text := strings.ReplaceAll(protojson.Format(request.GetResources()[0]), "\n", "")
	fmt.Printf(`
Runnel serves at %s. In another terminal, while this runs:

  make build tools
  bin/runnel watch pods -n %s -l app=web --insecure --server %s
  .cache/bin/grpcurl -plaintext -d '{"resources":[%s]}' %s runnel.v1.EventService/Subscribe

Subscribing, as merge patches, to pods with label app=web, to pods whose
status.phase is Running, and to widgets (a custom resource). What is done to the
cluster is on the left, what the subscriber is told on the right.

`, address, namespace, address, strings.Join(strings.Fields(text), ""), address)
}

// act prints what is done to the cluster.
func act(say string) { fmt.Printf("▸ %s\n", say) }

// printer prints frames. It has a name for each resource of the request.
type printer struct{ names []string }

func (p *printer) frame(frame *runnelv1.SubscribeResponse) {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Reset_:
		p.line(f.Reset_.GetResource(), "RESET", "a snapshot follows")
	case *runnelv1.SubscribeResponse_Batch:
		for _, e := range f.Batch.GetEvents() {
			p.event(f.Batch, e)
		}
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			fmt.Printf("%28s%-9s %s\n\n", "", "SYNCED", "everything that existed was sent; changes follow")
			return
		}
		p.line(f.Synced.GetResource(), "SYNCED", fmt.Sprintf("objects: %d, digest %016x", f.Synced.GetDigest().GetCount(), f.Synced.GetDigest().GetHash()))
	case *runnelv1.SubscribeResponse_Status:
		p.line(f.Status.GetResource(), "STATUS", short(f.Status.GetState().String(), "SOURCE_STATE_"))
	case *runnelv1.SubscribeResponse_Bookmark:
		p.line(f.Bookmark.GetResource(), "BOOKMARK", fmt.Sprintf("level at resourceVersion %s", f.Bookmark.GetResourceVersion()))
	case *runnelv1.SubscribeResponse_Goodbye:
		fmt.Printf("%28s%-9s %s\n", "", "GOODBYE", short(f.Goodbye.GetReason().String(), "GOODBYE_REASON_"))
	}
}

func (p *printer) event(b *runnelv1.Batch, e *runnelv1.Event) {
	text := fmt.Sprintf("%s (uid %.8s, resourceVersion %s)", e.GetName(), e.GetUid(), e.GetResourceVersion())
	if reason := e.GetReason(); reason != 0 {
		text += ": " + short(reason.String(), "DELETION_REASON_")
	}
	if b.GetInitial() {
		text += ", snapshot"
	}
	if patch := e.GetMergePatchJson(); patch != "" {
		text = e.GetName() + " " + patch
	}
	p.line(b.GetResource(), strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_"), text)
}

func (p *printer) line(resource uint32, what, text string) {
	fmt.Printf("%28s%-9s %-12s  %s\n", "", what, p.names[resource], text)
}

func short(enum, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(enum, prefix)), "_", "-")
}
