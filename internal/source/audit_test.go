package source

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const often = 10 * time.Minute

// quiet are initial events, and a watch that is told of nothing else until 20.
func quiet(objects ...string) answer {
	an := answer{request: "watchlist"}
	for _, o := range objects {
		an.body = append(an.body, event("ADDED", o))
	}
	an.body = append(an.body, bookmark("10", true), bookmark("20", false))
	return an
}

// identities is what an audit is answered in resourceVersion 20.
func identities(objects ...string) answer {
	return answer{request: "identities", after: time.Second, body: list("20", objects...)}
}

// C21: the watch swallows an event; an audit finds it, and subscribers are told.
func TestAuditFindsEventsThatWereLost(t *testing.T) {
	for name, lost := range map[string]struct {
		before, after []string
		told          []string
	}{
		"DELETED":    {[]string{"a ua@3"}, nil, []string{"- a ua@21 final_state_unknown"}},
		"MODIFIED":   {[]string{"a ua@3"}, []string{"a ua@13"}, []string{"~ a ua@13"}},
		"ADDED":      {nil, []string{"a ua@13"}, []string{"+ a ua@13"}},
		"re-created": {[]string{"a ua@3"}, []string{"a ub@13"}, []string{"- a ua@13 gone", "+ a ub@13"}},
	} {
		t.Run(name, func(t *testing.T) {
			relist := answer{request: "watchlist"}
			for _, o := range lost.after {
				relist.body = append(relist.body, event("ADDED", o))
			}
			relist.body = append(relist.body, bookmark("21", true))
			answers := []answer{quiet(lost.before...), identities(lost.after...)}
			if len(lost.before) > 0 { // by which it is known that history is the same
				answers = append(answers, still)
			}
			inBubbleWith(t, Limits{Audit: often}, func(w *watched) {
				c := w.open()
				w.reads(c, prefixed("+ ", lost.before)...)
				pass(often + time.Minute)
				w.is(synced, "21")
				w.reads(c, lost.told...)
				w.audits(1, 1)
			}, append(answers, relist)...)
		})
	}
}

func prefixed(prefix string, lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, prefix+l)
	}
	return out
}

func TestAuditReadsPageByPage(t *testing.T) {
	first := identities("a ua@3")
	first.body[0] = strings.Replace(first.body[0], `"resourceVersion":"20"`, `"resourceVersion":"20","continue":"-more"`, 1)
	second := identities("b ub@4")
	second.request = "identities-more"
	inBubbleWith(t, Limits{Audit: often}, func(w *watched) {
		pass(often + time.Minute)
		w.audits(1, 0)
	}, quiet("a ua@3", "b ub@4"), first, second)
}

// audits checks how many audits there were, and of how many objects they found an event
// lost.
func (w *watched) audits(audits, lost uint64) {
	w.t.Helper()
	if got := w.source.Stats().Audits; got != (Audits{audits, lost}) {
		w.t.Errorf("%+v, want %d and %d", got, audits, lost)
	}
}

// What changes while it is listed is no lost event, in whatever state it was listed; nor is
// what the list does not know yet.
func TestAuditLetsObjectsChangeMeanwhile(t *testing.T) {
	changing := quiet("a ua@3", "b ub@4", "c uc@5")
	changing.body = append(changing.body, "after 11m",
		event("MODIFIED", "a ua@31"), event("DELETED", "b ub@32"), event("ADDED", "d ud@33"), bookmark("40", false))
	inBubbleWith(t, Limits{Audit: often}, func(w *watched) {
		pass(2 * often)
		w.is(synced, "40")
		w.audits(1, 0)
	}, changing, answer{request: "identities", after: 4 * time.Minute, body: list("31", "a ua@31", "b ub@4", "c uc@5")})
}

// An audit that cannot list says nothing about what is held.
func TestAuditThatFailsFindsNothing(t *testing.T) {
	inBubbleWith(t, Limits{Audit: often}, func(w *watched) {
		pass(often + time.Minute)
		w.is(synced, "20")
		w.audits(0, 0)
	}, quiet("a ua@3"), answer{request: "identities", after: time.Second, status: http.StatusForbidden, reason: "Forbidden"})
}

// An audit of another history is not about lost events.
func TestAuditOfAnotherHistoryResets(t *testing.T) { // D9
	inBubbleWith(t, Limits{Audit: often}, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		pass(often + time.Minute)
		w.is(synced, "21")
		w.resets(c, "+ a ub@2")
	}, quiet("a ua@3"), identities("a ub@2"),
		answer{request: "at 3 a", after: time.Second, body: list("20", "a ub@2")},
		answer{request: "watchlist", body: []string{event("ADDED", "a ub@2"), bookmark("21", true)}})
}
