package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Subscribe streams what the request asks for to the handler, and blocks until
// that ends for good. It never returns nil. It returns
//
//   - context.Cause(ctx) when the context ends;
//   - the Handler's error (see Handler.Frame);
//   - ErrClosed when the Client is closed;
//   - the server's gRPC status when subscribing again cannot help: InvalidArgument,
//     NotFound (the API server knows none of the resources; with fail_fast, not
//     all), PermissionDenied, FailedPrecondition, OutOfRange, AlreadyExists,
//     Unimplemented, ResourceExhausted where the request itself is over a limit, and
//     Unauthenticated where a stream could not be opened. (Credentials that expire
//     while a stream is open are read anew and tried once more.) Package
//     google.golang.org/grpc/status finds its details.
//
// After anything else it subscribes again: with full-jitter exponential backoff (see
// WithBackoff), and not before the delay that the server asks for by RetryInfo or
// Goodbye, for which it also moves to another connection. The backoff begins anew
// after a stream that was healthy: that reached the overall Synced, or was open
// for as long as the largest delay. A stream whose content proved wrong is healthy
// only by its age.
//
// Each stream begins with a snapshot, told by Reset. The request is copied, and
// must not carry resume_token or known: the client is going to keep those itself.
func (c *Client) Subscribe(ctx context.Context, request *runnelv1.SubscribeRequest, handler Handler) error {
	for i, r := range request.GetResources() {
		switch {
		case len(r.GetResumeToken()) > 0:
			return fmt.Errorf("resources[%d].resume_token: must be unset", i)
		case len(r.GetKnown()) > 0:
			return fmt.Errorf("resources[%d].known: must be unset", i)
		}
	}
	if handler.Frame == nil {
		return errors.New("handler without Frame")
	}
	s := subscription{
		client:  c,
		request: proto.CloneOf(request),
		handler: handler,
		backoff: backoff{base: c.settings.backoffBase, max: c.settings.backoffMax, random: c.settings.random},
	}
	for {
		if err := s.attempt(ctx); err != nil {
			return err
		}
	}
}

// subscription is one call of Subscribe. It stays on the caller's goroutine.
type subscription struct {
	client  *Client
	request *runnelv1.SubscribeRequest
	handler Handler
	backoff backoff
}

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

// attempt serves one stream and waits until it is time for the next. It returns an
// error when there must be none.
func (s *subscription) attempt(ctx context.Context) error {
	o := s.stream(ctx)
	diverged := diverged(o.err)
	connected := !o.opened.IsZero()
	switch {
	case o.byHandler && !diverged:
		return o.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.client.connections.isClosed():
		return ErrClosed
	case !o.byHandler && terminal(o.err, connected):
		return o.err
	}

	if o.goodbye != nil && !o.byHandler {
		reason := strings.TrimPrefix(o.goodbye.GetReason().String(), "GOODBYE_REASON_")
		o.err = fmt.Errorf("%w: %s", ErrGoodbye, strings.ToLower(reason))
	}
	if connected && (o.synced && !diverged || time.Since(o.opened) >= s.backoff.max) {
		s.backoff.reset()
	}
	hint, _ := o.hint()
	delay := s.backoff.next(min(max(hint, 0), s.client.settings.hintMax))
	s.log(ctx, diverged, o.err, delay)
	if s.handler.Interrupted != nil {
		s.handler.Interrupted(Interruption{Err: o.err, Connected: connected, RetryIn: delay})
	}
	return sleep(ctx, delay)
}

// stream opens a stream and feeds the handler until either ends.
func (s *subscription) stream(ctx context.Context) (o outcome) {
	// Without the deadline, which gRPC would tell the server: that would end the
	// stream itself, a moment before the context does.
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // ends the stream where the handler did
	defer context.AfterFunc(ctx, cancel)()
	conn, err := s.client.connections.acquire()
	if err != nil {
		return outcome{err: err}
	}
	defer func() {
		_, asked := o.hint()
		s.client.connections.release(conn, asked)
	}()

	stream, err := runnelv1.NewEventServiceClient(conn).Subscribe(callCtx, s.request)
	if err != nil {
		return outcome{err: err}
	}
	for {
		frame, err := stream.Recv()
		if err != nil {
			o.err = err
			return o
		}
		if o.opened.IsZero() {
			o.opened = time.Now()
			if s.handler.Connected != nil {
				s.handler.Connected()
			}
		}
		if frame.GetFrame() == nil {
			continue // of a kind that a later server knows
		}
		// The frame is the handler's once it is called.
		allSynced := frame.GetSynced() != nil && frame.GetSynced().Resource == nil
		if g := frame.GetGoodbye(); g != nil {
			o.goodbye = &runnelv1.Goodbye{Reason: g.GetReason(), RetryAfterMs: g.GetRetryAfterMs()}
		}
		if err := s.handler.Frame(frame); err != nil {
			o.err, o.byHandler = err, true
			return o
		}
		o.synced = o.synced || allSynced
	}
}

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

func (s *subscription) log(ctx context.Context, diverged bool, err error, delay time.Duration) {
	level, message := slog.LevelInfo, "subscribing again"
	if diverged {
		level, message = slog.LevelWarn, "the copy is not what the server says; starting over"
	}
	s.client.settings.logger.LogAttrs(ctx, level, message,
		slog.Any("error", err), slog.Duration("retry_in", delay))
}

// sleep waits. It returns the context's cause if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
