package view

import "testing"

func TestSeenIsAStepPerBatchOfAScan(t *testing.T) {
	var s seen
	if s.lowest() != 0 || s.at(0) != 0 || s.covers(0) {
		t.Errorf("nothing seen: %v", s)
	}
	s = s.walked(2, 10).walked(4, 10).walked(7, 12)
	if len(s) != 2 {
		t.Errorf("batches at one position are one step: %v", s)
	}
	for slot, want := range map[uint32]Position{
		0: 10, 3: 10, 4: 12, 6: 12,
		7: 10, 100: 10, // behind the scan: newer than its beginning
	} {
		if got := s.at(slot); got != want {
			t.Errorf("slot %d seen to %d, want %d", slot, got, want)
		}
	}
	if s.lowest() != 10 || !s.covers(6) || s.covers(7) {
		t.Errorf("lowest %d, covers 6 %v, 7 %v", s.lowest(), s.covers(6), s.covers(7))
	}
	if all := seenAll(5); all.at(allSlots-1) != 5 || all.lowest() != 5 {
		t.Errorf("all: %v", all)
	}
}
