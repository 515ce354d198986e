package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// patched is an object's change from one state to the next, as a patch.
func patched(base, next *runnelv1.Event, patch string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_MODIFIED, Namespace: next.GetNamespace(), Name: next.GetName(), Uid: next.GetUid(),
		ResourceVersion: next.GetResourceVersion(), BaseVersion: base.GetVersion(), Version: next.GetVersion(),
		Payload: &runnelv1.Event_MergePatchJson{MergePatchJson: patch},
	}
}

func patchRequest() *runnelv1.SubscribeRequest {
	request := podRequest()
	request.Delta = runnelv1.DeltaMode_DELTA_MODE_PATCH
	return request
}

func TestReplicaAppliesPatchesToWhatTheyAreFor(t *testing.T) {
	a, b, c := added("web", "1", "10", "a"), modified("web", "1", "11", "b"), modified("web", "1", "12", "c")
	toB, toC := patched(a, b, `{"body":"b"}`), patched(b, c, `{"body":"c"}`)
	other := modified("web", "1", "11", "other")
	stale := patched(a, b, `{"body":"b"}`)
	stale.ResourceVersion = "9"
	anew := added("web", "2", "11", "b")
	for _, tt := range []struct {
		name   string
		frames frames // after a snapshot of a
		want   error
		told   []string
		body   string
	}{
		{"one after the other", frames{batch(false, toB), batch(false, toC), bookmark(c)}, nil,
			[]string{"MODIFIED web/1@11", "MODIFIED web/1@12"}, "c"},
		{"after a whole object", frames{batch(false, b, toC), bookmark(c)}, nil, []string{"MODIFIED web/1@11", "MODIFIED web/1@12"}, "c"},
		{"then a whole object", frames{batch(false, toB, c), bookmark(c)}, nil, []string{"MODIFIED web/1@11", "MODIFIED web/1@12"}, "c"},
		{"in a snapshot, of what it has brought", frames{newReset(), batch(true, a), batch(true, toB), synced(b)}, nil,
			[]string{"MODIFIED web/1@11 initial"}, "b"},
		{"to what is held already", frames{batch(false, b, toB), bookmark(b)}, nil, []string{"MODIFIED web/1@11"}, "b"},
		{"older than what is held", frames{batch(false, stale), bookmark(a)}, nil, nil, "a"},
		{"one is missing", frames{batch(false, toC)}, ErrBaseMismatch, nil, "a"},
		{"for another state", frames{batch(false, other, patched(b, c, `{}`))}, ErrBaseMismatch, []string{"MODIFIED web/1@11"}, "other"},
		{"of an object that is not held", frames{batch(false, deleted("web", "1", "11"), toC)}, ErrBaseMismatch,
			[]string{"DELETED web/1@11 gone"}, ""},
		{"of another object of that name", frames{batch(false, patched(a, anew, `{}`))}, ErrBaseMismatch, nil, "a"},
		{"that is not JSON", frames{batch(false, patched(a, b, `{`))}, ErrProtocol, nil, "a"},
		{"that is no object", frames{batch(false, patched(a, b, `null`))}, ErrProtocol, nil, "a"},
		{"as ADDED", frames{batch(false, func() *runnelv1.Event {
			e := patched(a, b, `{}`)
			e.Type = runnelv1.EventType_EVENT_TYPE_ADDED
			return e
		}())}, ErrProtocol, nil, "a"},
		{"without content", frames{batch(false, func() *runnelv1.Event {
			e := patched(a, b, `{}`)
			e.Payload = nil
			return e
		}())}, ErrProtocol, nil, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorderOf(t, patchRequest())
			r.feed(t, frames{newReset(), batch(true, a), synced(a)})
			r.told = nil
			var err error
			for _, frame := range tt.frames {
				if err = r.Apply(frame); err != nil {
					break
				}
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			r.wantTold(t, tt.told...)
			want := `{"body":"` + tt.body + `"}`
			if tt.body == "" {
				want = ""
			}
			if object, _ := r.Object(0, "ns", "web"); string(object) != want {
				t.Errorf("holds %s, want %s", object, want)
			}
			counted := uint64(0)
			if errors.Is(tt.want, ErrBaseMismatch) {
				counted = 1
			}
			if r.Mismatches() != counted {
				t.Errorf("counted %d mismatches, want %d", r.Mismatches(), counted)
			}
		})
	}
}

// What an earlier event told may be kept: a patch must not write into it.
func TestReplicaTellsWhatAPatchReplaced(t *testing.T) {
	a, b := added("web", "1", "10", "a"), modified("web", "1", "11", "b")
	var told []Event
	replica, err := NewReplica(patchRequest(), func(e Event) error {
		told = append(told, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := replica.Apply(batch(false, a, patched(a, b, `{"body":"b"}`))); err != nil {
		t.Fatal(err)
	}
	if told[0].Previous != nil || string(told[0].Object) != `{"body":"a"}` {
		t.Errorf("ADDED: %s, was %s", told[0].Object, told[0].Previous)
	}
	if string(told[1].Previous) != `{"body":"a"}` || string(told[1].Object) != `{"body":"b"}` {
		t.Errorf("MODIFIED: %s, was %s", told[1].Object, told[1].Previous)
	}
}

func TestSubscribeStartsOverWhenAPatchIsForAnotherVersion(t *testing.T) {
	a, b, c := added("web", "1", "10", "a"), modified("web", "1", "11", "b"), modified("web", "1", "12", "c")
	synctest.Test(t, func(t *testing.T) {
		server, fake, stop := newFake(t, func(call int, _ *runnelv1.SubscribeRequest, stream stream) error {
			if call == 0 { // forgets to send b
				return send(stream, newReset(), batch(true, a), synced(a), allSynced(), batch(false, patched(b, c, `{"body":"c"}`)))
			}
			return send(stream, newReset(), batch(true, c), synced(c), allSynced())
		})
		defer stop()
		r := newRecorderOf(t, patchRequest())
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var interruptions []Interruption
		err := server.Subscribe(ctx, patchRequest(), Handler{
			Frame: func(frame *runnelv1.SubscribeResponse) error {
				err := r.Apply(frame)
				if r.Digest(0) == digestOf(digestOfStates([]*runnelv1.Event{c})) {
					cancel(errEnough)
				}
				return err
			},
			Interrupted: func(i Interruption) { interruptions = append(interruptions, i) },
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		r.wantTold(t, "ADDED web/1@10 initial", "MODIFIED web/1@12 initial")
		if calls, _ := fake.counts(); calls != 2 || len(interruptions) != 1 || !errors.Is(interruptions[0].Err, ErrBaseMismatch) {
			t.Errorf("%d calls, interrupted by %+v", calls, interruptions)
		}
	})
}
