package source

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/runnel-dev/runnel/internal/view"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// reads checks what one read brings, as in "+ name uid@7" or "- name uid@9 gone".
func (w *watched) reads(c *view.Cursor, want ...string) {
	w.t.Helper()
	var b view.Batch
	c.Read(&b)
	var response runnelv1.SubscribeResponse
	if err := proto.Unmarshal(wire.Batch(0, false, b.Events, nil).Bytes(), &response); err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, e := range response.GetBatch().GetEvents() {
		line := fmt.Sprintf("%c %s %s@%s", "?+~-"[e.GetType()], e.GetName(), e.GetUid(), e.GetResourceVersion())
		if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
			line += " " + strings.ToLower(strings.TrimPrefix(e.GetReason().String(), "DELETION_REASON_"))
		}
		got = append(got, line)
	}
	if b.Initial {
		slices.Sort(got) // in no order
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("read %q, want %q", got, want)
	}
}

// is checks the state and the watermark.
func (w *watched) is(state runnelv1.SourceState, watermark string) {
	w.t.Helper()
	if got := w.source.State().Source; got != state || w.source.Watermark() != watermark {
		w.t.Errorf("%v at %q, want %v at %q", got, w.source.Watermark(), state, watermark)
	}
}

const (
	synced       = runnelv1.SourceState_SOURCE_STATE_SYNCED
	starting     = runnelv1.SourceState_SOURCE_STATE_STARTING
	forbidden    = runnelv1.SourceState_SOURCE_STATE_FORBIDDEN
	notInstalled = runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED
	gone         = runnelv1.SourceState_SOURCE_STATE_GONE
	stale        = runnelv1.SourceState_SOURCE_STATE_STALE
	failing      = runnelv1.SourceState_SOURCE_STATE_FAILING
)

// still says that the last change is where it was.
var still = answer{request: "at 3 a", body: list("50", "a ua@3")}

func TestInitialEventsThenChangesThenBookmarks(t *testing.T) { // D7
	inBubble(t, func(w *watched) {
		w.is(synced, "15")
		w.reads(w.open(), "+ b ub@12", "+ c uc@13")
	}, answer{request: "watchlist", body: []string{
		event("ADDED", "a ua@3"), event("ADDED", "b ub@5"), bookmark("10", true),
		event("DELETED", "a ua@11"), event("MODIFIED", "b ub@12"), event("ADDED", "c uc@13"), bookmark("15", false),
	}})
}

func TestNothingIsKnownBeforeTheInitialEventsEnd(t *testing.T) { // D7
	inBubble(t, func(w *watched) {
		w.is(starting, "")
		if _, _, err := (want{}).open(w.source); !errors.Is(err, ErrNotSynced) {
			t.Errorf("a view: %v", err)
		}
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", false)}})
}

func TestServerThatCannotStreamListsIsListed(t *testing.T) {
	inBubble(t, func(w *watched) {
		w.is(synced, "12")
		w.reads(w.open(), "+ a ua@3", "+ b ub@12")
	}, noWatchList,
		answer{request: "list", body: list("10", "a ua@3")},
		answer{request: "watch 10", body: []string{event("ADDED", "b ub@12")}})
}

func TestWatchThatEndsGoesOnWhereItWas(t *testing.T) { // D1
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.is(synced, "20")
		pass(time.Minute)
		w.is(synced, "21")
		w.reads(c, "~ a ua@21")
	}, answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true), bookmark("20", false)}},
		still, answer{request: "watch 3", after: time.Minute, body: []string{event("MODIFIED", "a ua@21")}})
}

// 410 in mid-stream. What a list brings is one step, and what it misses is gone
// for an unknown reason, at most as late as the list.
func TestExpiredWatchIsListedAnew(t *testing.T) { // D1, D4, D5, D12
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3", "+ b ub@4", "+ c uc@5", "+ d ud@6")
		w.api.will(answer{request: "watchlist", body: []string{
			event("ADDED", "b ub2@15"), event("ADDED", "c uc@16"), event("ADDED", "d ud@6"), event("ADDED", "e ue@17"), bookmark("30", true),
		}})
		pass(time.Minute)
		w.is(synced, "30")
		var b view.Batch
		c.Read(&b)
		if len(b.Events) != 5 || !b.Level { // -a -b +b ~c +e
			t.Errorf("%d events, level %v", len(b.Events), b.Level)
		}
		w.reads(w.open(), "+ b ub2@15", "+ c uc@16", "+ d ud@6", "+ e ue@17")
	}, answer{request: "watchlist", body: []string{
		event("ADDED", "a ua@3"), event("ADDED", "b ub@4"), event("ADDED", "c uc@5"), event("ADDED", "d ud@6"), bookmark("10", true), expired,
	}})
}

