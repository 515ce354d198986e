package client

import (
	"time"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Handler is what Subscribe tells its caller. All functions are called from the
// goroutine that called Subscribe, one at a time; a function that blocks stops the
// stream, and must itself heed the context that Subscribe was given. Functions
// that are nil are not called, except that Frame is needed.
type Handler struct {
	// Frame gets each frame and owns it. Frames of a kind that this version does not
	// know are left out.
	//
	// An error ends Subscribe, which returns it. One that wraps ErrDigestMismatch,
	// ErrVersionMismatch or ErrBaseMismatch does not: the copy diverged (D15), and
	// Subscribe puts it right as its documentation says. The resume token of a frame
	// counts only when Frame has returned nil for it.
	Frame func(frame *runnelv1.SubscribeResponse) error
	// Known returns what the handler holds of a resource, by its index in the request,
	// in the form of ResourceSubscription.known; nothing where it holds nothing. It is
	// called between streams, where tokens are not enough: the server then sends the
	// difference instead of a snapshot. A Replica's Known fits.
	Known func(resource int) []byte
	// Connected is called before the first frame of each stream.
	Connected func()
	// Interrupted is called when a stream has ended, or none could be opened, and
	// Subscribe is going to try again.
	Interrupted func(Interruption)
}

// Interruption says why there is no stream now.
type Interruption struct {
	// Err is why: a gRPC status, io.EOF if the server ended the stream without one,
	// ErrGoodbye if the server asked the subscriber to move, ErrTokenExpired if it waits
	// for known versions, or the Handler's error that says that its copy diverged. Never
	// nil.
	Err error
	// Connected says that a stream was open: Connected had been called. Otherwise it
	// could not be opened.
	Connected bool
	// RetryIn is how long Subscribe waits until it tries again.
	RetryIn time.Duration
}
