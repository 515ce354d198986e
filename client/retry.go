package client

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrGoodbye says that a stream ended because the server had asked the subscriber
// to subscribe again, on another connection.
var ErrGoodbye = errors.New("server said goodbye")

// terminal says that subscribing again as before would fail again. authenticated
// says that the stream had been open: then Unauthenticated means that the
// credentials have expired since, and those for the next call may be newer.
func terminal(err error, authenticated bool) bool {
	s, ok := status.FromError(err)
	if !ok {
		return false // io.EOF, or ErrGoodbye
	}
	switch s.Code() {
	case codes.InvalidArgument, // the request can never be served
		codes.NotFound,           // the API server knows none of the resources
		codes.AlreadyExists,      // makes no sense here, so nor does trying again
		codes.PermissionDenied,   // somebody has to grant it first
		codes.FailedPrecondition, // by definition not to be retried
		codes.OutOfRange,         // likewise
		codes.Unimplemented:      // not a Runnel server, or an older one
		return true
	case codes.Unauthenticated:
		return !authenticated
	case codes.ResourceExhausted: // a limit on load passes, one on the request does not
		_, aboutRequest := detail[*errdetails.BadRequest](s)
		return aboutRequest
	}
	return false
}

// diverged says that a copy is not, or cannot become, what the server has: a new
// snapshot puts it right.
func diverged(err error) bool {
	return errors.Is(err, ErrDigestMismatch) || errors.Is(err, ErrVersionMismatch) || errors.Is(err, ErrBaseMismatch)
}

// retryHint is the delay that the server asks for, if it does.
func retryHint(err error) (time.Duration, bool) {
	s, ok := status.FromError(err)
	if !ok {
		return 0, false
	}
	info, ok := detail[*errdetails.RetryInfo](s)
	if !ok {
		return 0, false
	}
	return info.GetRetryDelay().AsDuration(), true
}

// detail finds a detail of a status by its type.
func detail[T any](s *status.Status) (found T, ok bool) {
	for _, d := range s.Details() {
		if found, ok = d.(T); ok {
			return found, true
		}
	}
	return found, false
}
