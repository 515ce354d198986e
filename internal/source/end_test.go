package source

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// notFound is what the API server answers for a resource that it does not serve.
func notFound(request string) answer {
	return answer{request: request, after: time.Second, status: http.StatusNotFound, reason: "NotFound"}
}

// initialA are initial events of one object, in a watch that ends.
var initialA = answer{request: "watchlist", end: true, body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}}

// D11, C52: what is not served in any version is gone, and how it ended was not seen.
func TestObjectsOfAResourceThatIsRemovedAreGone(t *testing.T) {
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.installed.remove()
		pass(time.Hour) // nobody asks for it
		w.is(gone, "10")
		w.reads(c, "- a ua@10 final_state_unknown")
		if s := w.source.State(); !strings.Contains(s.Message, "things.v1.example.com") {
			t.Errorf("message %q", s.Message)
		}

		w.installed.install()
		w.api.will(answer{request: "watchlist", body: []string{event("ADDED", "a ua2@30"), bookmark("31", true)}})
		w.release()
		w.source, w.release = w.pool.Open(things)
		pass(time.Second)
		w.is(synced, "31")
		w.reads(w.open(), "+ a ua2@30")
	}, initialA, still, notFound("watch 3"))
}

// The objects are still there, for whoever asks for another version.
func TestVersionThatIsDroppedTakesNoObjectsWithIt(t *testing.T) {
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.installed.remove("v2", "v3")
		pass(time.Hour)
		w.is(gone, "10")
		w.reads(c)
		if s := w.source.State(); !strings.Contains(s.Message, "v2 and v3") {
			t.Errorf("message %q", s.Message)
		}
	}, initialA, still, notFound("watch 3"))
}

func TestResourceThatIsNotServedAtFirst(t *testing.T) {
	inBubble(t, func(w *watched) {
		w.installed.remove()
		pass(time.Hour)
		w.is(notInstalled, "")
	}, notFound("watchlist"))
}

// A path that is not found proves nothing: an API server that starts may not serve it yet.
func TestNotFoundAloneIsNotTheEnd(t *testing.T) {
	for name, change := range map[string]func(*discovery){
		"served":                    func(*discovery) {},
		"discovery does not answer": (*discovery).fail,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *watched) {
				c := w.open()
				change(w.installed)
				pass(time.Second)
				w.is(stale, "10")
				w.reads(c, "+ a ua@3")
				pass(time.Minute)
				w.is(synced, "10")
			}, initialA, still, notFound("watch 3"), answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}})
		})
	}
}

// D11: what is preloaded is looked for again when it was removed.
func TestPreloadedResourceIsKeptWhereItIsInstalledAgain(t *testing.T) {
	preloading(t, Preload{}, &discovery{installed: true}, func(p *preloaded) {
		p.discovery.remove()
		pass(time.Minute)
		p.discovery.install()
		p.api.will(answer{request: "watchlist", body: []string{bookmark("31", true)}})
		pass(2 * time.Minute)
		p.use()
		p.is(synced, "31")
		if p.api.asked != 4 {
			t.Errorf("asked %d times", p.api.asked)
		}
	}, initialA, still, notFound("watch 3"))
}

// The API server ends watches when a schema changes. What is there may then read
// differently, in the same resourceVersion.
func TestObjectsAreListedAnewWhenTheyReadDifferently(t *testing.T) {
	other := func(object string) string {
		return strings.Replace(thing("", object), `"metadata":`, `"spec":{"default":1},"metadata":`, 1)
	}
	inBubble(t, func(w *watched) {
		c := w.open()
		w.reads(c, "+ a ua@3")
		w.api.will(answer{request: "watchlist", body: []string{
			`{"type":"ADDED","object":` + other("a ua@3") + `}`, bookmark("12", true),
		}})
		pass(time.Minute)
		w.is(synced, "12")
		w.reads(c, "~ a ua@3")
	}, initialA,
		answer{request: "at 3 a", after: time.Second, body: []string{strings.Replace(list("50")[0], "[]", "["+other("a ua@3")+"]", 1)}})
}
