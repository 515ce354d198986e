package subscriber

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// modelHorizons are none and one that never ends.
var modelHorizons = []time.Duration{time.Nanosecond, 1000 * time.Hour}

// TestModel drives replicas that start, lag and list at other times, a history that is
// rewritten, and clients that are cut anywhere and come back anywhere; it checks each
// client's received history against the contract. Its parts: the world and its replicas, the
// client, and its checks.
func TestModel(t *testing.T) {
	// A replica that is behind is waited for: in a bubble that takes no time.
	synctest.Test(t, func(t *testing.T) { rapid.Check(withoutDeadline{t}, modelHistory) })
	never := tally.report(t)
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	if !t.Failed() && !testing.Short() && checks >= modelChecks && len(never) > 0 {
		t.Errorf("never happened: %v", never)
	}
}

// withoutDeadline hides what may not be asked for in a bubble.
type withoutDeadline struct{ testing.TB }

type resumeModel struct {
	world    *modelWorld
	replicas []*modelReplica
	clients  []*modelClient
}

func modelHistory(t *rapid.T) {
	m := &resumeModel{world: newModelWorld()}
	defer func() {
		for _, c := range m.clients {
			c.cut()
		}
		for _, r := range m.replicas {
			if r.stop != nil {
				r.stop()
			}
		}
		synctest.Wait()
	}()
	for range rapid.IntRange(0, 10).Draw(t, "writes before") {
		m.world.write(t)
	}
	for range 3 {
		r := newModelReplica(t, m.world)
		m.replicas = append(m.replicas, r)
		r.start(t)
	}
	for range 2 {
		c := &modelClient{modelCopy: modelCopy{held: map[string]modelHeld{}, floors: map[string]int{}}, sub: &runnelv1.ResourceSubscription{
			Resource:      "pods",
			Namespaces:    rapid.SampledFrom([][]string{nil, {"n0"}, {"n0", "n1"}}).Draw(t, "namespaces"),
			LabelSelector: rapid.SampledFrom([]string{"", "l=a"}).Draw(t, "selector"),
		}}
		if rapid.Bool().Draw(t, "paths") {
			c.sub.Projection = &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: []string{"spec.n"}}}}
		}
		if len(m.clients) > 0 && rapid.Bool().Draw(t, "same view") {
			c.sub = proto.CloneOf(m.clients[0].sub)
		}
		m.clients = append(m.clients, c)
	}
	t.Repeat(map[string]func(*rapid.T){
		"write":       m.world.write,
		"write, feed": func(t *rapid.T) { m.world.write(t); m.some(t, (*modelReplica).feed) },
		"feed":        func(t *rapid.T) { m.some(t, (*modelReplica).feed) },
		"storm":       m.storm,
		"bookmark":    func(t *rapid.T) { m.replica(t).bookmark() },
		"relist":      func(t *rapid.T) { m.replica(t).relist(t) },
		"restart":     m.restart,
		"restore":     m.restore,
		"connect":     func(t *rapid.T) { m.client(t).connect(t, m.replica(t)) },
		"connect too": func(t *rapid.T) { m.client(t).connect(t, m.replica(t)) },
		"cut":         func(t *rapid.T) { m.client(t).cut() },
		"turn":        func(t *rapid.T) { m.client(t).turn(t) },
		"take one":    func(t *rapid.T) { m.client(t).take(t) },
		"take some":   func(t *rapid.T) { m.client(t).takeSome(t) },
		"take, cut":   func(t *rapid.T) { c := m.client(t); c.takeSome(t); c.cut() },
		"take all":    func(t *rapid.T) { m.client(t).takeAll(t) },
		"catch up":    func(t *rapid.T) { m.client(t).catchUp(t) },
		"save":        func(t *rapid.T) { c := m.client(t); c.saved = c.clone() },
		"level":       func(t *rapid.T) { m.client(t).bookmark(t) },
	})
	m.end(t)
}

func (m *resumeModel) replica(t *rapid.T) *modelReplica {
	return m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")]
}

func (m *resumeModel) client(t *rapid.T) *modelClient {
	return m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
}

func (m *resumeModel) some(t *rapid.T, f func(*modelReplica) bool) {
	r := m.replica(t)
	for range rapid.IntRange(1, 5).Draw(t, "events") {
		f(r)
	}
}

// storm changes more than small replicas remember.
func (m *resumeModel) storm(t *rapid.T) {
	r := m.replica(t)
	for range 12 {
		m.world.write(t)
	}
	for r.feed() {
	}
}

// restart ends a replica's streams, and what it remembers.
func (m *resumeModel) restart(t *rapid.T) {
	r := m.replica(t)
	for _, c := range m.clients {
		if c.replica == r {
			c.cut()
		}
	}
	r.start(t)
}

func (m *resumeModel) restore(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("history is rarely rewritten")
	}
	m.world.restore(t)
	for range rapid.IntRange(0, 15).Draw(t, "writes") {
		m.world.write(t)
	}
	if rapid.Bool().Draw(t, "soon") {
		m.replica(t).relist(t)
	}
}

func (c *modelClient) takeSome(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "frames") {
		c.take(t)
	}
}

func (c *modelClient) takeAll(t *rapid.T) {
	for c.take(t) {
	}
}

func (c *modelClient) catchUp(t *rapid.T) {
	for range 4 * modelKeys {
		c.turn(t)
		c.takeAll(t)
	}
}

// bookmark asks for one.
func (c *modelClient) bookmark(t *rapid.T) {
	if c.stream == nil {
		return
	}
	for _, sub := range c.stream.subscriptions {
		sub.bookmark = true
	}
	c.turn(t)
}

// end lets every replica see everything, and every client come back somewhere.
func (m *resumeModel) end(t *rapid.T) {
	for _, r := range m.replicas {
		if r.history != m.world.histories {
			r.relist(t)
		}
		for r.feed() {
		}
	}
	for _, c := range m.clients {
		for range 3 { // a token may have expired, and then known versions are offered, or nothing
			if c.stream == nil || !c.synced {
				c.connect(t, m.replica(t))
			}
			c.catchUp(t)
		}
		if c.stream == nil {
			continue // it failed by its own choice
		}
		if want := c.selected(m.world.now().state); c.synced && !maps.Equal(c.held, want) {
			t.Fatalf("D3: held is %v in the end, there is %v", c.held, want)
		}
	}
}

// modelTally counts what must not be missed.
type modelTally struct {
	mu     sync.Mutex
	counts map[string]int
}

var tally = &modelTally{counts: map[string]int{
	"resumed": 0, "resumed by a token of another replica": 0, "synced": 0, "cut before synced": 0, "token expired": 0,
	"replica behind": 0, "offer: saved": 0, "offer: damaged": 0, "offer: other view": 0, "offer: other selector": 0, "offer: lost": 0, "offer: token and known": 0,
	"reset RESET_REASON_NEW": 0, "reset RESET_REASON_TOKEN_EXPIRED": 0, "reset RESET_REASON_HISTORY_REWRITTEN": 0, "reset RESET_REASON_OVERTAKEN": 0,
}}

func (c *modelTally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *modelTally) report(t *testing.T) (never []string) {
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%8d  %s", c.counts[what], what)
		if c.counts[what] == 0 {
			never = append(never, what)
		}
	}
	return never
}
