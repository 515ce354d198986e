package client

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestAnExpiredTokenCostsTheDifference(t *testing.T) {
	a, b, c := added("a", "1", "10", ""), added("b", "2", "11", ""), added("c", "3", "12", "")
	newB, d := modified("b", "2", "20", "new"), added("d", "4", "21", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a, b, c), with("old", synced(a, b, c)), allSynced()}},
		call{err: expired()},
		call{frames: frames{resumed(), batch(false, forgotten("1", "21"), newB, d), with("new", synced(newB, c, d)), allSynced()}})
	said.wantOffers(t, "-", "old FAIL", "old+3", "new FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11 initial", "ADDED c/3@12 initial",
		"DELETED a/1@21 final-state-unknown", "MODIFIED b/2@20", "ADDED d/4@21")
	wantHeld(t, r, newB, c, d)
	if r.Mismatches() != 0 {
		t.Errorf("%d mismatches", r.Mismatches())
	}
	var known []byte
	for _, e := range []*runnelv1.Event{a, b, c} {
		known = binary.LittleEndian.AppendUint64(known, uidHash(e.GetUid()))
		known = binary.LittleEndian.AppendUint64(known, e.GetVersion())
	}
	if got := said.requests[2].GetResources()[0].GetKnown(); !slices.Equal(sortedPairs(got), sortedPairs(known)) {
		t.Errorf("known %x, want the pairs of %x", got, known)
	}
	if i := said.interruptions[1]; !errors.Is(i.Err, ErrTokenExpired) || status.Code(i.Err) != codes.Aborted || i.Connected {
		t.Errorf("interruption %+v, want one by ErrTokenExpired", i)
	}
}

// The first failure in a row is the second stream's end: the expiry before is none, but
// many clients must not come back in one moment.
func TestAnExpiredTokenIsNoFailureButIsSpread(t *testing.T) {
	a := added("a", "1", "10", "")
	away := call{err: status.Error(codes.Unavailable, "away")}
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		away, call{err: expired()}, away, away)
	said.wantOffers(t, "-", "t FAIL", "t FAIL", "t+1", "t+1", "t+1")
	const ms = time.Millisecond
	wantDelays(t, said.interruptions, 100*ms, 200*ms, 100*ms, 400*ms, 800*ms)
}

func TestATokenThatExpiresForEverIsNoHotLoop(t *testing.T) {
	a := added("a", "1", "10", "")
	r := newRecorder(t)
	no := call{err: expired()}
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}}, no, no, no, no, no)
	said.wantOffers(t, "-", "t FAIL", "t+1", "t+1", "-", "-", "-")
	const ms = time.Millisecond
	wantDelays(t, said.interruptions, 100*ms, 100*ms, 200*ms, 400*ms, 800*ms, 1600*ms)
}

func TestOneExpiredTokenOfSeveralCostsTheDifferenceOfAll(t *testing.T) {
	a, n, m := added("a", "1", "10", ""), added("n", "2", "5", ""), added("m", "3", "6", "")
	r := newRecorderOf(t, twoRequest())
	said := converse(t, twoRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("pods", synced(a)),
			of(1, newReset()), of(1, batch(true, n)), with("nodes", of(1, synced(n))), allSynced()}},
		call{err: expired()},
		call{frames: frames{resumed(), synced(a), of(1, resumed()), of(1, batch(false, forgotten("2", "6"), m)), with("new", of(1, synced(m))), allSynced()}})
	said.wantOffers(t, "- -", "pods nodes FAIL", "pods+1 nodes+1", "pods new FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED n/2@5 initial", "DELETED n/2@6 final-state-unknown", "ADDED m/3@6")
}

func TestWithoutKnownTheServerResets(t *testing.T) {
	a := added("a", "1", "10", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), Handler{Frame: r.Apply},
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		call{frames: frames{resetFrame(runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED), batch(true, a), with("u", synced(a)), allSynced()}},
		call{err: expired()}) // which was not asked for
	said.wantOffers(t, "-", "t", "u", "-")
	r.wantTold(t, "ADDED a/1@10 initial")
}

func TestATokenOfNothingGoesAlone(t *testing.T) {
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), with("t", synced()), allSynced()}}, call{err: expired()},
		call{frames: frames{resetFrame(runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED), synced(), allSynced()}})
	said.wantOffers(t, "-", "t FAIL", "t", "t FAIL")
}

func TestADivergedCopyIsPutRightByTheDifference(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced(), with("u", bookmark(a, b))}}, // b is missing
		call{frames: frames{resumed(), batch(false, b), with("v", synced(a, b)), allSynced()}})
	said.wantOffers(t, "-", "t+1", "v FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11")
	if r.Mismatches() != 1 {
		t.Errorf("%d mismatches, want 1", r.Mismatches())
	}
}

func TestACopyThatStaysWrongIsReplacedByASnapshot(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	wrong := call{frames: frames{resumed(), with("w", synced(a, b))}} // and does not send b
	away := call{err: status.Error(codes.Unavailable, "away")}
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		wrong, away, wrong, wrong, away, // twice by known versions
		call{frames: frames{newReset(), batch(true, a), synced(a, b)}}, // nor does this one
		call{frames: frames{newReset(), batch(true, a, b), with("v", synced(a, b)), allSynced()}})
	said.wantOffers(t, "-", "t FAIL", "t+1", "t+1", "t+1", "-", "-", "-", "v FAIL")
	const ms = time.Millisecond
	wantDelays(t, said.interruptions, 100*ms, 200*ms, 400*ms, 800*ms, 1600*ms, 3200*ms, 6400*ms, 100*ms)
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11 initial")
	if r.Mismatches() != 4 {
		t.Errorf("%d mismatches, want 4", r.Mismatches())
	}
}

func TestACopyThatWasRightInBetweenIsPutRightByTheDifferenceAgain(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	wrong := call{frames: frames{resumed(), synced(a, b)}}
	right := call{frames: frames{resumed(), synced(a), allSynced()}}
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		wrong, wrong, right, wrong, wrong, wrong)
	said.wantOffers(t, "-", "t FAIL", "t+1", "t+1", "t FAIL", "t+1", "t+1", "-")
}

func TestAStreamThatBreaksBeforeItIsCompleteProvesNothingRight(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	wrong := call{frames: frames{resumed(), synced(a, b)}}
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		wrong, wrong, call{frames: frames{resumed()}}, wrong, wrong)
	said.wantOffers(t, "-", "t FAIL", "t+1", "t+1", "t FAIL", "t+1", "-")
}

func TestWithoutKnownADivergedCopyIsReplacedByASnapshot(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), Handler{Frame: r.Apply},
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced(), bookmark(a, b)}},
		call{frames: frames{newReset(), batch(true, a, b), with("u", synced(a, b)), allSynced()}})
	said.wantOffers(t, "-", "-", "u")
}
