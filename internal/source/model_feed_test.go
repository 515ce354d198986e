package source

import (
	"strconv"

	"k8s.io/client-go/tools/cache"

	"github.com/runnel-dev/runnel/internal/record"
)

// feed stands for the reflector and the informer between the world and a source:
// it calls the informer's handler as client-go does, and tells the oracle what is
// true from when on.
type feed struct {
	world  *world
	oracle *oracle
	source *Source

	// store is the informer's.
	store state
	// marker is the resourceVersion of the marker in the store; -1 if there is none.
	marker int
	// seen is the resourceVersion up to which the reflector has read.
	seen int
	// watching says that events flow. After a list they do only once a watch is
	// open, which may fail.
	watching bool
	// quiet says that the informer hides what comes again in the same
	// resourceVersion; client-go does so once a resync was due.
	quiet bool
}

// next delivers the next event, if there is one.
func (f *feed) next() bool {
	i := f.world.firstAfter(f.seen)
	if !f.watching || i == len(f.world.writes) {
		return false
	}
	w := f.world.writes[i]
	h := handler{f.source}
	switch {
	case w.new == nil:
		final := *w.old
		final.resourceVersion = w.resourceVersion
		h.OnDelete(f.world.watched(&final))
	case w.old == nil:
		h.OnAdd(f.world.watched(w.new), false)
	default:
		h.OnUpdate(nil, f.world.watched(w.new))
	}
	f.store[w.key] = w.new
	f.seen = w.resourceVersion
	f.oracle.live(f.store, w.resourceVersion)
	return true
}

// bookmark says that there is nothing between what was read and the next event.
func (f *feed) bookmark() {
	if !f.watching {
		return
	}
	if i := f.world.firstAfter(f.seen); i < len(f.world.writes) {
		f.seen = f.world.writes[i].resourceVersion - 1
	} else {
		f.seen = f.world.resourceVersion
	}
	f.mark()
}

// rewatch opens a watch where the last one ended, or behind a list.
func (f *feed) rewatch() {
	f.watching = true
	f.mark()
}

// mark sends a marker.
func (f *feed) mark() {
	if f.quiet && f.marker == f.seen {
		return
	}
	f.marker = f.seen
	handler{f.source}.OnUpdate(nil, record.NewMarker(strconv.Itoa(f.seen)))
	f.oracle.marked(f.seen)
}

// relist replaces the informer's store by a list at the resourceVersion, which is
// not older than what was read. The informer tells of what is missing first, then
// of what is there; each in any order, which shuffle chooses.
func (f *feed) relist(resourceVersion int, shuffle func([]int) []int) {
	f.watching = false
	list := f.world.at(resourceVersion)
	h := handler{f.source}
	var missing, there []int
	for key, o := range list {
		switch held := f.store[key]; {
		case o == nil && held != nil:
			missing = append(missing, key)
		case o != nil && (!f.quiet || held == nil || held.resourceVersion != o.resourceVersion):
			there = append(there, key)
		}
	}
	if f.marker >= 0 {
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: record.NewMarker("").Key(), Obj: record.NewMarker("")})
		f.marker = -1
	}
	for _, key := range shuffle(missing) {
		h.OnDelete(cache.DeletedFinalStateUnknown{
			Key: namespaceOf(key) + "/" + nameOf(key),
			Obj: f.world.watched(f.store[key]),
		})
	}
	var objects []*object
	for _, key := range shuffle(there) {
		objects = append(objects, list[key])
	}
	for i, r := range f.world.listed(objects) {
		if f.store[objects[i].key] == nil {
			h.OnAdd(r, true)
		} else {
			h.OnUpdate(nil, r)
		}
	}
	f.store, f.seen = list, resourceVersion
	f.oracle.list(list, resourceVersion)
}

// resync hands out an object again that nothing happened to.
func (f *feed) resync(key int) {
	if o := f.store[key]; o != nil && f.watching {
		f.source.Upsert(f.world.watched(o))
	}
}
