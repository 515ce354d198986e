package wire

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHandWrittenFieldNumbersAreTheAPIs(t *testing.T) {
	for _, message := range []struct {
		descriptor protoreflect.MessageDescriptor
		fields     map[protoreflect.Name]protoreflect.FieldNumber
	}{
		{(&runnelv1.Event{}).ProtoReflect().Descriptor(), map[protoreflect.Name]protoreflect.FieldNumber{
			"type": eventType, "namespace": eventNamespace, "name": eventName, "uid": eventUID, "uid_hash": eventUIDHash,
			"resource_version": eventResourceVersion, "version": eventVersion, "reason": eventReason,
			"object_json": eventObjectJSON, "base_version": eventBaseVersion, "merge_patch_json": eventPatchJSON,
		}},
		{(&runnelv1.Batch{}).ProtoReflect().Descriptor(), map[protoreflect.Name]protoreflect.FieldNumber{
			"resource": batchResource, "initial": batchInitial, "events": batchEvents, "resume_token": batchToken,
		}},
		{(&runnelv1.SubscribeResponse{}).ProtoReflect().Descriptor(), map[protoreflect.Name]protoreflect.FieldNumber{
			"batch": responseBatch,
		}},
	} {
		for name, number := range message.fields {
			if f := message.descriptor.Fields().ByName(name); f == nil || f.Number() != number {
				t.Errorf("%s.%s is not %d but %v", message.descriptor.Name(), name, number, f)
			}
		}
	}
}

var (
	object  = NewObject(Identity{"ns", "obj", "u1", "42"}, 0xfedcba9876543210, []byte(`{"a":"é","n":9007199254740993}`))
	empty   = NewObject(Identity{Name: "e"}, 0, nil)
	patch   = NewPatch(Identity{"ns", "obj", "u1", "44"}, 7, 0xfedcba9876543210, []byte(`{"a":null}`))
	deleted = NewDeleted(Identity{"ns", "gone", "u2", "43"}, runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW)

	forgotten = NewForgotten(0xfedcba9876543210, "45")

	forgottenEvent = &runnelv1.Event{
		UidHash: 0xfedcba9876543210, ResourceVersion: "45",
		Type:   runnelv1.EventType_EVENT_TYPE_DELETED,
		Reason: runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN,
	}
	objectEvent = &runnelv1.Event{
		Namespace: "ns", Name: "obj", Uid: "u1", ResourceVersion: "42", Version: 0xfedcba9876543210,
		Payload: &runnelv1.Event_ObjectJson{ObjectJson: `{"a":"é","n":9007199254740993}`},
	}
	patchEvent = &runnelv1.Event{
		Type:      runnelv1.EventType_EVENT_TYPE_MODIFIED,
		Namespace: "ns", Name: "obj", Uid: "u1", ResourceVersion: "44", Version: 7, BaseVersion: 0xfedcba9876543210,
		Payload: &runnelv1.Event_MergePatchJson{MergePatchJson: `{"a":null}`},
	}
	emptyEvent   = &runnelv1.Event{Name: "e", Payload: &runnelv1.Event_ObjectJson{}}
	deletedEvent = &runnelv1.Event{
		Namespace: "ns", Name: "gone", Uid: "u2", ResourceVersion: "43",
		Type:   runnelv1.EventType_EVENT_TYPE_DELETED,
		Reason: runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW,
	}
)

func as(e *runnelv1.Event, t runnelv1.EventType) *runnelv1.Event {
	e = proto.CloneOf(e)
	e.Type = t
	return e
}

func TestFramesDecodeByTheGeneratedCodeToWhatWasPutIn(t *testing.T) {
	const added, modified = runnelv1.EventType_EVENT_TYPE_ADDED, runnelv1.EventType_EVENT_TYPE_MODIFIED
	for i, test := range []struct {
		resource int
		initial  bool
		events   []Event
		token    []byte
		want     *runnelv1.Batch
	}{
		{0, false, nil, nil, &runnelv1.Batch{}},
		{0, false, []Event{object.Added()}, nil, &runnelv1.Batch{Events: []*runnelv1.Event{as(objectEvent, added)}}},
		{0, false, []Event{patch}, []byte{1, 2}, &runnelv1.Batch{Events: []*runnelv1.Event{patchEvent}, ResumeToken: []byte{1, 2}}},
		{0, false, []Event{forgotten}, nil, &runnelv1.Batch{Events: []*runnelv1.Event{forgottenEvent}}},
		{300, true, []Event{deleted, object.Modified(), empty.Added()}, []byte{3}, &runnelv1.Batch{
			Resource: 300, Initial: true, ResumeToken: []byte{3},
			Events: []*runnelv1.Event{deletedEvent, as(objectEvent, modified), as(emptyEvent, added)},
		}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var got runnelv1.SubscribeResponse
			if err := proto.Unmarshal(Batch(test.resource, test.initial, test.events, test.token).Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.GetBatch(), protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSizeIsWhatTheEventTakes(t *testing.T) {
	for _, e := range []Event{object.Added(), object.Modified(), empty.Added(), deleted, forgotten} {
		none, one := len(Batch(1, true, []Event{e}, nil).Bytes()), len(Batch(1, true, []Event{e, e}, nil).Bytes())
		// The length of the batch may take a byte more.
		if n := one - none; n != e.Size() && n != e.Size()+1 {
			t.Errorf("takes %d bytes, Size is %d", n, e.Size())
		}
	}
}

// Events are shared by all subscribers.
func TestFramesShareTheObjectsBytes(t *testing.T) {
	json := []byte(`{"x":1}`)
	o := NewObject(Identity{Name: "o"}, 1, json)
	if &o.JSON()[0] != &json[0] {
		t.Error("the JSON was copied")
	}
	shared := false
	for _, b := range Batch(0, false, []Event{o.Added()}, nil).data {
		if data := b.ReadOnlyData(); len(data) > 0 && &data[0] == &json[0] {
			shared = true
		}
	}
	if !shared {
		t.Error("the frame holds a copy")
	}
}

func TestCodecPassesFramesAsTheyAreAndMarshalsOthers(t *testing.T) {
	frame := Batch(2, false, []Event{object.Added()}, nil)
	data, err := Codec{}.Marshal(frame)
	if err != nil || string(data.Materialize()) != string(frame.Bytes()) {
		t.Errorf("frame: %v", err)
	}
	want := &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Resumed{Resumed: &runnelv1.Resumed{Resource: 4}}}
	if data, err = (Codec{}).Marshal(want); err != nil {
		t.Fatal(err)
	}
	var got runnelv1.SubscribeResponse
	if err := (Codec{}).Unmarshal(data, &got); err != nil || !proto.Equal(&got, want) {
		t.Errorf("%v, %v", &got, err)
	}
	if _, err := (Codec{}).Marshal("no message"); err == nil {
		t.Error("a string was marshalled")
	}
	if err := (Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer("\xff")}, &got); err == nil {
		t.Error("garbage was unmarshalled")
	}
}

// Clients ask for "proto".
func TestCodecHasTheNameOfTheStandardOne(t *testing.T) {
	if name := (Codec{}).Name(); encoding.GetCodecV2(name) == nil || name != "proto" {
		t.Errorf("name %q", name)
	}
}
