package subscriber

import "time"

// pace keeps live reads apart by an interval (min_interval): what changes meanwhile
// is conflated. Without an interval it does nothing.
type pace struct {
	interval time.Duration
	// next is the time before which nothing is read.
	next time.Time
	// held says that it has not come in this turn.
	held bool
}

// turn begins a turn of the stream.
func (p *pace) turn(now time.Time) { p.held = p.interval > 0 && now.Before(p.next) }

// sent takes in that something is sent in this turn.
func (p *pace) sent(now time.Time) { p.next = now.Add(p.interval) }

// wait is how long it takes until reading goes on; 0 if it is not held.
func (p *pace) wait(now time.Time) time.Duration {
	if !p.held {
		return 0
	}
	return max(p.next.Sub(now), 1)
}
