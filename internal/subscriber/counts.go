package subscriber

import "sync/atomic"

// counts are how resources of streams began, since the start.
type counts struct {
	byToken, byKnown, reset, expired, behind, diverged atomic.Uint64
}

// Counts are how the resources of streams began, since the start.
type Counts struct {
	// ByToken went on from a token, and ByKnown from the versions that the subscriber
	// held.
	ByToken, ByKnown uint64
	// Reset got a snapshot: new subscribers, and those that could not go on. A stream
	// that was reset later counts again.
	Reset uint64
	// Expired and Behind ended: the token had expired, or this replica was behind it.
	Expired, Behind uint64
	// Diverged are those of ByKnown that did not hold what they had been sent (D15).
	Diverged uint64
}

// Counts returns the present counts.
func (s *Service) Counts() Counts {
	c := &s.counts
	return Counts{
		ByToken: c.byToken.Load(), ByKnown: c.byKnown.Load(), Reset: c.reset.Load(),
		Expired: c.expired.Load(), Behind: c.behind.Load(), Diverged: c.diverged.Load(),
	}
}
