package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
// Each stream goes on where the last one ended, at whichever replica (D8). Subscribe keeps
// the newest resume token of each resource, from the last frame that carried one and that
// Handler.Frame took in, and offers it. The server answers Resumed, and what has changed
// follows; or Reset, and a snapshot follows. With Handler.Known, a snapshot comes only at
// first and as a last resort:
//
//   - where there is no token, the request says what the handler holds, and the difference
//     follows;
//   - when a token has expired, the next request says for all resources what the handler
//     holds. It comes promptly, after a full jitter of the base delay, unless such a
//     request was the one that was answered so;
//   - when a copy diverged (see Handler.Frame), the next request does the same, delayed as
//     after any failure. When a second such stream in a row has diverged again, requests
//     offer nothing, and a snapshot comes, until a stream is right.
//
// Without Handler.Known the server answers a token that has expired by Reset, and a copy that
// diverged gets a snapshot. A request that the server refuses is tried once without what
// it offered before the status is returned.
//
// The request is copied. It may carry resume tokens, to go on where an earlier Subscribe
// ended: a program that stores what frames bring stores with it, in one step, the newest
// resume_token that a Batch, Synced or Bookmark of the resource carried, and puts it into
// ResourceSubscription.resume_token when it starts again. A token of another selection of
// the resource is no start, but a floor: nothing older is served (D2). The fields known and
// on_expired must be unset; they are the client's own.
func (c *Client) Subscribe(ctx context.Context, request *runnelv1.SubscribeRequest, handler Handler) error {
	if request.GetOnExpired() != runnelv1.OnExpired_ON_EXPIRED_UNSPECIFIED {
		return errors.New("on_expired: must be unset")
	}
	for i, r := range request.GetResources() {
		if len(r.GetKnown()) > 0 {
			return fmt.Errorf("resources[%d].known: must be unset", i)
		}
	}
	if handler.Frame == nil {
		return errors.New("handler without Frame")
	}
	s := subscription{
		client:     c,
		request:    proto.CloneOf(request),
		handler:    handler,
		backoff:    backoff{base: c.settings.backoffBase, max: c.settings.backoffMax, random: c.settings.random},
		resumption: newResumption(request, handler.Known),
	}
	for {
		if err := s.attempt(ctx); err != nil {
			return err
		}
	}
}

// subscription is one call of Subscribe. It stays on the caller's goroutine.
type subscription struct {
	client     *Client
	request    *runnelv1.SubscribeRequest
	handler    Handler
	backoff    backoff
	resumption resumption
}

// attempt serves one stream and waits until it is time for the next. It returns an
// error when there must be none.
func (s *subscription) attempt(ctx context.Context) error {
	o := s.stream(ctx)
	switch {
	case o.byHandler && !o.diverged():
		return o.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.client.connections.isClosed():
		return ErrClosed
	case !o.byHandler && terminal(o.err, o.connected()) && !s.resumption.refused(&o):
		return o.err
	}

	if o.connected() && (o.synced && !o.diverged() || time.Since(o.opened) >= s.backoff.max) {
		s.backoff.reset()
	}
	hint, _ := o.hint()
	hint = min(max(hint, 0), s.client.settings.hintMax)
	var delay time.Duration
	if s.resumption.ended(&o) {
		delay = s.backoff.jitter(hint)
	} else {
		delay = s.backoff.next(hint)
	}
	i := Interruption{Err: o.reason(), Connected: o.connected(), RetryIn: delay}
	s.log(ctx, o.diverged(), i)
	if s.handler.Interrupted != nil {
		s.handler.Interrupted(i)
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

	s.resumption.fill(s.request)
	stream, err := runnelv1.NewEventServiceClient(conn).Subscribe(callCtx, s.request)
	for _, r := range s.request.GetResources() {
		r.Known = nil // was sent, and may be large
	}
	if err != nil {
		return outcome{err: err}
	}
	for {
		frame, err := stream.Recv()
		if err != nil {
			o.err = err
			return o
		}
		if !o.connected() {
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
		token, moved := tokenOf(frame)
		if g := frame.GetGoodbye(); g != nil {
			o.goodbye = &runnelv1.Goodbye{Reason: g.GetReason(), RetryAfterMs: g.GetRetryAfterMs()}
		}
		if err := s.handler.Frame(frame); err != nil {
			o.err, o.byHandler = err, true
			return o
		}
		o.synced = o.synced || allSynced
		if moved {
			s.resumption.commit(token)
		}
	}
}

func (s *subscription) log(ctx context.Context, diverged bool, i Interruption) {
	level, message := slog.LevelInfo, "subscribing again"
	if diverged {
		level, message = slog.LevelWarn, "the copy is not what the server says; putting it right"
	}
	s.client.settings.logger.LogAttrs(ctx, level, message,
		slog.Any("error", i.Err), slog.Duration("retry_in", i.RetryIn), slog.String("offer", s.resumption.next.String()))
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
