package watch

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/client"
)

func TestWatchRepeatsItselfOnlyWhenTheRetryIsFarAway(t *testing.T) {
	var stderr strings.Builder
	r := &reporter{stderr: &stderr, server: "s"}
	away, other := status.Error(codes.Unavailable, "away"), status.Error(codes.Internal, "other")
	for _, i := range []client.Interruption{
		{Err: away, RetryIn: 50 * time.Millisecond},
		{Err: away, RetryIn: 100 * time.Millisecond},
		{Err: away, RetryIn: 2 * time.Second},
		{Err: other, RetryIn: 100 * time.Millisecond},
	} {
		r.interrupted(i)
	}
	r.connected()
	r.connected()
	want := `
runnel: cannot reach server at s: away; retrying in 50ms
runnel: cannot reach server at s: away; retrying in 2s
runnel: server at s: internal: other; retrying in 100ms
runnel: connected
`
	if got := stderr.String(); got != want[1:] {
		t.Errorf("stderr\n%s\nwant\n%s", got, want[1:])
	}
}
