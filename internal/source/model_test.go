package source

import (
	"flag"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/view"
)

// TestModel drives a source and its views by arbitrary histories, and holds what
// subscribers read against an oracle that knows the histories. Its parts: world
// (the API server), feed (client-go between it and the source), oracle (what must
// be visible), reader (a subscriber and the contract), tally (what happened).
func TestModel(t *testing.T) {
	// What is rare may not have happened the first time.
	for range 5 {
		rapid.Check(t, aHistory)
		if t.Failed() || testing.Short() || !enough() || len(tally.never()) == 0 {
			break
		}
	}
	tally.report(t)
	if never := tally.never(); !t.Failed() && !testing.Short() && enough() && len(never) > 0 {
		t.Errorf("never happened: %v", never)
	}
}

// enough tells whether so many histories are run that all must have happened.
func enough() bool {
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	return err == nil && checks >= defaultChecks
}

func aHistory(t *rapid.T) {
	m := newModel(t)
	t.Repeat(map[string]func(*rapid.T){
		"write":       m.write,
		"write more":  m.write,
		"write, feed": func(t *rapid.T) { m.write(t); m.feedSome(t) },
		"feed":        m.feedSome,
		"re-create":   m.recreate,
		"bookmark":    func(*rapid.T) { m.fed(m.feed.bookmark) },
		"disconnect":  func(*rapid.T) { m.feed.watching = false },
		"relist":      m.relist,
		"resync":      m.resync,
		"open":        m.open,
		"open more":   m.open,
		"close":       m.close,
		"read one":    func(t *rapid.T) { m.withReader(t, func(r *reader) { r.read(t) }) },
		"read all":    func(t *rapid.T) { m.withReader(t, func(r *reader) { r.untilLevel(t) }) },
		"hot":         m.hot,
		"":            m.check,
	})
	m.drain(t)
}

type model struct {
	limits  view.Limits
	world   *world
	oracle  *oracle
	source  *Source
	feed    *feed
	readers []*reader
}

func newModel(t *rapid.T) *model {
	bytes := rapid.SampledFrom([]int{1, 1, 200, 900, 1 << 20})
	m := &model{
		limits: view.Limits{
			BatchBytes: bytes.Draw(t, "batch bytes"),
			LiveBytes:  bytes.Draw(t, "live bytes"),
			Ring:       rapid.SampledFrom([]int{4, 64, 64}).Draw(t, "ring"),
			EndedStays: rapid.SampledFrom([]int{1, 2, 4, 8, 1000}).Draw(t, "ended stays"),
		},
		world:  newWorld(rapid.Bool().Draw(t, "bare")),
		oracle: newOracle(),
	}
	// What nobody holds is forgotten at once, or only where there is too much of it.
	m.limits.Horizon = rapid.SampledFrom([]time.Duration{1, 1, 1, 1, 1, time.Hour}).Draw(t, "horizon")
	m.source = New(resource.Resource{}, Limits{Views: m.limits, RecentBytes: 1, LingerBytes: 1})
	m.feed = &feed{world: m.world, oracle: m.oracle, source: m.source, marker: -1, quiet: rapid.Bool().Draw(t, "quiet informer")}
	// Only a view of many objects grows its ring.
	for key := range rapid.SampledFrom([]int{0, 3, worldKeys, worldKeys}).Draw(t, "objects before") {
		m.world.put(key, 0, func(o *object) { o.label = []string{"", "a", "b"}[key%3] })
	}
	m.relist(t)
	m.fed(m.feed.rewatch)
	return m
}

// writeOne changes one object, sometimes only a part of it that not everyone sees.
func (m *model) writeOne(t *rapid.T) {
	key := rapid.IntRange(0, worldKeys-1).Draw(t, "key")
	m.change(t, key)
}

func (m *model) change(t *rapid.T, key int) {
	skip := rapid.IntRange(0, 2).Draw(t, "skip")
	what := rapid.IntRange(0, 9).Draw(t, "what")
	if what < 3 && m.world.now()[key] != nil {
		if what == 0 { // out of most views first
			m.world.put(key, skip, func(o *object) { o.label = "c" })
		}
		m.world.remove(key, skip)
		return
	}
	m.world.put(key, skip, func(o *object) {
		switch what {
		case 3, 4, 5:
			o.label = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "label")
		case 6, 7:
			o.spec++
		case 8:
			o.status++
		default: // a write that only managedFields show
		}
	})
}

func (m *model) write(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "writes") {
		m.writeOne(t)
	}
}

// recreate deletes an object and creates another of its name.
func (m *model) recreate(t *rapid.T) {
	key := rapid.IntRange(0, worldKeys-1).Draw(t, "key")
	var label string
	if o := m.world.now()[key]; o != nil {
		label = o.label
	}
	m.world.remove(key, 0)
	m.world.put(key, 0, func(o *object) { o.label = label })
}

// fed runs something that may change the source, and compares views before and
// after.
func (m *model) fed(f func()) {
	before := make([]insides, len(m.readers))
	for i, r := range m.readers {
		before[i] = inside(r.view, nil)
	}
	visible := m.oracle.visible
	f()
	for i, r := range m.readers {
		tally.applied(before[i], inside(r.view, nil))
	}
	m.tally(visible)
}

