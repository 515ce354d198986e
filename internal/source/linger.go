package source

import (
	"slices"
	"time"
)

// lingering are views without subscribers, the one that lost its last the longest ago
// first. They are kept up to date for those who come back.
type lingering struct {
	views []lingerer
	bytes int // of all, as of the last sweep
}

type lingerer struct {
	*sharedView
	since time.Time
	bytes int
}

func (l *lingering) add(v *sharedView, now time.Time) {
	v.lingers = now
	l.views = append(l.views, lingerer{v, now, v.Size()})
}

// sweepLocked drops views that lingered for longer than the horizon, or that take too
// much, the oldest first; and it lets go of what has subscribers again.
func (s *Source) sweepLocked(now time.Time) {
	l := &s.linger
	l.bytes = 0
	l.views = slices.DeleteFunc(l.views, func(e lingerer) bool {
		used := e.users > 0 || !e.lingers.Equal(e.since)
		if !used {
			l.bytes += e.bytes
		}
		return used
	})
	l.views = slices.DeleteFunc(l.views, func(e lingerer) bool {
		over := l.bytes > s.limits.LingerBytes || now.Sub(e.since) >= s.limits.Views.Horizon
		if over {
			s.forgetLocked(e.sharedView)
			l.bytes -= e.bytes
		}
		return over
	})
}
