package client

import "time"

// backoff yields the delays between attempts: exponential, with full jitter.
type backoff struct {
	base, max time.Duration
	// random returns a duration from [0, n], all equally likely.
	random func(n time.Duration) time.Duration
	// failures counts the delays since the last reset.
	failures int
}

// next returns the delay before the next attempt, after one that failed.
func (b *backoff) next(hint time.Duration) time.Duration {
	window := b.window()
	b.failures++
	return b.spread(hint, window)
}

// jitter returns the delay before an attempt that follows from the last one. That is no
// failure, but many subscribers may have been told the same at once.
func (b *backoff) jitter(hint time.Duration) time.Duration { return b.spread(hint, b.base) }

// spread waits for a hint from the server in full; what it adds spreads the
// subscribers that got the same one over at least half of it.
func (b *backoff) spread(hint, window time.Duration) time.Duration {
	return hint + b.random(max(window, hint/2))
}

// reset makes the next delay short again.
func (b *backoff) reset() { b.failures = 0 }

// window is the longest delay without a hint: min(max, base·2^failures).
func (b *backoff) window() time.Duration {
	window := b.base
	for range b.failures {
		if window >= b.max/2 {
			return b.max
		}
		window *= 2
	}
	return min(window, b.max)
}
