package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/resource"
)

// discovery knows things once they are installed.
type discovery struct {
	mu        sync.Mutex // guards what follows, up to hangs
	installed bool
	// versions are others in which things are served, and unknown says that it cannot be
	// found out.
	versions []string
	unknown  bool
	asked    int
	// hangs makes Resolve take until hang is closed. That is made in the bubble, or
	// synctest would not know that nothing else can end the wait.
	hangs bool
	hang  chan struct{}
}

func (d *discovery) Resolve(_ context.Context, group, version, name string) (resource.Resource, error) {
	if d.hangs {
		<-d.hang
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if !d.installed || group != things.Group || name != things.Resource || version != "" && version != things.Version {
		return resource.Resource{}, fmt.Errorf("%w %q", resource.ErrUnknown, name)
	}
	return things, nil
}

// Versions are none before things are installed.
func (d *discovery) Versions(_ context.Context, gr schema.GroupResource) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unknown {
		return nil, errors.New("discovery does not answer")
	}
	if !d.installed || gr != things.GroupResource() {
		return d.versions, nil
	}
	return append([]string{things.Version}, d.versions...), nil
}

// remove makes things served in the versions only.
func (d *discovery) remove(versions ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.installed, d.versions = false, versions
}

// fail makes discovery not answer.
func (d *discovery) fail() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unknown = true
}

func (d *discovery) install() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.installed = true
}

// preloaded is a pool that preloads things.
type preloaded struct {
	*watched
	discovery *discovery
	requests  *requests
	stop      func()
}

// requests notes the selectors of requests.
type requests struct {
	next http.RoundTripper
	mu   sync.Mutex // guards selectors
	// selectors are "labels;fields", one for each request.
	selectors []string
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	r.mu.Lock()
	r.selectors = append(r.selectors, q.Get("labelSelector")+";"+q.Get("fieldSelector"))
	r.mu.Unlock()
	return r.next.RoundTrip(req)
}

