package view

import "testing"

// ringed pushes changes into a ring of a horizon of 100 seconds and 64 changes.
type ringed struct {
	t *testing.T
	ring
	next Position
	now  uint32
}

func newRinged(t *testing.T) *ringed { return &ringed{t: t, next: 1, now: 1000} }

// push pushes changes, some seconds apart.
func (r *ringed) push(n int, apart uint32) {
	for range n {
		r.now += apart
		r.ring.push(r.next, change{slot: uint32(r.next), at: r.now}, 100, 64)
		r.next++
	}
}

// remembers checks how many changes are.
func (r *ringed) remembers(n int) {
	r.t.Helper()
	oldest := r.oldest(r.next - 1)
	if got := int(r.next - oldest); got != n {
		r.t.Errorf("%d changes are remembered, not %d", got, n)
	}
	for p := oldest; p < r.next; p++ {
		if r.at(p).slot != uint32(p) {
			r.t.Errorf("position %d holds %d", p, r.at(p).slot)
		}
	}
}

func TestRingGrowsRatherThanForgetWhatIsWithinTheHorizon(t *testing.T) {
	r := newRinged(t)
	r.remembers(0)
	r.push(smallestRing, 0)
	r.remembers(smallestRing)
	r.push(1, 0)
	r.remembers(smallestRing + 1)
	r.push(200, 0)
	r.remembers(64) // the limit
}

func TestRingForgetsWhatIsBeyondTheHorizonAndShrinks(t *testing.T) {
	r := newRinged(t)
	r.push(smallestRing, 0)
	r.push(1, 100)
	r.remembers(smallestRing)
	r.push(100, 0)
	r.remembers(64)
	r.push(200, 30)
	r.remembers(smallestRing)
}

func TestRingFindsWhoWasCompleteUpToAResourceVersion(t *testing.T) { // C20
	var r ring
	for i, rv := range []string{"9", "10", "10", "30", "9007199254740993", "123456789012345678901234567890"} {
		r.push(Position(i+1), change{resourceVersion: rv}, 0, 0)
	}
	for rv, want := range map[string]Position{
		"8": 0, "9": 1, "10": 3, "11": 3, "9007199254740992": 4, "9007199254740993": 5,
		"123456789012345678901234567889": 5, "123456789012345678901234567891": 6, "abc": 0, "": 0,
	} {
		if got, ok := r.find(rv, 6); got != want || ok != (want > 0) {
			t.Errorf("%q is at %d (%v), want %d", rv, got, ok, want)
		}
	}
}
