package client

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/encoding/protodelim"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// FuzzReplicaApply gives a replica any frames, each after its length. It may refuse them,
// but not panic, and what it keeps beside the objects stays right.
func FuzzReplicaApply(f *testing.F) {
	a, b := added("a", "1", "10", "a"), modified("a", "1", "11", "b")
	anew := added("a", "2", "12", "a")
	for _, all := range []frames{
		{newReset(), batch(true, a), synced(a), allSynced(), batch(false, b), bookmark(b)},
		{newReset(), batch(true, a), resumed(), batch(false, forgotten("1", ""), anew, deleted("a", "2", "13")), synced()},
		{resetFrame(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN), batch(true, a, patched(a, b, `{"body":"b"}`)), newReset(), synced()},
		{with("token", of(1, batch(false, a))), of(1, newReset()), of(1, resumed()), of(2, synced())},
		{{}, batch(false, &runnelv1.Event{}), batch(false, added("", "", "", "")), batch(false, anew, a, added("b", "1", "1", ""))},
	} {
		var data bytes.Buffer
		for _, frame := range all {
			if _, err := protodelim.MarshalTo(&data, frame); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(data.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		request := patchRequest()
		request.Resources = append(request.Resources, &runnelv1.ResourceSubscription{Resource: "nodes"})
		r, err := NewReplica(request, nil)
		if err != nil {
			t.Fatal(err)
		}
		for reader := bytes.NewReader(data); ; {
			frame := &runnelv1.SubscribeResponse{}
			if err := protodelim.UnmarshalFrom(reader, frame); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return
			} else if err != nil {
				continue
			}
			for _, e := range frame.GetBatch().GetEvents() {
				if object := e.GetObjectJson(); object != "" { // would hardly be right by chance
					e.Version = xxhash.Sum64String(object)
				}
			}
			if err := r.Apply(frame); err != nil && !diverged(err) && !errors.Is(err, ErrProtocol) {
				t.Fatalf("%v: %v", frame, err)
			}
			wantSound(t, r)
		}
	})
}