// preloading runs a test of a pool that preloads things, limited by the selectors.
func preloading(t *testing.T, pre Preload, d *discovery, f func(p *preloaded), answers ...answer) {
	synctest.Test(t, func(t *testing.T) {
		if d.hangs {
			d.hang = make(chan struct{})
		}
		cfg, api := newAPIServer(t)
		api.will(answers...)
		noted := &requests{}
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { noted.next = next; return noted })
		pre.Group, pre.Resource = things.Group, things.Resource
		pool, err := NewPool(PoolConfig{REST: cfg, IdleStop: time.Minute, Preload: []Preload{pre}, Resolver: d, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		p := &preloaded{watched: &watched{t: t, api: api, pool: pool, release: func() {}}, discovery: d, requests: noted}
		if p.settled() {
			t.Error("settled before it ran")
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Run(ctx) }()
		p.stop = sync.OnceFunc(func() {
			p.release()
			cancel()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
		defer p.stop()
		synctest.Wait()
		f(p)
	})
}

// use opens the source as a subscriber does.
func (p *preloaded) use() { p.source, p.release = p.pool.Open(things) }

func (p *preloaded) settled() bool {
	select {
	case <-p.pool.Settled():
		return true
	default:
		return false
	}
}

func TestPreloadedSourceStartsWithThePoolAndStays(t *testing.T) {
	preloading(t, Preload{}, &discovery{installed: true}, func(p *preloaded) {
		if !p.settled() {
			t.Error("synced, but not settled")
		}
		pass(time.Hour)
		p.use()
		p.is(synced, "10")
		p.release()
		pass(time.Hour)
		p.use()
		p.is(synced, "10")
		if p.api.asked != 1 || p.api.open.Load() != 1 {
			t.Errorf("asked %d times, %d open: it was stopped", p.api.asked, p.api.open.Load())
		}
	}, initial)
}

func TestPoolWithoutPreloadIsSettled(t *testing.T) {
	pool, err := NewPool(PoolConfig{REST: &rest.Config{Host: "http://api"}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-pool.Settled():
	default:
		t.Error("not settled")
	}
}

// D7: before that a subscriber would wait for the list.
func TestPoolIsNotSettledBeforeTheListEnds(t *testing.T) {
	preloading(t, Preload{}, &discovery{installed: true}, func(p *preloaded) {
		if p.settled() {
			t.Error("settled, though the initial events have not ended")
		}
	}, answer{request: "watchlist", body: []string{event("ADDED", "a ua@3")}})
}

// D11
func TestPoolIsSettledWhenItIsKnownWhyNotAndTheSourceRecovers(t *testing.T) {
	for _, tt := range []struct {
		status int
		reason string
	}{
		{http.StatusForbidden, "Forbidden"}, {http.StatusNotFound, "NotFound"}, {http.StatusInternalServerError, "InternalError"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			refusal := answer{status: tt.status, reason: tt.reason}
			watchlist, list := refusal, refusal
			watchlist.request, list.request = "watchlist", "list"
			preloading(t, Preload{}, &discovery{installed: true}, func(p *preloaded) {
				if !p.settled() {
					t.Error("not settled, though it was told why")
				}
				p.use()
				if p.source.State().Ready() {
					t.Error("ready")
				}
				pass(time.Minute)
				p.is(synced, "10")
			}, watchlist, list, initial)
		})
	}
}

// D11: a CRD that is installed later is found, after ever longer intervals.
func TestResourceThatIsNotInstalledIsLookedForUntilItIs(t *testing.T) {
	preloading(t, Preload{}, &discovery{}, func(p *preloaded) {
		if !p.settled() {
			t.Error("not settled, though the resource is not installed")
		}
		pass(time.Hour)
		if n := p.discovery.asked; n < 40 || n > 80 {
			t.Errorf("looked for %d times in an hour", n)
		}
		if p.api.asked > 0 {
			t.Error("listed though it is not installed")
		}
		p.discovery.install()
		pass(2 * time.Minute)
		p.use()
		p.is(synced, "10")
	}, initial)
}

func TestPoolStopsWhileTheAPIServerHangs(t *testing.T) {
	preloading(t, Preload{}, &discovery{hangs: true}, func(p *preloaded) {
		defer close(p.discovery.hang)
		p.stop() // does not return before Run has
	})
}

// D4: what the API server calls deleted may just have left the selector.
func TestRestrictedSourceNeverClaimsGone(t *testing.T) {
	pre := Preload{LabelSelector: "x in (y)", FieldSelector: "metadata.namespace=ns"}
	preloading(t, pre, &discovery{installed: true}, func(p *preloaded) {
		p.use()
		c := p.open()
		p.reads(c, "+ a ua@3", "+ b ub@4", "+ c uc@5", "+ d ud@6")
		p.api.will(answer{request: "watchlist", body: []string{
			event("ADDED", "b ub@4"), event("ADDED", "c uc2@16"), bookmark("20", true), event("DELETED", "b ub@21"),
		}})
		pass(time.Minute)
		p.is(synced, "21")
		p.reads(c, "- a ua@11 left_view", "- d ud@20 final_state_unknown", "- c uc@16 final_state_unknown", "+ c uc2@16", "- b ub@21 left_view")
		if got := p.requests.selectors; slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "x in (y);metadata.namespace=ns") }) {
			t.Errorf("selectors of the requests are %q", got)
		}
	},
		answer{request: "watchlist", end: true, body: []string{
			event("ADDED", "a ua@3"), event("ADDED", "b ub@4"), event("ADDED", "c uc@5"), event("ADDED", "d ud@6"), bookmark("10", true),
		}},
		answer{request: "at 6 d", body: list("50", "d ud@6")},
		answer{request: "watch 6", after: time.Second, body: []string{event("DELETED", "a ua@11"), expired}})
}

func TestRestrictionHoldsForListsAndWatchesToo(t *testing.T) {
	preloading(t, Preload{FieldSelector: "spec.a!=b"}, &discovery{installed: true}, func(p *preloaded) {
		want := slices.Repeat([]string{";spec.a!=b"}, 4) // of which one asks what is the newest resourceVersion
		if !slices.Equal(p.requests.selectors, want) {
			t.Errorf("selectors of the requests are %q", p.requests.selectors)
		}
	}, noWatchList,
		answer{request: "list", body: list("10", "a ua@3")},
		answer{request: "watch 10", body: []string{event("ADDED", "b ub@12")}})
}

func TestPreloadWithWrongSelectorsIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name    string
		preload []Preload
		want    string
	}{
		{"label selector", []Preload{{Resource: "pods", LabelSelector: "a in b"}}, "label selector of pods"},
		{"field selector", []Preload{{Group: "apps", Resource: "deployments", FieldSelector: "a"}}, "field selector of deployments.apps"},
		{"versions with different selectors",
			[]Preload{{Group: "g", Version: "v1", Resource: "rs", LabelSelector: "a"}, {Group: "g", Version: "v2", Resource: "rs"}},
			"rs.g is preloaded with different selectors"},
		{"versions with equal selectors",
			[]Preload{{Group: "g", Version: "v1", Resource: "rs", LabelSelector: "a,b"}, {Group: "g", Version: "v2", Resource: "rs", LabelSelector: "b, a"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, err := NewPool(PoolConfig{REST: &rest.Config{Host: "http://api"}, Preload: tt.preload})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
				if r := pool.restrictions[things.GroupResource()]; r.any() {
					t.Errorf("another resource is restricted to %v", r)
				}
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}
