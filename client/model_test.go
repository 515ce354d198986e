package client

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// A subscriber and its servers under a random history: streams are served by replicas
// that lag, answer by token, by known versions or by RESET, and break anywhere. In the end
// the copy is what the world is, and all that was told on the way fits together.
func TestReplicaBecomesTheWorldWhateverBreaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSubscriber(t)
		w := newWorld(t)
		for range rapid.IntRange(0, 8).Draw(t, "streams") {
			w.advance()
			s.attempt(w)
		}
		w.calm = true
		for range 20 { // two by known versions, then snapshots; more where history was rewritten unseen
			if s.attempt(w) {
				s.wantWorld(w)
				return
			}
		}
		t.Fatal("the copy does not become right")
	})
}

// subscriber does what Subscribe does, without a network.
type subscriber struct {
	t          *rapid.T
	request    *runnelv1.SubscribeRequest
	resumption resumption
	replica    *Replica
	// told is what the events add up to, by UID.
	told map[string]Event
	// anyOrder says that history was, or may have been, rewritten.
	anyOrder bool
}

func newSubscriber(t *rapid.T) *subscriber {
	s := &subscriber{t: t, request: podRequest(), told: map[string]Event{}}
	if rapid.Bool().Draw(t, "patches") {
		s.request = patchRequest()
	}
	var err error
	if s.replica, err = NewReplica(s.request, s.tell); err != nil {
		t.Fatal(err)
	}
	known := s.replica.Known
	if rapid.IntRange(0, 4).Draw(t, "without known") == 0 {
		known = nil
	}
	s.resumption = newResumption(s.request, known)
	return s
}

// attempt serves one stream. It says whether that reached the overall Synced and broke
// for no fault of the copy.
func (s *subscriber) attempt(w *world) bool {
	s.resumption.fill(s.request)
	st := &serving{world: w, deliver: s.take, patches: s.request.GetDelta() == runnelv1.DeltaMode_DELTA_MODE_PATCH}
	o := outcome{err: st.serve(s.request)}
	if st.sent {
		o.opened = time.Unix(1, 0)
	}
	o.synced, o.byHandler = st.synced, diverged(o.err)
	s.resumption.ended(&o)
	return o.synced && !o.diverged()
}

func (s *subscriber) take(frame *runnelv1.SubscribeResponse) error {
	if frame.GetReset_().GetReason() == runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN ||
		s.replica.resources[0].outvoted >= maxOutvoted {
		s.anyOrder = true
	}
	token, moved := tokenOf(frame)
	err := s.replica.Apply(frame)
	if err != nil && !diverged(err) {
		s.t.Fatalf("%v: %v", frame, err)
	}
	wantSound(s.t, s.replica)
	if len(s.told) != len(s.replica.resources[0].byName) {
		s.t.Fatalf("was told of %d objects, the copy has %d", len(s.told), len(s.replica.resources[0].byName))
	}
	for _, e := range s.told {
		if object, _ := s.replica.Object(0, e.Namespace, e.Name); string(object) != string(e.Object) {
			s.t.Fatalf("%s was told as %s, the copy has %s", e.Name, e.Object, object)
		}
	}
	if err == nil && moved {
		s.resumption.commit(token)
	}
	return err
}

// tell checks that an event fits to those before.
func (s *subscriber) tell(e Event) error {
	held, holds := s.told[e.UID]
	switch e.Type {
	case Added:
		for _, other := range s.told {
			if other.UID == e.UID || other.Name == e.Name {
				s.t.Fatalf("ADDED %s/%s while %s/%s is there", e.Name, e.UID, other.Name, other.UID)
			}
		}
		s.told[e.UID] = e
	case Modified:
		if !holds || string(e.Previous) != string(held.Object) || e.Name != held.Name {
			s.t.Fatalf("MODIFIED %s/%s from %s, which is %q", e.Name, e.UID, e.Previous, held.Object)
		}
		s.told[e.UID] = e
	case Deleted:
		if !holds || string(e.Object) != string(held.Object) || e.Name != held.Name || e.Reason == "" {
			s.t.Fatalf("DELETED %s/%s %q as %s, which is %q", e.Name, e.UID, e.Reason, e.Object, held.Object)
		}
		delete(s.told, e.UID)
	}
	if holds && older(e.ResourceVersion, held.ResourceVersion) && !s.anyOrder {
		s.t.Fatalf("%s %s/%s goes back from %s to %s", e.Type, e.Name, e.UID, held.ResourceVersion, e.ResourceVersion)
	}
	return nil
}

func (s *subscriber) wantWorld(w *world) {
	last := w.states[len(w.states)-1]
	if got, want := s.replica.Digest(0), last.digest(); got != want {
		s.t.Fatalf("the copy is %v, the world %v", got, want)
	}
	for name, e := range last.objects {
		if object, _ := s.replica.Object(0, "ns", name); string(object) != e.GetObjectJson() {
			s.t.Fatalf("%s is %s, want %s", name, object, e.GetObjectJson())
		}
	}
}

// wantSound checks that what a replica keeps beside the objects is right.
func wantSound(t interface{ Fatalf(string, ...any) }, r *Replica) {
	for _, o := range r.resources {
		var d Digest
		for name, held := range o.byName {
			d.add(held.uid, held.version)
			if held.objectName != name || o.find(held.uid) != held {
				t.Fatalf("%v is not found as what it is", name)
			}
		}
		if d != o.digest || len(o.byHash) != len(o.byName) || len(o.known()) != 16*len(o.byName) {
			t.Fatalf("digest %v of %v, %d hashes of %d objects", o.digest, d, len(o.byHash), len(o.byName))
		}
	}
}
