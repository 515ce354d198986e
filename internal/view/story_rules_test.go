package view

import (
	"fmt"
	"testing"
	"time"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
)

func TestSnapshotThenEveryChange(t *testing.T) { // D1, D3, D4
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@2 out", "c uc@3 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "+ c uc@3", "synced", "level")
	s.reads(c, "level")
	s.put("a ua@4 in")
	s.reads(c, "~ a ua@4", "level")
	s.put("b ub@5 in")
	s.reads(c, "+ b ub@5", "level")
	s.gone("c", "6")
	s.reads(c, "- c uc@6 gone", "level")
	s.put("c uc2@7 in")
	s.reads(c, "+ c uc2@7", "level")
}

func TestObjectLeavesAndComesBack(t *testing.T) { // D4
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c, slow := s.open(), s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	s.reads(slow, "+ a ua@1", "synced", "level")
	s.put("a ua@2 out")
	s.reads(c, "- a ua@2 left_view", "level")
	s.put("a ua@3 in")
	s.reads(c, "+ a ua@3", "level")
	s.reads(slow, "~ a ua@3", "level") // to it, it never left
}

func TestWhatLeftAndIsDeletedWhileNobodyLookedHasLeft(t *testing.T) { // D4
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	s.put("a ua@2 out")
	s.gone("a", "3")
	s.reads(c, "- a ua@2 left_view", "level")
}

func TestWhatLeftAndCameBackAndIsDeletedIsGone(t *testing.T) { // D4
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	s.put("a ua@2 out")
	s.put("a ua@3 in")
	s.gone("a", "4")
	s.put("a ua2@5 in")
	s.reads(c, "- a ua@4 gone", "+ a ua2@5", "level")
}

func TestReCreationIsDeletedThenAdded(t *testing.T) { // D5
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c, slow := s.open(), s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	s.reads(slow, "+ a ua@1", "synced", "level")
	s.put("a ub@2 in") // as a list shows it
	s.reads(c, "- a ua@2 gone", "+ a ub@2", "level")
	s.gone("a", "3")
	s.put("a uc@4 in")
	s.reads(c, "- a ub@3 gone", "+ a uc@4", "level")
	s.reads(slow, "- a ua@2 gone", "+ a uc@4", "level")
}

func TestWhatComesAndGoesWhileNobodyLookedIsSilent(t *testing.T) { // D3, D4
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	s.put("b ub@2 in")
	s.gone("b", "3")
	s.reads(c, "level")
}

func TestChangesAreConflatedPerObjectInTheOrderOfTheLast(t *testing.T) { // D3, D12
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "+ b ub@2", "synced", "level")
	s.put("a ua@3 in")
	s.put("b ub@4 in")
	s.put("a ua@5 in")
	s.reads(c, "~ b ub@4", "~ a ua@5", "level")
}

func TestManyChangesOfOneStepAreSeenTogether(t *testing.T) { // D12
	s := newStory(t, Limits{}, projection.Whole())
	c := s.open()
	s.reads(c, "synced", "level")
	s.put("a ua@1 in", "b ub@2 in", "a ua@3 out", "c uc@4 in")
	s.reads(c, "+ b ub@2", "+ c uc@4", "level")
}

func TestEqualProjectionIsNotToldButTheResourceVersionMoves(t *testing.T) { // D2, D6
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	same := *s.objects["a"]
	same.ResourceVersion = "2"
	s.Apply(Step{[]Change{{Old: s.objects["a"], New: &same}}, "2", s.now})
	if c.Pending() {
		t.Error("there is something to read")
	}
	s.reads(c, "level")
	s.reads(s.open(), "+ a ua@2", "synced", "level")
}

func TestEqualHashOfOtherContentIsTold(t *testing.T) { // D6: by content
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "synced", "level")
	collides := s.parse("a ua@2 in")
	collides.Version = s.objects["a"].Version
	s.Apply(Step{[]Change{{Old: s.objects["a"], New: collides}}, "2", s.now})
	s.reads(c, "~ a ua@2", "level")
}

func TestScanGoesOnePieceAtATimeAndThenCatchesUp(t *testing.T) { // D3, D7
	s := newStory(t, Limits{BatchBytes: 1}, projection.Whole(), "a ua@1 in", "b ub@2 in", "c uc@3 in")
	c := s.open()
	s.reads(c, "+ a ua@1")
	s.put("a ua@4 in") // behind the walk
	s.reads(c, "+ b ub@2")
	s.put("c uc@5 in") // ahead of it
	s.gone("b", "6")   // behind it
	s.reads(c, "+ c uc@5", "synced")
	s.reads(c, "~ a ua@4", "- b ub@6 gone", "level")
}

