package client

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestReplicaGoesOnFromWhatItHolds(t *testing.T) {
	web, db := added("web", "1", "10", "a"), added("db", "2", "11", "a")
	start := frames{newReset(), batch(true, web, db), synced(web, db)}
	newWeb, newer := added("web", "3", "21", "a"), modified("db", "2", "22", "b")
	restored := modified("web", "1", "5", "restored")
	rewritten := resetFrame(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN)
	unseen := forgotten("1", "")
	for _, tt := range []struct {
		name   string
		frames frames // after start
		want   []string
		held   []*runnelv1.Event
	}{
		{"with nothing new", frames{resumed(), synced(web, db), bookmark(web, db)}, nil, states(web, db)},
		{"and drops nothing that it was not told of", frames{resumed(), synced()}, nil, states(web, db)},
		{"with changes", frames{resumed(), batch(false, deleted("web", "1", "20"), newer), synced(newer)},
			[]string{"DELETED web/1@20 gone", "MODIFIED db/2@22"}, states(newer)},
		{"with what it held already", frames{resumed(), batch(false, web, db), synced(web, db)}, nil, states(web, db)},
		{"with a state that is new to it, whatever its type", frames{resumed(), batch(false, modified("new", "4", "20", "")), synced(web, db, added("new", "4", "20", ""))},
			[]string{"ADDED new/4@20"}, states(web, db, added("new", "4", "20", ""))},
		{"without an object of which the server knows the hash", frames{resumed(), batch(false, forgotten("1", "20")), synced(db)},
			[]string{"DELETED web/1@20 final-state-unknown"}, states(db)},
		{"without an object that the server knows nothing of", frames{resumed(), batch(false, unseen), synced(db)},
			[]string{"DELETED web/1@10 final-state-unknown"}, states(db)},
		{"with an object that was deleted by hash and came back", frames{resumed(), batch(false, forgotten("1", "20"), added("web", "1", "21", "")),
			batch(false, forgotten("1", "22")), synced(db)},
			[]string{"DELETED web/1@20 final-state-unknown", "ADDED web/1@21", "DELETED web/1@22 final-state-unknown"}, states(db)},
		{"and refuses a deletion by hash that is older", frames{resumed(), batch(false, forgotten("1", "9"))}, nil, states(web, db)},
		{"and ignores a deletion of a hash that it does not hold", frames{resumed(), batch(false, forgotten("7", "20"), forgotten("", ""))}, nil, states(web, db)},
		{"with a re-created object, known by hash", frames{resumed(), batch(false, forgotten("1", "21"), newWeb), synced(newWeb, db)},
			[]string{"DELETED web/1@21 final-state-unknown", "ADDED web/3@21"}, states(newWeb, db)},
		{"with a re-created object, known by name", frames{resumed(), batch(false, deleted("web", "1", "20"), newWeb), synced(newWeb, db)},
			[]string{"DELETED web/1@20 gone", "ADDED web/3@21"}, states(newWeb, db)},
		{"with a re-created object in the wrong order", frames{resumed(), batch(false, newWeb, forgotten("1", "21"), deleted("web", "1", "21")), synced(newWeb, db)},
			[]string{"DELETED web/1@10 final-state-unknown", "ADDED web/3@21"}, states(newWeb, db)},
		{"after a snapshot that broke off", frames{newReset(), batch(true, newer), resumed(), batch(false, forgotten("1", "23")), synced(newer)},
			[]string{"MODIFIED db/2@22 initial", "DELETED web/1@23 final-state-unknown"}, states(newer)},
		{"after a snapshot that broke off, of which it drops nothing", frames{newReset(), batch(true, newer), resumed(), synced()},
			[]string{"MODIFIED db/2@22 initial"}, states(web, newer)},
		{"after two snapshots that broke off", frames{newReset(), batch(true, newer), newReset(), batch(true, web), resumed(), synced(web, newer)},
			[]string{"MODIFIED db/2@22 initial"}, states(web, newer)},
		{"in a history that was rewritten", frames{rewritten, batch(true, restored), resumed(), batch(false, forgotten("2", "6")), synced(restored)},
			[]string{"MODIFIED web/1@5 initial", "DELETED db/2@6 final-state-unknown"}, states(restored)},
		{"in a history that was rewritten, long after", frames{rewritten, batch(true, restored), resumed(), synced(restored, db),
			batch(false, modified("web", "1", "4", "older"), modified("db", "2", "7", "b")), bookmark(restored, modified("db", "2", "7", "b")),
			batch(false, modified("db", "2", "6", "c"))},
			[]string{"MODIFIED web/1@5 initial", "MODIFIED db/2@7"}, states(restored, modified("db", "2", "7", "b"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			r.feed(t, start)
			r.wantTold(t, "ADDED web/1@10 initial", "ADDED db/2@11 initial")
			for i, frame := range tt.frames {
				// A digest that the case does not get right is that of a server that is not
				// believed; what is held must not depend on it.
				if err := r.Apply(frame); err != nil && !errors.Is(err, ErrDigestMismatch) {
					t.Fatalf("frame %d: %v", i, err)
				}
			}
			r.wantTold(t, tt.want...)
			wantHeld(t, r, tt.held...)
			if got, want := r.Known(0), knownOf(tt.held...); !slices.Equal(got, want) {
				t.Errorf("known %x, want %x", got, want)
			}
		})
	}
}

// Ten objects; while the subscriber is away three are deleted and two change.
func TestReplicaIsToldExactlyWhatHappenedWhileItWasAway(t *testing.T) {
	var before, after []*runnelv1.Event
	for i := range 10 {
		before = append(before, added(fmt.Sprint("o", i), fmt.Sprint(i), fmt.Sprint(100+i), "a"))
	}
	changed := states(modified("o3", "3", "204", "b"), modified("o4", "4", "203", "b"))
	after = append(append(after, changed...), before[5:]...)
	gone := states(deleted("o0", "0", "201"), deleted("o1", "1", "202"), deleted("o2", "2", "205"))
	hashes := states(forgotten("0", "205"), forgotten("1", "205"), forgotten("2", "205"))
	want := func(reason string, resourceVersions ...any) []string {
		return []string{
			fmt.Sprintf("DELETED o0/0@%v "+reason, resourceVersions[0]), fmt.Sprintf("DELETED o1/1@%v "+reason, resourceVersions[1]),
			fmt.Sprintf("DELETED o2/2@%v "+reason, resourceVersions[2]),
		}
	}
	mods := []string{"MODIFIED o3/3@204", "MODIFIED o4/4@203"}
	for _, tt := range []struct {
		name   string
		frames frames
		want   []string
	}{
		{"by token", frames{resumed(), batch(false, gone...), batch(false, changed...), synced(after...)},
			append(want("gone", 201, 202, 205), mods...)},
		{"by known versions", frames{resumed(), batch(false, hashes...), batch(false, changed...), synced(after...)},
			append(want("final-state-unknown", 205, 205, 205), mods...)},
		{"by a snapshot", frames{newReset(), batch(true, after...), synced(after...)},
			append([]string{"MODIFIED o3/3@204 initial", "MODIFIED o4/4@203 initial"}, want("final-state-unknown initial", 100, 101, 102)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			r.feed(t, frames{newReset(), batch(true, before...), synced(before...)})
			r.told = nil
			r.feed(t, tt.frames)
			r.wantTold(t, tt.want...)
			wantHeld(t, r, after...)
		})
	}
}

// After a RESET the old state is there until Synced, in one piece, however many streams
// that takes; an empty snapshot then empties the copy.
func TestReplicaShowsTheOldStateUntilTheSnapshotIsComplete(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	lost := resetFrame(runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED)
	for _, tt := range []struct {
		name   string
		frames frames
		want   []string
		held   []*runnelv1.Event // before the last frame and after it
		after  []*runnelv1.Event
	}{
		{"an empty snapshot", frames{lost, synced()},
			[]string{"DELETED a/1@10 final-state-unknown initial", "DELETED b/2@11 final-state-unknown initial"}, states(a, b), nil},
		{"a snapshot that breaks off, and another", frames{lost, batch(true, a), lost, batch(true, b), synced(b)},
			[]string{"DELETED a/1@10 final-state-unknown initial"}, states(a, b), states(b)},
		{"a snapshot that breaks off, and the difference", frames{lost, batch(true, a), resumed(), batch(false), synced(a, b)},
			nil, states(a, b), states(a, b)},
		{"a snapshot that breaks off, the difference that breaks off, and a snapshot", frames{lost, batch(true, a), resumed(), batch(false), lost, batch(true, b), synced(b)},
			[]string{"DELETED a/1@10 final-state-unknown initial"}, states(a, b), states(b)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			r.feed(t, frames{newReset(), batch(true, a, b), synced(a, b)})
			r.told = nil
			last := len(tt.frames) - 1
			for i, frame := range tt.frames[:last] {
				r.feed(t, frames{frame})
				if !r.Synced(0) {
					t.Errorf("frame %d: not synced any more", i)
				}
				wantHeld(t, r, tt.held...)
			}
			r.wantTold(t)
			r.feed(t, tt.frames[last:])
			r.wantTold(t, tt.want...)
			wantHeld(t, r, tt.after...)
		})
	}
}

