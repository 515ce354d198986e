package source

import (
	"testing"
	"time"
)

// C54: the API server sends what there is and goes on with what happens, but never says
// that this was the list.
func TestStreamedListThatNeverEndsIsListed(t *testing.T) {
	endless := answer{request: "watchlist", body: []string{
		event("ADDED", "a ua@3"), bookmark("10", false), "after 20s", event("ADDED", "b ub@11"),
	}}
	inBubble(t, func(w *watched) {
		pass(49 * time.Second)
		w.is(starting, "")
		pass(3 * time.Second)
		w.is(synced, "12")
		w.reads(w.open(), "+ a ua@3", "+ b ub@11")
		// It is not tried again.
		w.api.will(answer{request: "list", body: list("20", "a ua@3")}, answer{request: "watch 20"})
		w.source.Relist("again", true)
		pass(time.Second)
		w.is(synced, "20")
	}, endless,
		answer{request: "list", after: time.Second, body: list("12", "a ua@3", "b ub@11")}, answer{request: "watch 12"})
}

// It is no reason to wait for ever that something happens all the time.
func TestStreamedListThatNeverEndsUnderChurnIsListed(t *testing.T) {
	churn := answer{request: "watchlist"}
	for range 20 {
		churn.body = append(churn.body, event("ADDED", "a ua@3"), "after 20s")
	}
	inBubble(t, func(w *watched) {
		pass(streamDuration + time.Second)
		w.is(synced, "12")
	}, churn, answer{request: "list", body: list("12")}, answer{request: "watch 12"})
}

// A streamed list that is cut is listed at once, and streamed the next time.
func TestStreamedListThatIsCutIsListed(t *testing.T) {
	cut := answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3")}}
	inBubble(t, func(w *watched) {
		pass(time.Second)
		w.is(synced, "12")
		w.api.will(answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("20", true)}})
		w.source.Relist("again", true)
		pass(time.Second)
		w.is(synced, "20")
	}, cut, answer{request: "list", body: list("12", "a ua@3")}, answer{request: "watch 12"})
}
