package client

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrGoodbye says that a stream ended because the server had asked the subscriber
	// to subscribe again, on another connection.
	ErrGoodbye = errors.New("server said goodbye")
	// ErrTokenExpired says that the server cannot go on from a resume token. Subscribe
	// answers it by what Handler.Known says.
	ErrTokenExpired = errors.New("resume token has expired")
)

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

// refused says that the server will not serve a request like this one, rather than
// not now.
func refused(err error) bool {
	s, _ := status.FromError(err)
	switch s.Code() {
	case codes.InvalidArgument, codes.Unimplemented:
		return true
	case codes.ResourceExhausted:
		_, aboutRequest := detail[*errdetails.BadRequest](s)
		return aboutRequest || len(s.Details()) == 0 // gRPC's own limit on messages
	}
	return false
}

// tokenExpired says that the server cannot go on from a token, and waits for known
// versions.
func tokenExpired(err error) bool {
	s, _ := status.FromError(err)
	info, _ := detail[*errdetails.ErrorInfo](s)
	return s.Code() == codes.Aborted && info.GetDomain() == "runnel.v1" && info.GetReason() == "TOKEN_EXPIRED"
}

// diverged says that a copy is not, or cannot become, what the server has: the
// difference puts it right, or else a new snapshot.
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
