package main

import (
	"context"

	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// meter knows the size on the wire of the message that was received last: with
// gRPC's header of five bytes, without the frames of HTTP/2 around it. It belongs to
// one stream, whose receiver grpc-go calls it from.
type meter struct{ last int }

var _ stats.Handler = (*meter)(nil)

// HandleRPC implements stats.Handler.
func (m *meter) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		m.last = in.WireLength
	}
}

// TagRPC implements stats.Handler.
func (m *meter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn implements stats.Handler.
func (m *meter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (m *meter) HandleConn(context.Context, stats.ConnStats) {}

// sum counts events of one kind and their bytes.
type sum struct{ events, bytes int }

func (s *sum) add(bytes int) { s.events, s.bytes = s.events+1, s.bytes+bytes }

// mean is the bytes per event.
func (s sum) mean() float64 {
	if s.events == 0 {
		return 0
	}
	return float64(s.bytes) / float64(s.events)
}

// tally is what one subscriber received.
type tally struct {
	// snapshot is the bytes of all messages up to the overall Synced.
	snapshot int
	// live is the events after it; its bytes are those of whole messages.
	live sum
	// The same events by what they carry; their bytes are those of the events alone.
	added, modified, patched, deleted sum
}

// allModified is the changes of what was held, patches or not.
func (t *tally) allModified() sum {
	return sum{t.modified.events + t.patched.events, t.modified.bytes + t.patched.bytes}
}

// count takes in a live batch that took so many bytes on the wire.
func (t *tally) count(b *runnelv1.Batch, wire int) {
	t.live.events += len(b.GetEvents())
	t.live.bytes += wire
	for _, e := range b.GetEvents() {
		size := proto.Size(e)
		switch {
		case e.GetType() == runnelv1.EventType_EVENT_TYPE_ADDED:
			t.added.add(size)
		case e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED:
			t.deleted.add(size)
		case e.GetMergePatchJson() != "":
			t.patched.add(size)
		default:
			t.modified.add(size)
		}
	}
}
