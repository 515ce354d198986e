package client

import (
	"fmt"
	"strings"
	"time"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// outcome is how a stream ended.
type outcome struct {
	// err is why the stream ended, or the handler's error.
	err error
	// byHandler says that err is the handler's.
	byHandler bool
	// opened is when the first frame came; zero if none did.
	opened time.Time
	// synced says that the overall Synced came.
	synced bool
	// goodbye is the server's, if it said it.
	goodbye *runnelv1.Goodbye
}

// connected says that a stream was open.
func (o *outcome) connected() bool { return !o.opened.IsZero() }

// diverged says that the handler's copy is not what the server has.
func (o *outcome) diverged() bool { return o.byHandler && diverged(o.err) }

// expired says that the server cannot go on from a token.
func (o *outcome) expired() bool { return !o.byHandler && tokenExpired(o.err) }

// hint is the delay that the server asked for, if it did: then the next stream
// belongs on another connection.
func (o *outcome) hint() (time.Duration, bool) {
	if o.goodbye != nil {
		return time.Duration(o.goodbye.GetRetryAfterMs()) * time.Millisecond, true
	}
	if o.byHandler {
		return 0, false
	}
	return retryHint(o.err)
}

// reason is why there is no stream, for Interruption.Err.
func (o *outcome) reason() error {
	switch {
	case o.expired():
		return fmt.Errorf("%w: %w", ErrTokenExpired, o.err)
	case o.goodbye != nil && !o.byHandler:
		reason := strings.TrimPrefix(o.goodbye.GetReason().String(), "GOODBYE_REASON_")
		return fmt.Errorf("%w: %s", ErrGoodbye, strings.ToLower(reason))
	}
	return o.err
}