func TestOverrunRingIsScanned(t *testing.T) {
	s := newStory(t, Limits{Ring: 1}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	c := s.open()
	s.reads(c, "+ a ua@1", "+ b ub@2", "synced", "level")
	for range 2 * smallestRing {
		s.put("b ub@3 in")
		s.put("b ub@4 in")
	}
	s.put("a ua@5 in")
	s.reads(c, "~ a ua@5", "~ b ub@4", "level") // by slot, not by change
}

func TestChangeThatTheRingHasJustLostIsFound(t *testing.T) { // D1
	s := newStory(t, Limits{Ring: 1}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	for lost := range 2 {
		c := s.open()
		s.reads(c, "+ a "+s.objects["a"].UID+"@"+s.objects["a"].ResourceVersion, "+ b ub@2", "synced", "level")
		s.put(fmt.Sprintf("a u%d@%d in", lost, 3+lost))
		for i := range smallestRing - 1 + lost {
			s.put([]string{"b ub@3 in", "b ub@2 in"}[i%2])
		}
		var b Batch
		if c.Read(&b); len(b.Events) < 3 || !b.Level { // -a +a ~b
			t.Errorf("%d events after %d lost changes, level %v", len(b.Events), lost, b.Level)
		}
		s.put("b ub@2 in")
	}
}

func TestMoreThanOneLiveReadMayTakeIsScanned(t *testing.T) { // D10
	s := newStory(t, Limits{LiveBytes: 1, BatchBytes: 1}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	c := s.open()
	s.reads(c, "+ a ua@1")
	s.reads(c, "+ b ub@2", "synced", "level")
	s.put("b ub@3 in", "a ua@4 in")
	s.reads(c, "~ a ua@4")
	s.reads(c, "~ b ub@3", "level")
}

func TestWhoIsOvertakenIsResetAndOthersAreNot(t *testing.T) {
	s := newStory(t, Limits{EndedStays: 2}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	slow, quick := s.open(), s.open()
	s.reads(slow, "+ a ua@1", "+ b ub@2", "synced", "level")
	s.reads(quick, "+ a ua@1", "+ b ub@2", "synced", "level")
	s.gone("a", "3")
	s.put("c uc@4 in")
	s.gone("c", "5")
	s.reads(quick, "- a ua@3 gone", "level")
	s.gone("b", "6")
	s.reads(quick, "- b ub@6 gone", "level")
	s.put("d ud@7 in")
	s.reads(slow, "reset")
	s.reads(slow, "+ d ud@7", "synced", "level")
}

func TestFreedSlotServesAnotherKey(t *testing.T) {
	s := newStory(t, Limits{Horizon: time.Minute}, projection.Whole(), "a ua@1 in")
	s.gone("a", "2") // nobody holds it
	s.Collect(s.now.Add(time.Minute))
	s.put("b ub@3 in")
	if len(s.slots) != 1 || len(s.free) != 0 {
		t.Errorf("%d slots, %d free", len(s.slots), len(s.free))
	}
	s.reads(s.open(), "+ b ub@3", "synced", "level")
}

func TestStaysAreForgottenBeyondTheHorizonWhenNobodyHoldsThem(t *testing.T) {
	s := newStory(t, Limits{Horizon: time.Minute}, projection.Whole())
	c := s.open()
	s.reads(c, "synced", "level")
	for range 10 * fewestStaysToLook {
		s.now = s.now.Add(time.Minute)
		s.put("a ua@1 in")
		s.gone("a", "2")
		s.reads(c, "level")
	}
	if n := len(s.ended.refs); n > fewestStaysToLook {
		t.Errorf("%d stays are kept", n)
	}
}

func TestDigestIsThatOfTheObjects(t *testing.T) { // D15
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	s.put("a ua@3 in")
	s.put("b ub2@4 in")
	s.put("c uc@5 in")
	s.gone("c", "6")
	s.put("d ud@7 in", "d ud@8 out")
	var want Digest
	for _, key := range []string{"a", "b"} {
		want.add(s.objects[key].UID, record.Hash(s.objects[key].Raw))
	}
	var b Batch
	if s.open().Read(&b); b.Digest != want || s.Len() != 2 {
		t.Errorf("digest %v of %d objects, want %v", b.Digest, s.Len(), want)
	}
}

// The published definition: XXH64(XXH64(uid) || version), little-endian. The figure
// was computed by other code.
func TestDigestOfOneObjectIsFixed(t *testing.T) {
	var d Digest
	d.add("00000000-0000-0000-0000-000000000001", 0x0123456789abcdef)
	if want := (Digest{1, 0x7c4c3e0c14e7cf88}); d != want {
		t.Errorf("%#x, want %#x", d, want)
	}
}

// A list brings every object again, in other memory. Were the view to keep the old,
// each object would be there twice from then on.
func TestEqualObjectIsTakenOverSoThatTheOldCanGo(t *testing.T) {
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	again := s.parse("a ua@1 in")
	s.Apply(Step{[]Change{{Old: s.objects["a"], New: again}}, "1", s.now})
	if json := s.slots[0].object.JSON(); &json[0] != &again.Raw[0] {
		t.Error("the view keeps the old bytes")
	}
}
