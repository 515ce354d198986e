package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

var errEnough = errors.New("enough")

// longest makes the jitter as large as it can be.
func longest(s *settings) { s.random = func(n time.Duration) time.Duration { return n } }

// interruptions subscribes until there were n, and returns them and the time at
// which each call reached the server.
func interruptions(t *testing.T, n int, s script, opts ...Option) (all []Interruption, at []time.Duration, fake *fakeServer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, f, stop := newFake(t, func(call int, request *runnelv1.SubscribeRequest, stream stream) error {
			at = append(at, time.Since(start))
			return s(call, request, stream)
		}, append([]Option{longest}, opts...)...)
		defer stop()
		fake = f
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		err := c.Subscribe(ctx, podRequest(), Handler{
			Frame: func(*runnelv1.SubscribeResponse) error { return nil },
			Interrupted: func(i Interruption) {
				if all = append(all, i); len(all) == n {
					cancel(errEnough)
				}
			},
		})
		if !errors.Is(err, errEnough) {
			t.Errorf("Subscribe: %v, want the context's cause", err)
		}
	})
	return all, at, fake
}

func delays(all []Interruption) []time.Duration {
	var d []time.Duration
	for _, i := range all {
		d = append(d, i.RetryIn)
	}
	return d
}

func wantDelays(t *testing.T, all []Interruption, want ...time.Duration) {
	t.Helper()
	if got := delays(all); !slices.Equal(got, want) {
		t.Errorf("delays %v, want %v", got, want)
	}
}

func TestSubscribeBacksOffWhileTheServerFails(t *testing.T) {
	all, at, _ := interruptions(t, 5, func(int, *runnelv1.SubscribeRequest, stream) error {
		return status.Error(codes.Unavailable, "not now")
	}, WithBackoff(time.Second, 5*time.Second))
	wantDelays(t, all, time.Second, 2*time.Second, 4*time.Second, 5*time.Second, 5*time.Second)
	if want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second}; !slices.Equal(at, want) {
		t.Errorf("calls at %v, want %v", at, want)
	}
	if all[0].Connected {
		t.Error("reported as connected, though no frame came")
	}
}

func TestSubscribeResetsTheBackoffAfterHealth(t *testing.T) {
	second := time.Second
	for _, tt := range []struct {
		name   string
		frames frames
		age    time.Duration
		want   []time.Duration
	}{
		{"synced", frames{newReset(), synced(), allSynced()}, 0, []time.Duration{second, second, second}},
		{"open for long", frames{newReset()}, 10 * second, []time.Duration{second, second, second}},
		{"neither", frames{newReset(), synced()}, 9 * second, []time.Duration{second, 2 * second, 4 * second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, _ := interruptions(t, 3, func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
				for _, frame := range tt.frames {
					if err := stream.Send(frame); err != nil {
						return err
					}
				}
				return sleep(stream.Context(), tt.age)
			}, WithBackoff(second, 10*second))
			wantDelays(t, all, tt.want...)
			if !all[0].Connected || !errors.Is(all[0].Err, io.EOF) {
				t.Errorf("interruption %+v, want one of a connected stream by io.EOF", all[0])
			}
		})
	}
}

func TestSubscribeWaitsAsLongAsTheServerAsksAndMoves(t *testing.T) {
	retryIn := func(d time.Duration) script {
		return func(int, *runnelv1.SubscribeRequest, stream) error {
			return withDetails(codes.Unavailable, &errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
		}
	}
	for _, tt := range []struct {
		name   string
		script script
		want   time.Duration // with the longest jitter: half as much again
		moved  bool
	}{
		{"RetryInfo", retryIn(8 * time.Second), 12 * time.Second, true},
		{"a RetryInfo that makes no sense", retryIn(24 * time.Hour), 7*time.Minute + 30*time.Second, true},
		{"a negative RetryInfo", retryIn(-time.Hour), 100 * time.Millisecond, true},
		{"Goodbye", func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
			return stream.Send(&runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Goodbye{Goodbye: &runnelv1.Goodbye{
				Reason: runnelv1.GoodbyeReason_GOODBYE_REASON_MAX_AGE, RetryAfterMs: 4000,
			}}})
		}, 6 * time.Second, true},
		{"no hint", func(int, *runnelv1.SubscribeRequest, stream) error {
			return status.Error(codes.Unavailable, "")
		}, 100 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, at, fake := interruptions(t, 2, tt.script)
			if all[0].RetryIn != tt.want || at[1] != tt.want {
				t.Errorf("waits %v, calls at %v; want %v", all[0].RetryIn, at, tt.want)
			}
			if tt.name == "Goodbye" && !errors.Is(all[0].Err, ErrGoodbye) {
				t.Errorf("error %v, want ErrGoodbye", all[0].Err)
			}
			want := 1
			if tt.moved {
				want = 2
			}
			if _, connections := fake.counts(); connections != want {
				t.Errorf("used %d connections, want %d", connections, want)
			}
		})
	}
}

func TestSubscribeReturnsTerminalErrorsWithTheirDetails(t *testing.T) {
	c, fake, stop := newFake(t, func(int, *runnelv1.SubscribeRequest, stream) error {
		return withDetails(codes.InvalidArgument, &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "resources[0].label_selector"}},
		})
	})
	defer stop()
	err := c.Subscribe(t.Context(), podRequest(), Handler{
		Frame:       func(*runnelv1.SubscribeResponse) error { return nil },
		Interrupted: func(i Interruption) { t.Errorf("interrupted: %+v", i) },
	})
	s, _ := status.FromError(err)
	details, ok := detail[*errdetails.BadRequest](s)
	if s.Code() != codes.InvalidArgument || !ok || details.GetFieldViolations()[0].GetField() != "resources[0].label_selector" {
		t.Errorf("got %v, details %v", err, s.Details())
	}
	if calls, _ := fake.counts(); calls != 1 {
		t.Errorf("called %d times, want once", calls)
	}
}

