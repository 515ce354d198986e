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

func TestRingKeepsTheNewestAndGrowsForWhoMissedSome(t *testing.T) {
	r := ring{start: 1}
	if r.oldest(1) != 2 {
		t.Errorf("empty: oldest %d", r.oldest(1))
	}
	p := Position(2)
	push := func(n int, grow bool) {
		for range n {
			r.push(p, change{slot: uint32(p)}, grow, 2*smallestRing)
			p++
		}
	}
	check := func(oldest Position) {
		t.Helper()
		if got := r.oldest(p - 1); got != oldest {
			t.Errorf("oldest %d, want %d", got, oldest)
		}
		for q := oldest; q < p; q++ {
			if r.at(q).slot != uint32(q) {
				t.Errorf("position %d holds %d", q, r.at(q).slot)
			}
		}
	}
	push(smallestRing, false)
	check(2)
	push(1, false)
	check(3)
	push(1, true) // keeps what there was, and has room for more
	check(3)
	push(smallestRing, true) // but no more than the limit
	check(p - 2*smallestRing)
	push(5*smallestRing+3, false)
	check(p - 2*smallestRing)
}