func (m *model) feedSome(t *rapid.T) {
	for range rapid.IntRange(1, 30).Draw(t, "events") {
		more := false
		m.fed(func() { more = m.feed.next() })
		if !more {
			return
		}
	}
}

func (m *model) relist(t *rapid.T) {
	at := rapid.IntRange(m.feed.seen, m.world.resourceVersion).Draw(t, "list at")
	if m.oracle.visible < len(m.oracle.moments)-1 {
		tally.add("list after a list without a watch", 1)
	}
	m.fed(func() {
		m.feed.relist(at, func(keys []int) []int { return rapid.Permutation(keys).Draw(t, "order") })
	})
}

func (m *model) resync(t *rapid.T) {
	key := rapid.IntRange(0, worldKeys-1).Draw(t, "key")
	m.fed(func() { m.feed.resync(key) })
}

func (m *model) open(t *rapid.T) {
	if len(m.readers) == 5 {
		t.Skip("enough readers")
	}
	r := &reader{oracle: m.oracle, source: m.source, limits: m.limits, bare: m.world.bare, patches: rapid.Bool().Draw(t, "patches")}
	r.open(t, wants().Draw(t, "want"))
	m.readers = append(m.readers, r)
}

func (m *model) withReader(t *rapid.T, f func(*reader)) {
	if len(m.readers) == 0 {
		t.Skip("no reader")
	}
	f(m.readers[rapid.IntRange(0, len(m.readers)-1).Draw(t, "reader")])
}

func (m *model) close(t *rapid.T) {
	if len(m.readers) == 0 {
		t.Skip("no reader")
	}
	i := rapid.IntRange(0, len(m.readers)-1).Draw(t, "reader")
	m.readers[i].close()
	m.readers = slices.Delete(m.readers, i, i+1)
}

// hot changes some objects before every read of a subscriber.
func (m *model) hot(t *rapid.T) {
	if !m.feed.watching {
		m.fed(m.feed.rewatch)
	}
	first := rapid.IntRange(0, worldKeys-1).Draw(t, "key")
	keys := rapid.IntRange(1, 3).Draw(t, "keys")
	writes := rapid.SampledFrom([]int{1, 2, 3, 20}).Draw(t, "writes between reads")
	m.withReader(t, func(r *reader) {
		for range rapid.SampledFrom([]int{1, 5, 60}).Draw(t, "reads") {
			m.change(t, first)
			for i := range writes {
				m.world.put((first+i%keys)%worldKeys, 0, func(o *object) {
					o.label = []string{"a", "a", ""}[i%3]
					o.spec++
				})
			}
			m.feedAll()
			r.read(t)
		}
	})
}

func (m *model) feedAll() {
	for more := true; more; {
		m.fed(func() { more = m.feed.next() })
	}
}

// check holds the source against the oracle, at every moment.
func (m *model) check(t *rapid.T) {
	if want := strconv.Itoa(m.oracle.watermark); m.oracle.visible > 0 && m.source.Watermark() != want {
		t.Fatalf("D12: watermark %s, not %s", m.source.Watermark(), want)
	}
	objects := 0
	for _, o := range m.oracle.now() {
		if o != nil {
			objects++
		}
	}
	if n := m.source.Stats().Objects; n != objects {
		t.Fatalf("D1: the source holds %d objects, not %d", n, objects)
	}
	for _, r := range m.readers {
		r.looks(t)
	}
}

// drain brings everything to an end: what was written last must arrive.
func (m *model) drain(t *rapid.T) {
	m.fed(m.feed.rewatch)
	m.feedAll()
	for _, r := range m.readers {
		r.untilLevel(t)
	}
	for _, r := range m.readers {
		r.looks(t)
		r.close()
	}
	if n := m.source.Stats().Views; n > 0 {
		t.Fatalf("%d views are left", n)
	}
}

// tally looks for situations in what has become visible since a moment.
func (m *model) tally(since int) {
	for i := since + 1; i <= m.oracle.visible; i++ {
		before, after := m.oracle.moments[i-1].state, m.oracle.moments[i]
		for key, was := range before {
			is := after.state[key]
			switch {
			case was == nil || was == is:
				continue
			case after.list && is == nil:
				tally.add("missing in a list", 1)
			case after.list && is.uid != was.uid:
				tally.add("another UID in a list", 1)
			}
			for _, r := range m.readers {
				m.tallyReader(r, key, was, is)
			}
		}
	}
}

func (m *model) tallyReader(r *reader, key int, was, is *object) {
	held, holds := r.held[key]
	a, b := r.want.of(was), r.want.of(is)
	switch {
	case a != "" && a == b:
		tally.add("change suppressed", 1)
	case !holds || a != "" || held.uid != was.uid:
	case is == nil:
		tally.add("left, then deleted, while held", 1)
	case b != "" && is.uid == held.uid:
		tally.add("left and came back while nobody looked", 1)
	}
}