func TestReplicaIsSyncedByADifferenceToo(t *testing.T) {
	r := newRecorder(t)
	a := added("a", "1", "10", "")
	r.feed(t, frames{newReset(), batch(true, a), resumed()})
	if r.Synced(0) {
		t.Error("synced before any Synced")
	}
	r.feed(t, frames{synced(a)})
	if !r.Synced(0) {
		t.Error("not synced after Synced")
	}
}

func TestReplicaCountsRefusedStatesAnewWhenItResumes(t *testing.T) {
	r := newRecorder(t)
	a, old := added("a", "1", "10", ""), added("a", "1", "9", "old")
	r.feed(t, frames{newReset(), batch(true, a), synced(a), batch(false, old), resumed()})
	for range 2 * maxOutvoted { // wrong, but not for being refused
		if err := r.Apply(synced()); !errors.Is(err, ErrDigestMismatch) {
			t.Fatal(err)
		}
	}
	r.told = nil
	r.feed(t, frames{newReset(), batch(true, old)})
	r.wantTold(t)
}

// The hashes come from another implementation of XXH64.
func TestKnownIsTheFormOfTheProtocol(t *testing.T) {
	r := newRecorder(t)
	one, two := added("one", "a", "1", "x"), added("two", "6a1c", "2", "y")
	r.feed(t, frames{newReset(), batch(true, one, two)})
	var want []byte
	for _, n := range []uint64{0xd24ec4f1a98c6e5b, one.GetVersion(), 0xecd1ddf555689f70, two.GetVersion()} {
		want = binary.LittleEndian.AppendUint64(want, n)
	}
	if got := r.Known(0); !slices.Equal(got, want) {
		t.Errorf("known\n%x, want\n%x", got, want)
	}
}

func states(all ...*runnelv1.Event) []*runnelv1.Event { return all }

// knownOf is what a replica of the states says that it holds.
func knownOf(states ...*runnelv1.Event) []byte {
	slices.SortFunc(states, func(a, b *runnelv1.Event) int { return cmp.Compare(uidHash(a.GetUid()), uidHash(b.GetUid())) })
	var known []byte
	for _, e := range states {
		known = binary.LittleEndian.AppendUint64(known, uidHash(e.GetUid()))
		known = binary.LittleEndian.AppendUint64(known, e.GetVersion())
	}
	return known
}
