package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// stream shows the frames of a subscription. All its methods run on the goroutine of
// Client.Subscribe.
type stream struct {
	options   *options
	resources []printer.Resource
	printer   printer.Printer
	reporter  *reporter
	// replica knows whole objects and says what changed; nil where frames are shown as
	// they come.
	replica *client.Replica
	// verified tells for which resources a digest has matched.
	verified []bool
	// synced says that the overall Synced came.
	synced bool
}

// begin begins a stream: what was synced and verified on the last one must be so again.
func (s *stream) begin() {
	s.synced = false
	clear(s.verified)
}

// frame shows a frame.
func (s *stream) frame(frame *runnelv1.SubscribeResponse) error {
	if s.replica != nil {
		// Shows the changes, through change.
		if err := s.replica.Apply(frame); err != nil {
			return errors.Join(err, s.printer.Flush())
		}
	} else if batch := frame.GetBatch(); batch != nil {
		for _, e := range batch.GetEvents() {
			s.printer.Event(rawEvent(batch, e))
		}
	}
	if resumed := frame.GetResumed(); resumed != nil {
		s.reporter.resumed(s.name(resumed.GetResource()))
	}
	if c, ok := s.control(frame); ok && (c.Type != "BOOKMARK" || s.options.bookmarks) {
		s.printer.Control(c)
	}
	if err := s.printer.Flush(); err != nil {
		return err
	}
	s.synced = s.synced || frame.GetSynced() != nil && frame.GetSynced().Resource == nil
	checked := !s.options.verify || !slices.Contains(s.verified, false)
	if s.options.untilSynced && s.synced && checked {
		return errDone
	}
	return nil
}

// change shows a change of the replica.
func (s *stream) change(e client.Event) error {
	s.printer.Event(printer.Event{Event: e})
	return nil
}

// control is the frame as a control frame, if it is one. It notes what was verified:
// the replica has compared the digest before.
func (s *stream) control(frame *runnelv1.SubscribeResponse) (c printer.Control, ok bool) {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Reset_:
		c = printer.Control{Type: "RESET", Resource: s.name(f.Reset_.GetResource()), Reason: enumName(f.Reset_.GetReason(), "RESET_REASON_")}
	case *runnelv1.SubscribeResponse_Resumed:
		c = printer.Control{Type: "RESUMED", Resource: s.name(f.Resumed.GetResource())}
	case *runnelv1.SubscribeResponse_Synced:
		c = printer.Control{Type: "SYNCED"}
		if f.Synced.Resource != nil {
			c.Resource = s.name(f.Synced.GetResource())
			s.digest(&c, f.Synced.GetResource(), f.Synced.GetDigest())
		}
	case *runnelv1.SubscribeResponse_Bookmark:
		c = printer.Control{Type: "BOOKMARK", Resource: s.name(f.Bookmark.GetResource()), ResourceVersion: f.Bookmark.GetResourceVersion()}
		s.digest(&c, f.Bookmark.GetResource(), f.Bookmark.GetDigest())
	case *runnelv1.SubscribeResponse_Status:
		c = printer.Control{
			Type: "STATUS", Resource: s.name(f.Status.GetResource()), State: enumName(f.Status.GetState(), "SOURCE_STATE_"),
			Message: f.Status.GetMessage(), DataAsOf: f.Status.GetDataAsOf(),
		}
	case *runnelv1.SubscribeResponse_Goodbye:
		c = printer.Control{Type: "GOODBYE", Reason: enumName(f.Goodbye.GetReason(), "GOODBYE_REASON_"), RetryAfterMS: f.Goodbye.GetRetryAfterMs()}
	default:
		return printer.Control{}, false
	}
	return c, true
}

func (s *stream) digest(c *printer.Control, resource uint32, d *runnelv1.Digest) {
	if d == nil {
		return
	}
	count := d.GetCount()
	c.Objects, c.Digest = &count, fmt.Sprintf("%016x", d.GetHash())
	if s.options.verify && int(resource) < len(s.verified) {
		c.Verified, s.verified[resource] = true, true
	}
}

// name is the resource at an index of the request, as it was asked for.
func (s *stream) name(resource uint32) string {
	if int(resource) >= len(s.resources) {
		return fmt.Sprintf("resources[%d]", resource)
	}
	return s.resources[resource].Name
}

// rawEvent is an event as the server sent it.
func rawEvent(batch *runnelv1.Batch, e *runnelv1.Event) printer.Event {
	event := printer.Event{Patch: e.GetMergePatchJson(), Event: client.Event{
		Type:            client.EventType(enumName(e.GetType(), "EVENT_TYPE_")),
		Resource:        int(batch.GetResource()),
		Namespace:       e.GetNamespace(),
		Name:            e.GetName(),
		UID:             e.GetUid(),
		ResourceVersion: e.GetResourceVersion(),
		Initial:         batch.GetInitial(),
	}}
	if e.GetReason() != runnelv1.DeletionReason_DELETION_REASON_UNSPECIFIED {
		reason := strings.ToLower(enumName(e.GetReason(), "DELETION_REASON_"))
		event.Reason = client.DeletionReason(strings.ReplaceAll(reason, "_", "-"))
	}
	if object := e.GetObjectJson(); object != "" {
		event.Object = []byte(object)
	}
	return event
}

// enumName is an enum's value without the prefix that protobuf asks for.
func enumName(value fmt.Stringer, prefix string) string {
	return strings.TrimPrefix(value.String(), prefix)
}