func TestMissingInAListHasAnUnknownFinalState(t *testing.T) { // D4
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.api.will(answer{request: "watchlist", body: []string{bookmark("30", true)}})
		pass(time.Minute)
		w.reads(c, "- a ua@30 final_state_unknown")
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true), expired}})
}

// A list is made visible by the watch behind it. Where that fails, the next list
// counts, also for what only the list before it held.
func TestListBehindAListThatNoWatchFollowed(t *testing.T) { // D1
	inBubble(t, func(w *watched) {
		w.is(failing, "")
		w.api.will(noWatchList,
			answer{request: "list", body: list("20", "b ub@4")},
			answer{request: "watch 20"})
		pass(time.Minute)
		w.is(synced, "20")
		w.reads(w.open(), "+ b ub@4")
	}, noWatchList,
		answer{request: "list", body: list("10", "a ua@3", "b ub@4")},
		answer{request: "watch 10", status: http.StatusBadRequest, reason: "BadRequest"})
}

func TestRefusalsAreTold(t *testing.T) { // D11
	for _, test := range []struct {
		status int
		reason string
		state  runnelv1.SourceState
		synced runnelv1.SourceState // where there was data before
	}{
		{http.StatusForbidden, "Forbidden", forbidden, forbidden},
		{http.StatusUnauthorized, "Unauthorized", forbidden, forbidden},
		{http.StatusNotFound, "NotFound", failing, stale}, // discovery knows better
		{http.StatusInternalServerError, "InternalError", failing, stale},
	} {
		refuse := answer{request: "watchlist", status: test.status, reason: test.reason}
		t.Run(test.reason+" at first", func(t *testing.T) {
			inBubble(t, func(w *watched) {
				w.is(test.state, "")
				if s := w.source.State(); s.Ready() || !strings.Contains(s.Message, test.reason) {
					t.Errorf("state %+v", s)
				}
			}, refuse)
		})
		t.Run(test.reason+" later", func(t *testing.T) {
			inBubble(t, func(w *watched) {
				before := time.Now()
				pass(time.Second)
				w.is(test.synced, "10")
				if s := w.source.State(); !s.AsOf.Equal(before) {
					t.Errorf("data as of %v, not %v", s.AsOf, before)
				}
				w.reads(w.open(), "+ a ua@3") // it is served as it was
			}, answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}},
				still, answer{request: "watch 3", after: time.Second, status: test.status, reason: test.reason})
		})
	}
}

func TestWatchThatIsRefusedForAMoment(t *testing.T) { // D11
	inBubble(t, func(w *watched) {
		w.is(synced, "10")
		pass(time.Second)
		w.is(stale, "10")
		pass(time.Minute)
		w.is(synced, "10")
	}, answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}},
		still, answer{request: "watch 3", after: time.Second, status: http.StatusTooManyRequests, reason: "TooManyRequests"},
		still, answer{request: "watch 3"})
}

// It is how watches end, not a failure.
func TestWatchThatIsRefusedAsExpiredIsListedAnew(t *testing.T) {
	inBubble(t, func(w *watched) {
		w.is(synced, "10")
		pass(time.Hour)
		w.is(synced, "20")
	}, answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}},
		still, answer{request: "watch 3", status: http.StatusGone, reason: "Expired"},
		answer{request: "watchlist", after: time.Minute, body: []string{event("ADDED", "a ua@3"), bookmark("20", true)}})
}

func TestSourceHealsByItself(t *testing.T) { // D11
	inBubble(t, func(w *watched) {
		wake := make(chan struct{}, 1)
		defer w.source.Notify(wake)()
		w.is(forbidden, "")
		w.api.will(answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}})
		pass(5 * time.Minute)
		w.is(synced, "10")
		if len(wake) == 0 {
			t.Error("nobody was told")
		}
	}, answer{request: "watchlist", status: http.StatusForbidden, reason: "Forbidden"},
		answer{request: "list", status: http.StatusForbidden, reason: "Forbidden"})
}
