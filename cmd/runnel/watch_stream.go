package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/client"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

var (
	// errDone ends a watch that has shown what it was to show.
	errDone = errors.New("done")
	// errTimeIsUp ends a watch after --for.
	errTimeIsUp = errors.New("the time of --for is up")
)

// watch is one run of the command. All its methods run on the goroutine of
// Client.Subscribe.
type watch struct {
	options   *watchOptions
	resources []resourceName
	printer   watchPrinter
	// replica checks what comes and says what changed; nil without --verify.
	replica *client.Replica
	// verified tells for which resources a digest has matched.
	verified []bool
	// synced says that the overall Synced came.
	synced bool
	// interruption is what stderr was told last, less the delay.
	interruption string
}

// frame shows a frame.
func (w *watch) frame(frame *runnelv1.SubscribeResponse) error {
	if w.replica != nil {
		// Shows the changes, through change.
		if err := w.replica.Apply(frame); err != nil {
			return errors.Join(err, w.printer.flush())
		}
	} else if batch := frame.GetBatch(); batch != nil {
		for _, e := range batch.GetEvents() {
			w.printer.event(w.name(batch.GetResource()), rawEvent(batch, e))
		}
	}
	if c, ok := w.control(frame); ok && (c.Type != "BOOKMARK" || w.options.bookmarks) {
		w.printer.control(c)
	}
	if err := w.printer.flush(); err != nil {
		return err
	}
	w.synced = w.synced || frame.GetSynced() != nil && frame.GetSynced().Resource == nil
	checked := w.replica == nil || !slices.Contains(w.verified, false)
	if w.options.untilSynced && w.synced && checked {
		return errDone
	}
	return nil
}

// change shows a change of the replica.
func (w *watch) change(e client.Event) error {
	w.printer.event(w.name(uint32(e.Resource)), e)
	return nil
}

// control is the frame as a control frame, if it is one. It notes what was verified:
// the replica has compared the digest before.
func (w *watch) control(frame *runnelv1.SubscribeResponse) (c control, ok bool) {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Reset_:
		c = control{Type: "RESET", Resource: w.name(f.Reset_.GetResource()), Reason: enumName(f.Reset_.GetReason(), "RESET_REASON_")}
	case *runnelv1.SubscribeResponse_Resumed:
		c = control{Type: "RESUMED", Resource: w.name(f.Resumed.GetResource())}
	case *runnelv1.SubscribeResponse_Synced:
		c = control{Type: "SYNCED"}
		if f.Synced.Resource != nil {
			c.Resource = w.name(f.Synced.GetResource())
			w.digest(&c, f.Synced.GetResource(), f.Synced.GetDigest())
		}
	case *runnelv1.SubscribeResponse_Bookmark:
		c = control{Type: "BOOKMARK", Resource: w.name(f.Bookmark.GetResource()), ResourceVersion: f.Bookmark.GetResourceVersion()}
		w.digest(&c, f.Bookmark.GetResource(), f.Bookmark.GetDigest())
	case *runnelv1.SubscribeResponse_Status:
		c = control{
			Type: "STATUS", Resource: w.name(f.Status.GetResource()), State: enumName(f.Status.GetState(), "SOURCE_STATE_"),
			Message: f.Status.GetMessage(), DataAsOf: f.Status.GetDataAsOf(),
		}
	case *runnelv1.SubscribeResponse_Goodbye:
		c = control{Type: "GOODBYE", Reason: enumName(f.Goodbye.GetReason(), "GOODBYE_REASON_"), RetryAfterMS: f.Goodbye.GetRetryAfterMs()}
	default:
		return control{}, false
	}
	return c, true
}

func (w *watch) digest(c *control, resource uint32, d *runnelv1.Digest) {
	if d == nil {
		return
	}
	count := d.GetCount()
	c.Objects, c.Digest = &count, fmt.Sprintf("%016x", d.GetHash())
	if w.replica != nil && int(resource) < len(w.verified) {
		c.Verified, w.verified[resource] = true, true
	}
}

// connected begins a stream: what was synced and verified on the last one must be so
// again.
func (w *watch) connected() {
	w.synced = false
	clear(w.verified)
	if w.interruption != "" {
		fmt.Fprintln(w.options.stderr, "runnel: connected")
	}
	w.interruption = ""
}

// interrupted says on stderr why there is no stream. Quick retries for the same
// reason are told once.
func (w *watch) interrupted(i client.Interruption) {
	reason := i.Err.Error()
	if reason == w.interruption && i.RetryIn < time.Second {
		return
	}
	w.interruption = reason
	fmt.Fprintln(w.options.stderr, "runnel:", describeInterruption(i, w.options.server))
}

// result turns the end of the subscription into the command's error. The context is
// the one that the subscription had.
func (w *watch) result(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errDone), errors.Is(err, syscall.EPIPE):
		err = nil
	case ctx.Err() != nil && w.options.untilSynced:
		err = fmt.Errorf("not synced: %w", context.Cause(ctx))
	case ctx.Err() != nil:
		err = nil
	default:
		if _, ok := status.FromError(err); ok {
			err = errors.New(describe(err))
		}
	}
	if w.replica != nil && w.replica.Mismatches() > 0 {
		err = errors.Join(fmt.Errorf("what the server sent proved wrong (%d)", w.replica.Mismatches()), err)
	}
	return err
}

// name is the resource at an index of the request, as it was asked for.
func (w *watch) name(resource uint32) string {
	if int(resource) >= len(w.resources) {
		return fmt.Sprintf("resources[%d]", resource)
	}
	return w.resources[resource].String()
}

// rawEvent is an event as the server sent it.
func rawEvent(batch *runnelv1.Batch, e *runnelv1.Event) client.Event {
	event := client.Event{
		Type:            client.EventType(enumName(e.GetType(), "EVENT_TYPE_")),
		Resource:        int(batch.GetResource()),
		Namespace:       e.GetNamespace(),
		Name:            e.GetName(),
		UID:             e.GetUid(),
		ResourceVersion: e.GetResourceVersion(),
		Initial:         batch.GetInitial(),
	}
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
