package client

import (
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestBackoffWindowDoublesUpToTheLimit(t *testing.T) {
	const ms = time.Millisecond
	b := backoff{base: 100 * ms, max: time.Second, random: func(n time.Duration) time.Duration { return n }}
	for i, want := range []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second} {
		if got := b.next(0); got != want {
			t.Errorf("delay %d: at most %v, want %v", i, got, want)
		}
	}
	b.reset()
	if got := b.next(0); got != 100*ms {
		t.Errorf("after a reset: at most %v, want the base", got)
	}
}

func TestBackoffSurvivesAnyNumberOfFailures(t *testing.T) {
	b := backoff{base: time.Second, max: math.MaxInt64, failures: 1000}
	if got := b.window(); got != math.MaxInt64 {
		t.Errorf("window %v, want the limit", got)
	}
}

func TestBackoffHintIsTheLeastDelay(t *testing.T) {
	for _, tt := range []struct {
		random    func(time.Duration) time.Duration
		hint, got time.Duration
	}{
		{func(time.Duration) time.Duration { return 0 }, 10 * time.Second, 10 * time.Second},
		{func(n time.Duration) time.Duration { return n }, 10 * time.Second, 15 * time.Second}, // spread over half of it
		{func(n time.Duration) time.Duration { return n }, 10 * time.Millisecond, 110 * time.Millisecond},
	} {
		b := backoff{base: 100 * time.Millisecond, max: time.Minute, random: tt.random}
		if got := b.next(tt.hint); got != tt.got {
			t.Errorf("hint %v: delay %v, want %v", tt.hint, got, tt.got)
		}
	}
}

func TestBackoffJitterIsOfTheBaseAndNoFailure(t *testing.T) {
	b := backoff{base: time.Second, max: time.Minute, failures: 3, random: func(n time.Duration) time.Duration { return n }}
	if got := b.jitter(0); got != time.Second {
		t.Errorf("at most %v, want the base", got)
	}
	if got := b.jitter(10 * time.Second); got != 15*time.Second {
		t.Errorf("with a hint %v, want all of it and at most half more", got)
	}
	if got := b.next(0); got != 8*time.Second {
		t.Errorf("then at most %v, want what it was before", got)
	}
}

func TestDefaultJitterIsFull(t *testing.T) {
	random := defaults().random
	low, high := false, false
	for range 1000 {
		d := random(time.Second)
		if d < 0 || d > time.Second {
			t.Fatalf("%v is not in [0, 1s]", d)
		}
		low, high = low || d < 250*time.Millisecond, high || d > 750*time.Millisecond
	}
	if !low || !high {
		t.Errorf("1000 draws from [0, 1s]: one in the lowest quarter %v, one in the highest %v", low, high)
	}
}

func TestTerminalCodes(t *testing.T) {
	limit := withDetails(codes.ResourceExhausted, &errdetails.BadRequest{})
	for _, tt := range []struct {
		err       error
		connected bool
		want      bool
	}{
		{io.EOF, true, false},
		{ErrGoodbye, true, false},
		{status.Error(codes.InvalidArgument, ""), false, true},
		{status.Error(codes.NotFound, ""), false, true},
		{status.Error(codes.PermissionDenied, ""), true, true},
		{status.Error(codes.FailedPrecondition, ""), false, true},
		{status.Error(codes.OutOfRange, ""), false, true},
		{status.Error(codes.Unimplemented, ""), false, true},
		{status.Error(codes.Unauthenticated, ""), false, true},
		{status.Error(codes.Unauthenticated, ""), true, false},
		{status.Error(codes.ResourceExhausted, ""), false, false},
		{limit, false, true},
		{status.Error(codes.Unavailable, ""), false, false},
		{status.Error(codes.Internal, ""), false, false},
		{status.Error(codes.Aborted, ""), false, false},
		{expired(), false, false},
		{status.Error(codes.Canceled, ""), false, false},
		{status.Error(codes.DeadlineExceeded, ""), false, false},
		{status.Error(codes.Unknown, ""), false, false},
	} {
		if got := terminal(tt.err, tt.connected); got != tt.want {
			t.Errorf("terminal(%v, connected %v) = %v", tt.err, tt.connected, got)
		}
	}
}

func TestATokenIsExpiredOnlyWhereRunnelSaysSo(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{expired(), true},
		{withDetails(codes.Aborted, &errdetails.ErrorInfo{Reason: "TOKEN_EXPIRED", Domain: "example.com"}), false},
		{withDetails(codes.Aborted, &errdetails.ErrorInfo{Reason: "OTHER", Domain: "runnel.v1"}), false},
		{withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: "TOKEN_EXPIRED", Domain: "runnel.v1"}), false},
		{status.Error(codes.Aborted, "TOKEN_EXPIRED"), false},
		{io.EOF, false},
		{nil, false},
	} {
		if got := tokenExpired(tt.err); got != tt.want {
			t.Errorf("tokenExpired(%v) = %v", tt.err, got)
		}
	}
}

func TestRetryHint(t *testing.T) {
	if _, ok := retryHint(status.Error(codes.Unavailable, "")); ok {
		t.Error("a status without RetryInfo has a hint")
	}
	got, ok := retryHint(withDetails(codes.Unavailable,
		&errdetails.ErrorInfo{Reason: "DRAINING"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)}))
	if !ok || got != 7*time.Second {
		t.Errorf("hint %v %v, want 7s", got, ok)
	}
}

func TestResourceVersionsCompareAsIntegersOfAnyLength(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"10", "10", false},
		{"0010", "9", false},
		{"009", "10", true},
		{"18446744073709551615", "18446744073709551616", true}, // 2^64
		{"99999999999999999999999999999999", "100000000000000000000000000000000", true},
		{"", "1", false},
		{"a", "b", false},
		{"1", "b", false},
		{"-1", "1", false},
	} {
		if got := older(tt.a, tt.b); got != tt.want {
			t.Errorf("older(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// The hashes come from another implementation of XXH64, after the comment of message
// Digest.
func TestDigestIsTheOneOfTheProtocol(t *testing.T) {
	var d Digest
	d.add("a", 1)
	if want := (Digest{1, 0xe9df91f9a4e013ad}); d != want {
		t.Errorf("digest %v, want %v", d, want)
	}
	d.add("6a1c", 0xef46db3751d8e999)
	if want := (Digest{2, 0xe9df91f9a4e013ad ^ 0xc605d333024f5ce8}); d != want {
		t.Errorf("digest %v, want %v", d, want)
	}
	d.remove("a", 1)
	d.remove("6a1c", 0xef46db3751d8e999)
	if d != (Digest{}) {
		t.Errorf("the digest of nothing is %v", d)
	}
}

func withDetails(code codes.Code, details ...protoadapt.MessageV1) error {
	s, err := status.New(code, "").WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func ExampleReplica() {
	replica, err := NewReplica(podRequest(), func(e Event) error {
		fmt.Println(e.Type, e.Name)
		return nil
	})
	if err != nil {
		panic(err)
	}
	web, db := added("web", "1", "10", "a"), added("db", "2", "11", "a")
	for _, frame := range []*runnelv1.SubscribeResponse{
		newReset(), batch(true, web, db), synced(web, db),
		newReset(), batch(true, web), synced(web), // another stream, after db was deleted
	} {
		if err := replica.Apply(frame); err != nil {
			panic(err)
		}
	}
	// Output:
	// ADDED web
	// ADDED db
	// DELETED db
}
