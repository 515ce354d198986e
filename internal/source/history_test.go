package source

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnel-dev/runnel/internal/view"
)

// resets checks that history was rewritten under a cursor, and what it reads then.
func (w *watched) resets(c *view.Cursor, want ...string) {
	w.t.Helper()
	var b view.Batch
	if c.Read(&b); !b.Reset || !b.Rewritten {
		w.t.Errorf("reset %v, rewritten %v", b.Reset, b.Rewritten)
	}
	w.reads(c, want...)
}

// seen is what a source saw until its watch ended, too early.
var seen = answer{request: "watchlist", end: true, body: []string{
	event("ADDED", "a ua@1100"), event("ADDED", "b ub@900"), bookmark("1150", true), bookmark("1200", false),
}}

// restored is what there is in the other history.
var restored = answer{request: "watchlist", body: []string{event("ADDED", "a ua@950"), bookmark("1000", true), event("ADDED", "c uc@1001")}}

// C07: the API server is behind the watch that ended.
func TestHistoryThatGoesBackBeginsAnew(t *testing.T) { // D9
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@1100", "+ b ub@900")
		w.api.current.Store(1000)
		w.api.will(restored)
		pass(time.Minute)
		w.is(synced, "1001")
		w.resets(c, "+ a ua@950", "+ c uc@1001")
	}, seen, answer{request: "at 1100 a", after: time.Second, status: http.StatusServiceUnavailable, reason: "ServiceUnavailable"})
}

// The new history is longer than the old one was: no number tells, but the last change is
// not where it was.
func TestHistoryThatHasOvertakenIsFoundOutByTheLastChange(t *testing.T) { // D9
	for name, at := range map[string]answer{
		"in another version": {request: "at 1100 a", after: time.Second, body: list("1300", "a ua@950")},
		"another object":     {request: "at 1100 a", after: time.Second, body: list("1300", "a ua2@1100")},
		"not there":          {request: "at 1100 a", after: time.Second, body: list("1300")},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *watched) {
				c := w.open()
				w.reads(c, "+ a ua@1100", "+ b ub@900")
				w.api.will(answer{request: "watchlist", body: []string{event("ADDED", "a ua@1250"), bookmark("1300", true)}})
				pass(time.Minute)
				w.is(synced, "1300")
				w.resets(c, "+ a ua@1250")
			}, seen, at)
		})
	}
}

// Nothing that was seen is lost, but something happened that was not seen and that a watch
// from the watermark would be silent about.
func TestHistoryThatHasOvertakenIsFoundOutByWhatHappenedInIt(t *testing.T) { // D9
	for _, unseen := range []string{event("MODIFIED", "b ub@1180"), event("ADDED", "c uc@1180"), event("DELETED", "b ub@1180")} {
		inBubble(t, func(w *watched) {
			c := w.open()
			w.reads(c, "+ a ua@1100", "+ b ub@900")
			pass(time.Minute)
			w.is(synced, "1300")
			w.resets(c, "+ a ua@1250")
		}, seen, answer{request: "at 1100 a", after: time.Second, body: list("1300", "a ua@1100")},
			answer{request: "watch 1100", body: []string{unseen}},
			answer{request: "watchlist", body: []string{event("ADDED", "a ua@1250"), bookmark("1300", true)}})
	}
}

func TestDeletionIsTheLastChangeToo(t *testing.T) { // D9
	deleted := answer{request: "watchlist", end: true, body: []string{
		event("ADDED", "a ua@3"), event("ADDED", "b ub@4"), bookmark("10", true), event("DELETED", "a ua@15"), bookmark("20", false),
	}}
	t.Run("same history", func(t *testing.T) {
		inBubble(t, func(w *watched) {
			c := w.open()
			w.reads(c, "+ b ub@4")
			pass(time.Minute)
			w.is(synced, "25")
			w.reads(c, "+ c uc@25")
		}, deleted, answer{request: "at 15 a", after: time.Second, body: list("50")}, answer{request: "at 14 a", body: list("50", "a ua@3")},
			answer{request: "watch 15", body: []string{event("ADDED", "c uc@25")}})
	})
	t.Run("another", func(t *testing.T) {
		inBubble(t, func(w *watched) {
			c := w.open()
			w.reads(c, "+ b ub@4")
			pass(time.Minute)
			w.is(synced, "40")
			w.resets(c, "+ a ua2@30")
		}, deleted, answer{request: "at 15 a", after: time.Second, body: list("50")}, answer{request: "at 14 a", body: list("50")},
			answer{request: "watchlist", body: []string{event("ADDED", "a ua2@30"), bookmark("40", true)}})
	})
}

