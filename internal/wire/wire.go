// Package wire encodes what the server sends, once for all subscribers.
//
// The expensive part of a frame is the events in it. An Event is encoded when a
// view takes in a change and is shared by every subscriber from then on; what
// differs from one subscriber to another (the type of the event, the batch around
// it) is a few bytes. A batch is put together by listing buffers, never by
// copying payloads, and reaches grpc-go as a mem.BufferSlice through Codec.
//
// Invariant: buffers inside an Event are immutable and may be in use by any
// number of goroutines; they are left to the garbage collector (mem.SliceBuffer),
// because counting references costs more than it saves.
//
// Views encode on the informer's handler goroutine; subscribers build frames on
// their own. Start reading at Object and Batch.
package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Numbers of the fields that are encoded by hand; a test holds them against the
// generated code.
const (
	eventType            = 1
	eventNamespace       = 2
	eventName            = 3
	eventUID             = 4
	eventUIDHash         = 5
	eventResourceVersion = 6
	eventVersion         = 7
	eventBaseVersion     = 8
	eventReason          = 9
	eventObjectJSON      = 10
	eventPatchJSON       = 11

	batchResource = 1
	batchInitial  = 2
	batchEvents   = 3
	batchToken    = 4

	responseBatch = 1
)

// Identity names an object and one state of it.
type Identity struct {
	Namespace, Name, UID, ResourceVersion string
}

// Event is one encoded element of Batch.events.
type Event struct {
	head, payload, tail mem.Buffer
	size                int
}

// Size is the number of bytes that the event takes on the wire.
func (e Event) Size() int { return e.size }

// Payload is the JSON that the event carries; nil on DELETED. It must not be changed.
func (e Event) Payload() []byte {
	if e.payload == nil {
		return nil
	}
	return e.payload.ReadOnlyData()
}

// Object is a live object's state, encoded once; Event makes it ADDED or
// MODIFIED.
type Object struct {
	head, payload mem.Buffer
	size          int
}

// NewObject encodes an object. It keeps json, which must not be changed.
func NewObject(id Identity, version uint64, json []byte) Object {
	head := appendIdentity(nil, id)
	head = protowire.AppendTag(head, eventVersion, protowire.Fixed64Type)
	head = protowire.AppendFixed64(head, version)
	e := payloadEvent(head, eventObjectJSON, json, added)
	return Object{head: e.head, payload: e.payload, size: e.size}
}

// payloadEvent puts an event together from its first fields, its payload and its
// type, which comes last.
func payloadEvent(head []byte, field protowire.Number, payload []byte, tail mem.Buffer) Event {
	head = protowire.AppendTag(head, field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(payload)))
	head = prependElement(head, len(head)+len(payload)+tail.Len())
	return Event{
		head:    mem.SliceBuffer(head),
		payload: mem.SliceBuffer(payload),
		tail:    tail,
		size:    len(head) + len(payload) + tail.Len(),
	}
}

// JSON is the object's JSON. It must not be changed.
func (o Object) JSON() []byte { return o.payload.ReadOnlyData() }

// Added is the object as an ADDED event.
func (o Object) Added() Event { return Event{o.head, o.payload, added, o.size} }

// Modified is the object as a MODIFIED event.
func (o Object) Modified() Event { return Event{o.head, o.payload, modified, o.size} }

var (
	added    mem.Buffer = typeTail(runnelv1.EventType_EVENT_TYPE_ADDED)
	modified mem.Buffer = typeTail(runnelv1.EventType_EVENT_TYPE_MODIFIED)
)

func typeTail(t runnelv1.EventType) mem.SliceBuffer {
	return appendType(nil, t)
}

// NewPatch encodes a MODIFIED event that carries a merge patch from the base
// version to the version. It keeps patch, which must not be changed.
func NewPatch(id Identity, version, base uint64, patch []byte) Event {
	head := appendIdentity(nil, id)
	head = protowire.AppendTag(head, eventVersion, protowire.Fixed64Type)
	head = protowire.AppendFixed64(head, version)
	head = protowire.AppendTag(head, eventBaseVersion, protowire.Fixed64Type)
	head = protowire.AppendFixed64(head, base)
	return payloadEvent(head, eventPatchJSON, patch, modified)
}

// NewDeleted encodes a DELETED event.
func NewDeleted(id Identity, reason runnelv1.DeletionReason) Event {
	b := appendIdentity(nil, id)
	b = protowire.AppendTag(b, eventReason, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(reason))
	b = appendType(b, runnelv1.EventType_EVENT_TYPE_DELETED)
	b = prependElement(b, len(b))
	return Event{head: mem.SliceBuffer(b), size: len(b)}
}

// NewForgotten encodes a DELETED event of an object of which only the hash of its
// UID is known, and an upper bound of the deletion's resourceVersion.
func NewForgotten(uid uint64, resourceVersion string) Event {
	b := protowire.AppendTag(nil, eventUIDHash, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uid)
	b = appendString(b, eventResourceVersion, resourceVersion)
	b = protowire.AppendTag(b, eventReason, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN))
	b = appendType(b, runnelv1.EventType_EVENT_TYPE_DELETED)
	b = prependElement(b, len(b))
	return Event{head: mem.SliceBuffer(b), size: len(b)}
}

func appendType(b []byte, t runnelv1.EventType) []byte {
	b = protowire.AppendTag(b, eventType, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(t))
}

func appendIdentity(b []byte, id Identity) []byte {
	b = appendString(b, eventNamespace, id.Namespace)
	b = appendString(b, eventName, id.Name)
	b = appendString(b, eventUID, id.UID)
	return appendString(b, eventResourceVersion, id.ResourceVersion)
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// prependElement puts the tag and length of a Batch.events element of size bytes
// before its first part.
func prependElement(first []byte, size int) []byte {
	b := make([]byte, 0, protowire.SizeTag(batchEvents)+protowire.SizeVarint(uint64(size))+len(first))
	b = protowire.AppendTag(b, batchEvents, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	return append(b, first...)
}

// Frame is an encoded SubscribeResponse. It may be sent once.
type Frame struct{ data mem.BufferSlice }

// Batch returns the frame that carries the events of one resource of the request, and
// the resume token after them, if there is one.
func Batch(resource int, initial bool, events []Event, token []byte) *Frame {
	size := 0
	for _, e := range events {
		size += e.size
	}
	var fields []byte
	if resource != 0 {
		fields = protowire.AppendTag(fields, batchResource, protowire.VarintType)
		fields = protowire.AppendVarint(fields, uint64(resource))
	}
	if initial {
		fields = protowire.AppendTag(fields, batchInitial, protowire.VarintType)
		fields = protowire.AppendVarint(fields, 1)
	}
	if len(token) > 0 {
		fields = protowire.AppendTag(fields, batchToken, protowire.BytesType)
		fields = protowire.AppendBytes(fields, token)
	}
	head := protowire.AppendTag(nil, responseBatch, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(fields)+size))
	head = append(head, fields...)

	data := make(mem.BufferSlice, 0, 1+3*len(events))
	data = append(data, mem.SliceBuffer(head))
	for _, e := range events {
		data = append(data, e.head)
		if e.payload != nil {
			data = append(data, e.payload, e.tail)
		}
	}
	return &Frame{data: data}
}

// Bytes returns a copy of the encoded frame.
func (f *Frame) Bytes() []byte { return f.data.Materialize() }
