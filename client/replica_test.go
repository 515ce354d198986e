package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

type frames = []*runnelv1.SubscribeResponse

// recorder is a replica and what it told since the last look, in the short form
// "ADDED name/uid@resourceVersion".
type recorder struct {
	*Replica
	told []string
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	return newRecorderOf(t, podRequest())
}

func newRecorderOf(t *testing.T, request *runnelv1.SubscribeRequest) *recorder {
	t.Helper()
	r := &recorder{}
	replica, err := NewReplica(request, func(e Event) error {
		line := fmt.Sprintf("%s %s/%s@%s", e.Type, e.Name, e.UID, e.ResourceVersion)
		if e.Reason != "" {
			line += " " + string(e.Reason)
		}
		if e.Initial {
			line += " initial"
		}
		r.told = append(r.told, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Replica = replica
	return r
}

func (r *recorder) feed(t *testing.T, all frames) {
	t.Helper()
	for i, frame := range all {
		if err := r.Apply(frame); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
}

func (r *recorder) wantTold(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.told, want) {
		t.Errorf("told\n  %s\nwant\n  %s", strings.Join(r.told, "\n  "), strings.Join(want, "\n  "))
	}
	r.told = nil
}

func TestReplicaTellsRealChangesOnly(t *testing.T) {
	web, db := added("web", "1", "10", "a"), added("db", "2", "11", "a")
	start := frames{newReset(), batch(true, web, db), synced(web, db)}
	rewritten := resetFrame(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN)
	for _, tt := range []struct {
		name   string
		frames frames // after start
		want   []string
	}{
		{"a snapshot of what is held says nothing",
			frames{newReset(), batch(true, db, web), synced(web, db)}, nil},
		{"a snapshot with a changed object says MODIFIED",
			frames{newReset(), batch(true, added("web", "1", "12", "b"), db), synced(added("web", "1", "12", "b"), db)},
			[]string{"MODIFIED web/1@12 initial"}},
		{"what a snapshot lacks is dropped",
			frames{newReset(), batch(true, db), synced(db)},
			[]string{"DELETED web/1@10 final-state-unknown initial"}},
		{"what a snapshot lacks is kept until the snapshot is complete",
			frames{newReset(), batch(true, db)}, nil},
		{"a snapshot that broke off does not count for the next",
			frames{newReset(), batch(true, web), newReset(), batch(true, db), synced(db)},
			[]string{"DELETED web/1@10 final-state-unknown initial"}},
		{"an object re-created during a gap is DELETED, then ADDED",
			frames{newReset(), batch(true, added("web", "3", "12", "a"), db), synced(added("web", "3", "12", "a"), db)},
			[]string{"DELETED web/1@10 final-state-unknown initial", "ADDED web/3@12 initial"}},
		{"an object re-created live is DELETED, then ADDED",
			frames{batch(false, deleted("web", "1", "12"), added("web", "3", "13", "a")), bookmark(added("web", "3", "13", "a"), db)},
			[]string{"DELETED web/1@12 gone", "ADDED web/3@13"}},
		{"an object that entered during a snapshot is held after it",
			frames{newReset(), batch(true, web, db), batch(true, added("new", "3", "12", "a")), synced(web, db, added("new", "3", "12", "a"))},
			[]string{"ADDED new/3@12 initial"}},
		{"an object deleted during a snapshot is told once",
			frames{newReset(), batch(true, web, db), batch(true, deleted("web", "1", "12")), synced(db)},
			[]string{"DELETED web/1@12 gone initial"}},
		{"an older state is refused",
			frames{batch(false, modified("web", "1", "9", "old"))}, nil},
		{"an older deletion is refused",
			frames{batch(false, deleted("web", "1", "9"))}, nil},
		{"an older object of the same name is refused",
			frames{batch(false, added("web", "0", "9", "a"))}, nil},
		{"an equal resourceVersion with other content is applied",
			frames{batch(false, modified("web", "1", "10", "b"))},
			[]string{"MODIFIED web/1@10"}},
		{"a resourceVersion that is not a number is applied",
			frames{batch(false, modified("web", "1", "opaque", "b"))},
			[]string{"MODIFIED web/1@opaque"}},
		{"a newer resourceVersion with the same content says nothing, and is kept",
			frames{batch(false, modified("web", "1", "20", "a")), batch(false, modified("web", "1", "19", "b"))}, nil},
		{"a rewritten history is accepted",
			frames{rewritten, batch(true, added("web", "1", "5", "restored"), added("db", "9", "6", "a")),
				synced(added("web", "1", "5", "restored"), added("db", "9", "6", "a"))},
			[]string{"MODIFIED web/1@5 initial", "DELETED db/2@11 final-state-unknown initial", "ADDED db/9@6 initial"}},
		{"a rewritten history is accepted across a stream that broke off",
			frames{rewritten, newReset(), batch(true, added("web", "1", "5", "restored")), synced(added("web", "1", "5", "restored"))},
			[]string{"MODIFIED web/1@5 initial", "DELETED db/2@11 final-state-unknown initial"}},
		{"a rewritten history goes forward from there",
			frames{rewritten, batch(true, added("web", "1", "5", "restored"), db, modified("web", "1", "4", "older")),
				synced(added("web", "1", "5", "restored"), db), batch(false, modified("web", "1", "4", "older"))},
			[]string{"MODIFIED web/1@5 initial"}},
		{"a digest in the middle of a snapshot is not compared",
			frames{newReset(), bookmark(db), batch(true, db), synced(db)},
			[]string{"DELETED web/1@10 final-state-unknown initial"}},
		{"a deletion of what is not held says nothing",
			frames{batch(false, deleted("other", "7", "30"))}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			r.feed(t, start)
			r.wantTold(t, "ADDED web/1@10 initial", "ADDED db/2@11 initial")
			r.feed(t, tt.frames)
			r.wantTold(t, tt.want...)
		})
	}
}

func TestReplicaFindsWhatIsWrong(t *testing.T) {
	web, db := added("web", "1", "10", "a"), added("db", "2", "11", "a")
	corrupt := modified("web", "1", "12", "b")
	corrupt.Version++
	patch := modified("web", "1", "12", "b")
	patch.Payload = &runnelv1.Event_MergePatchJson{MergePatchJson: `{}`}
	elsewhere := batch(false)
	elsewhere.GetBatch().Resource = 1
	for _, tt := range []struct {
		name  string
		frame *runnelv1.SubscribeResponse
		want  error
	}{
		{"a bookmark with an object more", bookmark(web, db, added("x", "3", "3", "")), ErrDigestMismatch},
		{"a bookmark with another version", bookmark(added("web", "1", "10", "b"), db), ErrDigestMismatch},
		{"a snapshot with another digest", synced(web), ErrDigestMismatch},
		{"an object that is not its version", batch(false, corrupt), ErrVersionMismatch},
		{"a patch that nobody asked for", batch(false, patch), ErrProtocol},
		{"an event without a type", batch(false, &runnelv1.Event{}), ErrProtocol},
		{"a state without a UID", batch(false, added("new", "", "12", "a")), ErrProtocol},
		{"one UID under two names", batch(false, added("new", "1", "12", "a")), ErrProtocol},
		{"a resource that the request does not have", elsewhere, ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			r.feed(t, frames{newReset(), batch(true, web, db), synced(web, db)})
			if err := r.Apply(tt.frame); !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			counted := uint64(1)
			if errors.Is(tt.want, ErrProtocol) {
				counted = 0
			}
			if got := r.Mismatches(); got != counted {
				t.Errorf("counted %d mismatches, want %d", got, counted)
			}
		})
	}
}

// A server that lags, or whose API server was restored while there was no stream,
// looks the same: its states are older. It is not believed at once, but a copy must
// not stay wrong for ever either.
func TestReplicaGivesInToAServerThatInsistsOnAnOlderHistory(t *testing.T) {
	r := newRecorder(t)
	web, restored := added("web", "1", "10", "a"), added("web", "1", "5", "restored")
	r.feed(t, frames{newReset(), batch(true, web), synced(web)})
	r.wantTold(t, "ADDED web/1@10 initial")
	for i := range maxOutvoted {
		r.feed(t, frames{newReset(), batch(true, restored)})
		if err := r.Apply(synced(restored)); !errors.Is(err, ErrDigestMismatch) {
			t.Fatalf("attempt %d: %v, want a digest mismatch", i, err)
		}
		r.wantTold(t)
	}
	r.feed(t, frames{newReset(), batch(true, restored), synced(restored)})
	r.wantTold(t, "MODIFIED web/1@5 initial")
}

func TestReplicaGivesInOnlyToOlderStates(t *testing.T) {
	r := newRecorder(t)
	web, old := added("web", "1", "10", "a"), added("web", "1", "5", "old")
	r.feed(t, frames{newReset(), batch(true, web), synced(web), batch(false, old)})
	for range 2 * maxOutvoted { // wrong, but for another reason
		r.feed(t, frames{newReset(), batch(true, web)})
		if err := r.Apply(synced()); !errors.Is(err, ErrDigestMismatch) {
			t.Fatal(err)
		}
	}
	r.wantTold(t, "ADDED web/1@10 initial")
	r.feed(t, frames{newReset(), batch(true, old)})
	r.wantTold(t)
}

func TestReplicaIsSyncedWhenTheFirstSnapshotIsComplete(t *testing.T) {
	r := newRecorder(t)
	web := added("web", "1", "10", "a")
	r.feed(t, frames{newReset(), batch(true, web)})
	if r.Synced(0) {
		t.Error("synced in the middle of the first snapshot")
	}
	r.feed(t, frames{synced(web), newReset()})
	if !r.Synced(0) {
		t.Error("not synced after the first snapshot")
	}
	if object, ok := r.Object(0, "ns", "web"); !ok || string(object) != web.GetObjectJson() {
		t.Errorf("holds %s, %v", object, ok)
	}
}

func TestReplicaTellsTheRestAfterTheCallbackFailed(t *testing.T) {
	broken := errors.New("broken")
	var told []string
	fail := false
	replica, err := NewReplica(podRequest(), func(e Event) error {
		told = append(told, string(e.Type)+" "+e.Name)
		if fail {
			fail = false
			return broken
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Replica: replica}
	a, b := added("a", "1", "1", ""), added("b", "2", "2", "")
	r.feed(t, frames{newReset(), batch(true, a, b), synced(a, b), newReset()})
	told, fail = nil, true
	if err := r.Apply(synced()); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the callback's error", err)
	}
	r.feed(t, frames{newReset(), synced()})
	if want := []string{"DELETED a", "DELETED b"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestReplicaRefusesDeltaModesThatItDoesNotKnow(t *testing.T) {
	_, err := NewReplica(&runnelv1.SubscribeRequest{Delta: 99}, nil)
	if !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v, want ErrProtocol", err)
	}
}
