package source

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/runnel-dev/runnel/internal/view"
)

// tallies counts the situations that a model test must not miss: an oracle that
// nothing tempts is silent.
type tallies struct {
	mu     sync.Mutex
	counts map[string]int
}

var tally = &tallies{counts: map[string]int{
	"scan of several steps":                  0,
	"scan of a subscriber that was synced":   0,
	"ring grown":                             0,
	"ended stays forgotten":                  0,
	"ended stays collected":                  0,
	"slot freed":                             0,
	"slot used again":                        0,
	"reset":                                  0,
	"slow reader gets round":                 0,
	"what a reset made stale is dropped":     0,
	"change suppressed":                      0,
	"patch":                                  0,
	"another UID in a list":                  0,
	"missing in a list":                      0,
	"list after a list without a watch":      0,
	"left and came back while nobody looked": 0,
	"left, then deleted, while held":         0,
	"live read of several changes in order":  0,
}}

func (c *tallies) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.counts[what]; !ok {
		panic("not a situation: " + what)
	}
	c.counts[what] += n
}

// never returns what did not happen.
func (c *tallies) never() (whats []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, n := range c.counts {
		if n == 0 {
			whats = append(whats, what)
		}
	}
	return whats
}

func (c *tallies) report(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%8d  %s", c.counts[what], what)
	}
}

// insides is what the tally wants to know of a view and a cursor, and nothing in
// the contract speaks of. The model's checks do not use it.
type insides struct {
	scanning  bool
	steps     int
	slots     int
	free      int
	ring      int
	ended     int
	forgotten uint64
}

func inside(v *view.View, c *view.Cursor) insides {
	vv := reflect.ValueOf(v).Elem()
	i := insides{
		slots:     vv.FieldByIndex(slotsField).Len(),
		free:      vv.FieldByIndex(freeField).Len(),
		ring:      vv.FieldByIndex(ringField).Len(),
		ended:     vv.FieldByIndex(endedField).Len(),
		forgotten: vv.FieldByIndex(forgottenField).Uint(),
	}
	if c != nil {
		cv := reflect.ValueOf(c).Elem()
		i.scanning = cv.FieldByIndex(scanningField).Bool()
		i.steps = max(cv.FieldByIndex(seenField).Len(), cv.FieldByIndex(passedField).Len())
	}
	return i
}

var (
	slotsField     = field[view.View]("slots")
	freeField      = field[view.View]("free")
	ringField      = field[view.View]("ring", "changes")
	endedField     = field[view.View]("ended", "refs")
	forgottenField = field[view.View]("ended", "forgotten")
	scanningField  = field[view.Cursor]("scanning")
	seenField      = field[view.Cursor]("seen")
	passedField    = field[view.Cursor]("passed")
)

// field finds a field of T, and in it the next one.
func field[T any](names ...string) (index []int) {
	typ := reflect.TypeFor[T]()
	for _, name := range names {
		f, ok := typ.FieldByName(name)
		if !ok {
			panic(typ.String() + " has no field " + name)
		}
		index = append(index, f.Index...)
		typ = f.Type
	}
	return index
}

func (c *tallies) read(before, after insides, r *reader) {
	if r.batch.Reset {
		c.add("reset", 1)
	}
	if after.steps > 1 {
		c.add("scan of several steps", 1)
	}
	if !before.scanning && after.scanning && !r.batch.Reset {
		c.add("scan of a subscriber that was synced", 1)
	}
}

// applied compares a view before and after something was fed.
func (c *tallies) applied(before, after insides) {
	if after.free < before.free && after.slots == before.slots {
		c.add("slot used again", 1)
	}
	if after.free > before.free {
		c.add("slot freed", 1)
	}
	if after.ended < before.ended {
		c.add("ended stays collected", 1)
	}
	if after.forgotten > before.forgotten {
		c.add("ended stays forgotten", 1)
	}
	if before.ring > 0 && after.ring > before.ring {
		c.add("ring grown", 1)
	}
}