// A watch that ends when it was to is opened again without further ado.
func TestWatchThatEndsInTimeGoesOnAtOnce(t *testing.T) {
	inBubble(t, func(w *watched) {
		pass(time.Hour)
		w.is(synced, "21")
	}, answer{request: "watchlist", lasts: 11 * time.Minute, body: []string{event("ADDED", "a ua@3"), bookmark("10", true), bookmark("20", false)}},
		answer{request: "watch 20", body: []string{event("MODIFIED", "a ua@21")}})
}

// Aggregated API servers need not know the past.
func TestWithoutAPastThereIsAList(t *testing.T) {
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		pass(time.Minute)
		w.is(synced, "30")
		w.reads(c, "~ a ua@25")
	}, answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}},
		answer{request: "at 3 a", after: time.Second, status: http.StatusBadRequest, reason: "BadRequest"},
		answer{request: "watchlist", body: []string{event("ADDED", "a ua@25"), bookmark("30", true)}})
}

// A list holds what should have been seen before.
func TestListThatContradictsWhatWasSeenIsOfAnotherHistory(t *testing.T) { // D9
	for name, item := range map[string]string{
		"a new object": "x ux@8", "an older version": "a ua@2", "another object": "a ua2@3", "a newer version": "a ua@9",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *watched) {
				c := w.open()
				w.reads(c, "+ a ua@3")
				w.api.will(answer{request: "watchlist", body: []string{event("ADDED", item), bookmark("30", true)}},
					answer{request: "watchlist", body: []string{event("ADDED", item), bookmark("30", true)}}) // to another informer
				pass(time.Minute)
				w.is(synced, "30")
				w.resets(c, "+ "+item)
			}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true), expired}})
		})
	}
}

// A cache that lags is not another history; it is not served.
func TestListFromACacheThatLagsIsNotServed(t *testing.T) { // D2, D9
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.api.will(answer{request: "watchlist", body: []string{event("ADDED", "a ua@2"), bookmark("5", true)}},
			answer{request: "watchlist", body: []string{event("ADDED", "a ua@12"), bookmark("30", true)}})
		pass(time.Minute)
		w.is(synced, "30")
		w.reads(c, "~ a ua@12")
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true), expired}})
}

// C10: whatever is asked of the resourceVersion is refused, as a status and in mid-stream.
func TestResourceVersionThatIsAlwaysExpiredIsListedAnew(t *testing.T) { // D1, D4
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.api.will(
			answer{request: "watchlist", status: http.StatusGone, reason: "Expired"},
			answer{request: "watchlist", body: []string{expired}},
			answer{request: "watchlist", body: []string{event("ADDED", "a ua@25"), bookmark("30", true)}})
		pass(10 * time.Minute)
		w.is(synced, "30")
		w.reads(c, "~ a ua@25")
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true), expired}})
}

// What one subscriber finds out is known to all.
func TestQuorumReadFindsOutThatHistoryWentBack(t *testing.T) { // D9
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@1100")
		w.api.current.Store(1000)
		w.api.will(restored)
		if current, err := w.source.Current(w.t.Context()); err != nil || current != "1000" {
			t.Errorf("current is %s, %v", current, err)
		}
		pass(time.Minute)
		w.is(synced, "1001")
		w.resets(c, "+ a ua@950", "+ c uc@1001")
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@1100"), bookmark("1200", true)}})
}

// D8, D10: a thousand who want to know are one question or two, and no answer is older than
// its question.
func TestQuorumReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(things, Limits{})
		ctx, stop := context.WithCancel(t.Context())
		reads := 0
		var asking, running sync.WaitGroup
		running.Go(func() {
			s.quorum.run(ctx, func(context.Context) (string, error) {
				reads++
				<-time.After(time.Second)
				return string(rune('0' + reads)), nil
			})
		})
		ask := func(want string) {
			asking.Go(func() {
				if got, err := s.Current(ctx); err != nil || got != want {
					t.Errorf("%s, %v; want %s", got, err, want)
				}
			})
		}
		ask("1")
		synctest.Wait()
		for range 1000 {
			ask("2")
		}
		asking.Wait()
		if reads != 2 {
			t.Errorf("%d reads", reads)
		}
		stop()
		if _, err := s.Current(ctx); err == nil {
			t.Error("an answer behind the end")
		}
		running.Wait()
	})
}

func TestAwaitingAResourceVersion(t *testing.T) { // D8
	synctest.Test(t, func(t *testing.T) {
		s := New(things, Limits{})
		s.Mark("10")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if !s.Await(short, "10") || s.Await(short, "11") {
			t.Error("10 is there, and 11 is not")
		}
		time.AfterFunc(time.Second, func() { s.Mark("11") })
		if !s.Await(t.Context(), "11") {
			t.Error("11 did not come")
		}
	})
}