func TestSubscribeTriesNewCredentialsOnceWhenThoseOfAStreamExpire(t *testing.T) {
	c, fake, stop := newFake(t, func(call int, _ *runnelv1.SubscribeRequest, stream stream) error {
		if call == 0 {
			if err := stream.Send(newReset()); err != nil {
				return err
			}
		}
		return status.Error(codes.Unauthenticated, "token expired")
	}, WithBackoff(1, 1))
	defer stop()
	err := c.Subscribe(t.Context(), podRequest(), Handler{Frame: func(*runnelv1.SubscribeResponse) error { return nil }})
	if calls, _ := fake.counts(); status.Code(err) != codes.Unauthenticated || calls != 2 {
		t.Errorf("got %v after %d calls, want Unauthenticated after 2", err, calls)
	}
}

func TestSubscribeReturnsTheHandlersErrorAndEndsTheStream(t *testing.T) {
	ended := make(chan struct{})
	c, _, stop := newFake(t, func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
		defer close(ended)
		return send(stream, newReset())
	})
	defer stop()
	err := c.Subscribe(t.Context(), podRequest(), Handler{Frame: func(*runnelv1.SubscribeResponse) error { return errEnough }})
	if !errors.Is(err, errEnough) {
		t.Errorf("got %v, want the handler's error", err)
	}
	<-ended // or the test runs into its time limit
}

func TestSubscribeReturnsErrClosedAfterClose(t *testing.T) {
	c, _, stop := newFake(t, func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
		return send(stream, newReset())
	})
	defer stop()
	frame := func(*runnelv1.SubscribeResponse) error { return c.Close() }
	if err := c.Subscribe(t.Context(), podRequest(), Handler{Frame: frame}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if err := c.Subscribe(t.Context(), podRequest(), Handler{Frame: frame}); !errors.Is(err, ErrClosed) {
		t.Errorf("a new subscription: got %v, want ErrClosed", err)
	}
}

// The deadline is the subscriber's own business: a server that knew it would end the
// stream first, which looks like an interruption.
func TestSubscribeEndsAtTheDeadlineWithoutInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, stop := newFake(t, func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
			if _, has := stream.Context().Deadline(); has {
				t.Error("the server was told the deadline")
			}
			return send(stream, newReset())
		})
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := c.Subscribe(ctx, podRequest(), Handler{
			Frame:       func(*runnelv1.SubscribeResponse) error { return nil },
			Interrupted: func(i Interruption) { t.Errorf("interrupted: %+v", i) },
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

func TestSubscribeIgnoresFramesOfUnknownKind(t *testing.T) {
	c, _, stop := newFake(t, func(_ int, _ *runnelv1.SubscribeRequest, stream stream) error {
		return send(stream, &runnelv1.SubscribeResponse{}, newReset())
	})
	defer stop()
	_ = c.Subscribe(t.Context(), podRequest(), Handler{Frame: func(frame *runnelv1.SubscribeResponse) error {
		if frame.GetReset_() == nil {
			t.Errorf("got frame %v", frame)
		}
		return errEnough
	}})
}

func TestSubscribeSendsTheRequestAsItWas(t *testing.T) {
	request := podRequest()
	c, _, stop := newFake(t, func(call int, got *runnelv1.SubscribeRequest, stream stream) error {
		if got.GetResources()[0].GetResource() != "pods" {
			t.Errorf("call %d asks for %v", call, got)
		}
		if call == 0 {
			return io.EOF
		}
		return send(stream, newReset())
	}, WithBackoff(1, 1))
	defer stop()
	_ = c.Subscribe(t.Context(), request, Handler{
		Frame:       func(*runnelv1.SubscribeResponse) error { return errEnough },
		Interrupted: func(Interruption) { request.Resources[0].Resource = "changed" },
	})
}

// The whole way: a copy that proves wrong is put right by a new snapshot, told as the
// difference only, and each attempt to do so waits longer than the last.
func TestSubscribeStartsOverWhenTheReplicaProvesWrong(t *testing.T) {
	web, db := added("web", "1", "10", "a"), added("db", "2", "11", "a")
	synctest.Test(t, func(t *testing.T) {
		c, _, stop := newFake(t, func(call int, _ *runnelv1.SubscribeRequest, stream stream) error {
			if call < 2 { // forgets to send db
				return send(stream, newReset(), batch(true, web), synced(web), allSynced(), bookmark(web, db))
			}
			return send(stream, newReset(), batch(true, web, db), synced(web, db), allSynced())
		}, longest)
		defer stop()
		r := newRecorder(t)
		var all []Interruption
		err := c.Subscribe(t.Context(), podRequest(), Handler{
			Frame: func(frame *runnelv1.SubscribeResponse) error {
				if err := r.Apply(frame); err != nil {
					return err
				}
				if frame.GetSynced() != nil && frame.GetSynced().Resource == nil && len(all) == 2 {
					return errEnough
				}
				return nil
			},
			Interrupted: func(i Interruption) { all = append(all, i) },
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		r.wantTold(t, "ADDED web/1@10 initial", "ADDED db/2@11 initial")
		wantDelays(t, all, 100*time.Millisecond, 200*time.Millisecond)
		for _, i := range all {
			if !errors.Is(i.Err, ErrDigestMismatch) {
				t.Errorf("interrupted by %v, want a digest mismatch", i.Err)
			}
		}
		if r.Mismatches() != 2 {
			t.Errorf("counted %d mismatches, want 2", r.Mismatches())
		}
	})
}
