// Package status turns what went wrong into what gRPC callers see. It is the only
// place that makes gRPC statuses, so that codes, reasons and details stay the
// same everywhere (errors are documented at EventService.Subscribe).
//
// Every status carries an ErrorInfo with Domain and one of the reasons below, the
// field that is at fault as a BadRequest, and a RetryInfo where trying again can
// help. Messages name what the caller wrote, never the content of objects. The
// functions may be called from any goroutine.
package status

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/runnel-dev/runnel/internal/resource"
)

// Domain is ErrorInfo.domain of every status.
const Domain = "runnel.v1"

// Reasons, as they stand in ErrorInfo.reason.
const (
	// ReasonInvalidField: a field has a value that can never be served.
	ReasonInvalidField = "INVALID_FIELD"
	// ReasonUnimplementedField: this server does not serve the field yet.
	ReasonUnimplementedField = "UNIMPLEMENTED_FIELD"
	// ReasonLimitExceeded: the request is larger than the server allows.
	ReasonLimitExceeded = "LIMIT_EXCEEDED"
	// ReasonUnknownResource: the API server serves no such resource.
	ReasonUnknownResource = "UNKNOWN_RESOURCE"
	// ReasonResourceNotAllowed: the server is configured not to serve the resource,
	// whether or not it exists.
	ReasonResourceNotAllowed = "RESOURCE_NOT_ALLOWED"
	// ReasonSourceUnavailable: the server cannot list or watch the resource now.
	ReasonSourceUnavailable = "SOURCE_UNAVAILABLE"
	// ReasonDraining: the server is shutting down.
	ReasonDraining = "DRAINING"
	// ReasonTokenExpired: a resume token cannot be resumed; the caller may come back
	// with the versions that it knows.
	ReasonTokenExpired = "TOKEN_EXPIRED"
	// ReasonBehindToken: this replica has not seen yet what the token covers.
	ReasonBehindToken = "BEHIND_TOKEN"
	// ReasonInternal: a bug of the server.
	ReasonInternal = "INTERNAL"
)

// Long enough to calm a herd, short enough for people not to notice.
const defaultRetryDelay = time.Second

// Violation is one field of a request and what is wrong with it.
type Violation struct {
	// Field is the path in the request, such as "resources[0].label_selector".
	Field string
	// Err is what is wrong.
	Err error
}

// Invalid is InvalidArgument for the violations, at least one.
func Invalid(violations []Violation) error {
	return fields(codes.InvalidArgument, ReasonInvalidField, violations)
}

// Unimplemented is Unimplemented for fields that the server does not serve yet.
func Unimplemented(names []string) error {
	violations := make([]Violation, len(names))
	for i, name := range names {
		violations[i] = Violation{name, errors.New("not served yet; leave it unset")}
	}
	return fields(codes.Unimplemented, ReasonUnimplementedField, violations)
}

// ResourceNotAllowed is PermissionDenied for resources that the server is configured
// not to serve, at least one.
func ResourceNotAllowed(violations []Violation) error {
	return fields(codes.PermissionDenied, ReasonResourceNotAllowed, violations)
}

// LimitExceeded is ResourceExhausted for a request that is over a limit. The
// field may be empty where the whole request is meant.
func LimitExceeded(field, message string) error {
	details := []protoadapt.MessageV1{retry(defaultRetryDelay)}
	if field != "" {
		details = append(details, badRequest([]Violation{{field, errors.New(message)}}))
		message = field + ": " + message
	}
	return newError(codes.ResourceExhausted, ReasonLimitExceeded, message, details...)
}

// Draining is Unavailable for a server that is shutting down.
func Draining(retryAfter time.Duration) error {
	return newError(codes.Unavailable, ReasonDraining, "server is draining; subscribe again", retry(retryAfter))
}

// SourceUnavailable is Unavailable for a resource that cannot be served now.
func SourceUnavailable(field, message string) error {
	return newError(codes.Unavailable, ReasonSourceUnavailable, field+": "+message, retry(defaultRetryDelay))
}

// TokenExpired is Aborted for a resume token that cannot be resumed, where the caller
// asked for that.
func TokenExpired(field string) error {
	return fields(codes.Aborted, ReasonTokenExpired, []Violation{{field, errors.New("expired; offer the known versions, or take a snapshot")}})
}

// Behind is Unavailable for a replica that is still behind a resume token after a time.
func Behind(field string, waited time.Duration) error {
	message := fmt.Sprintf("%s: this replica is behind it, even after %v; another one may not be", field, waited)
	return newError(codes.Unavailable, ReasonBehindToken, message, retry(defaultRetryDelay))
}

// Resource is the status of a resource that could not be resolved; the field
// names it.
func Resource(field string, err error) error {
	v := []Violation{{field, err}}
	switch {
	case errors.Is(err, resource.ErrUnknown):
		return fields(codes.NotFound, ReasonUnknownResource, v)
	case errors.Is(err, resource.ErrNotWatchable):
		return fields(codes.InvalidArgument, ReasonInvalidField, v)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return grpcstatus.FromContextError(err).Err()
	}
	return SourceUnavailable(field, err.Error())
}

// Panic is Internal for a bug; what happened is in the server's log only.
func Panic() error {
	return newError(codes.Internal, ReasonInternal, "internal error; the server's log tells more")
}

func fields(code codes.Code, reason string, violations []Violation) error {
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.Field + ": " + v.Err.Error()
	}
	return newError(code, reason, shorten(strings.Join(texts, "; ")), badRequest(violations))
}

// shorten keeps a text that quotes a request within what HTTP/2 headers take.
func shorten(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

func badRequest(violations []Violation) *errdetails.BadRequest {
	b := &errdetails.BadRequest{}
	for _, v := range violations[:min(len(violations), 10)] {
		b.FieldViolations = append(b.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: v.Field, Description: shorten(v.Err.Error()),
		})
	}
	return b
}

func retry(after time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

func newError(code codes.Code, reason, message string, details ...protoadapt.MessageV1) error {
	details = append([]protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: Domain}}, details...)
	s, err := grpcstatus.New(code, message).WithDetails(details...)
	if err != nil {
		return grpcstatus.Error(codes.Internal, fmt.Sprintf("%s (and its details: %v)", message, err))
	}
	return s.Err()
}
