package source

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/selector"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// moment is what the informer held after one event, or after one list.
type moment struct {
	state           state
	resourceVersion int
	list            bool
}

// oracle knows everything that a source was told, and what of it must be visible.
type oracle struct {
	moments []moment
	// visible is the newest moment that readers see. What a list brings is seen
	// when the marker behind it is.
	visible   int
	watermark int
}

func newOracle() *oracle { return &oracle{moments: make([]moment, 1)} }

func (o *oracle) now() state { return o.moments[o.visible].state }

func (o *oracle) live(s state, resourceVersion int) {
	o.moments = append(o.moments, moment{state: s, resourceVersion: resourceVersion})
	o.marked(resourceVersion)
}

// list is a moment that is not visible yet; of several, only the last counts.
func (o *oracle) list(s state, resourceVersion int) {
	o.moments = append(o.moments[:o.visible+1], moment{state: s, resourceVersion: resourceVersion, list: true})
}

func (o *oracle) marked(resourceVersion int) {
	o.visible = len(o.moments) - 1
	o.watermark = resourceVersion
}

// want is what a subscriber asked for.
type want struct {
	namespace string
	names     []string // nil for all
	label     int      // index of labelSelectors
	field     int      // index of fieldSelectors
	show      int      // index of shows
}

var labelSelectors = []struct {
	text    string
	matches func(label string) bool
}{
	{"", func(string) bool { return true }},
	{"app=a", func(l string) bool { return l == "a" }},
	{"app!=a", func(l string) bool { return l != "a" }},
	{"app in (a,b)", func(l string) bool { return l == "a" || l == "b" }},
	{"!app", func(l string) bool { return l == "" }},
}

var fieldSelectors = []struct {
	text    string
	matches func(o *object) bool
}{
	{"", func(*object) bool { return true }},
	{"spec.n=0", func(o *object) bool { return o.spec == 0 }},
	{"spec.n notin (0,1)", func(o *object) bool { return o.spec > 1 }},
	{"status.n!=1,!status.x", func(o *object) bool { return o.status != 1 }},
	{"metadata.labels.app in (a,c)", func(o *object) bool { return o.label == "a" || o.label == "c" }},
}

// shows are the projections. What of them leaves the resourceVersion out makes that
// changes leave the object equal.
var shows = []struct {
	name       string
	projection func() (projection.Projection, error)
	json       func(o *object) string
	bare       bool
}{
	{"whole", func() (projection.Projection, error) { return projection.Whole(), nil },
		func(o *object) string { return o.whole }, false},
	{"metadata", func() (projection.Projection, error) { return projection.MetadataOnly(), nil },
		func(o *object) string { return o.metadata }, false},
	{"spec.n", func() (projection.Projection, error) {
		paths, err := pathsOf("spec.n")
		return projection.Paths(paths), err
	}, func(o *object) string { return o.identity + fmt.Sprintf(`},"spec":{"n":%d}}`, o.spec) }, true},
	{"whole without status and resourceVersion", func() (projection.Projection, error) {
		paths, err := pathsOf("status", "metadata.resourceVersion", "metadata.labels")
		if err != nil {
			return projection.Projection{}, err
		}
		return projection.Whole().Ignore(paths)
	}, func(o *object) string { return o.identity + fmt.Sprintf(`},"spec":{"n":%d}}`, o.spec) }, true},
}

func pathsOf(texts ...string) (paths []fieldpath.Path, err error) {
	for _, text := range texts {
		p, err := fieldpath.Parse(text)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return paths, nil
}

func wants() *rapid.Generator[want] {
	return rapid.Custom(func(t *rapid.T) want {
		w := want{
			label: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4}).Draw(t, "label selector"),
			field: rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4}).Draw(t, "field selector"),
			show:  rapid.IntRange(0, len(shows)-1).Draw(t, "projection"),
		}
		if rapid.IntRange(0, 5).Draw(t, "one namespace") == 0 {
			w.namespace = namespaceOf(0)
		}
		if rapid.IntRange(0, 5).Draw(t, "names") == 0 {
			w.names = []string{nameOf(0), nameOf(2)}
		}
		return w
	})
}

func (w want) open(s *Source) (*view.View, func(), error) {
	sel, err := selectorOf(w.namespace, w.names, labelSelectors[w.label].text, fieldSelectors[w.field].text)
	if err != nil {
		return nil, nil, err
	}
	proj, err := shows[w.show].projection()
	if err != nil {
		return nil, nil, err
	}
	return s.View(sel, proj)
}

// mayHold tells whether an object of the key could be in the view.
func (w want) mayHold(key int) bool {
	return (w.namespace == "" || w.namespace == namespaceOf(key)) &&
		(w.names == nil || slices.Contains(w.names, nameOf(key)))
}

// keys is the number of keys of which an object could be in the view.
func (w want) keys() (n int) {
	for key := range worldKeys {
		if w.mayHold(key) {
			n++
		}
	}
	return n
}

func selectorOf(namespace string, names []string, labels, fields string) (*selector.Selector, error) {
	requirements, err := selector.ParseLabels(labels)
	if err != nil {
		return nil, err
	}
	fieldRequirements, err := selector.ParseFields(fields, "example.com", "things")
	if err != nil {
		return nil, err
	}
	return selector.NewCriteria(names, requirements, fieldRequirements).In(namespace), nil
}

// of is the JSON that shows the object to this subscriber, or "".
func (w want) of(o *object) string {
	switch {
	case o == nil, !w.mayHold(o.key), !labelSelectors[w.label].matches(o.label), !fieldSelectors[w.field].matches(o):
		return ""
	}
	return shows[w.show].json(o)
}

// holds tells whether the object with the UID is shown in the state.
func (w want) holds(s *state, key int, uid string) bool {
	return s[key] != nil && s[key].uid == uid && w.of(s[key]) != ""
}

// changes counts the changes that the subscriber could be told of from one moment
// (exclusive) to another.
func (o *oracle) changes(w want, from, to int) (n int) {
	for i := from + 1; i <= to; i++ {
		before, after := &o.moments[i-1].state, &o.moments[i].state
		for key := range after {
			if before[key] == after[key] {
				continue
			}
			if a, b := w.of(before[key]), w.of(after[key]); a != b {
				n++
			}
		}
	}
	return n
}

// endings counts the objects that went out of view.
func (o *oracle) endings(w want, from, to int) (n int) {
	for i := from + 1; i <= to; i++ {
		before, after := &o.moments[i-1].state, &o.moments[i].state
		for key, was := range before {
			if w.of(was) != "" && !w.holds(after, key, was.uid) {
				n++
			}
		}
	}
	return n
}

// ending is how an object last went out of view.
type ending struct {
	moment int
	reason runnelv1.DeletionReason
	// resourceVersion is that of the deletion, or the upper bound that is known.
	resourceVersion int
}

// lastEnding returns how the object last went out of view; ok is false if it did
// not since the moment.
func (o *oracle) lastEnding(w want, key int, uid string, since int) (e ending, ok bool) {
	for i := o.visible; i > since; i-- {
		m := &o.moments[i]
		if !w.holds(&o.moments[i-1].state, key, uid) || w.holds(&m.state, key, uid) {
			continue
		}
		e = ending{moment: i}
		switch now := m.state[key]; {
		case now != nil && now.uid == uid:
			e.reason, e.resourceVersion = runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW, now.resourceVersion
		case now != nil:
			e.reason, e.resourceVersion = runnelv1.DeletionReason_DELETION_REASON_GONE, now.resourceVersion
		case m.list:
			e.reason, e.resourceVersion = runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN, m.resourceVersion
		default:
			e.reason, e.resourceVersion = runnelv1.DeletionReason_DELETION_REASON_GONE, m.resourceVersion
		}
		return e, true
	}
	return ending{}, false
}

// otherwise tells whether the object was shown otherwise than as json, or not at
// all, after a moment and until now.
func (o *oracle) otherwise(w want, key int, json string, since int) bool {
	for i := since + 1; i <= o.visible; i++ {
		if w.of(o.moments[i].state[key]) != json {
			return true
		}
	}
	return false
}

// digestOf is the digest that the contract defines, from what a reader holds.
func digestOf(held map[int]heldObject) view.Digest {
	var d view.Digest
	for _, h := range held {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], xxhash.Sum64String(h.uid))
		binary.LittleEndian.PutUint64(b[8:], xxhash.Sum64String(h.json))
		d.Hash ^= xxhash.Sum64(b[:])
		d.Count++
	}
	return d
}

func (w want) String() string {
	return fmt.Sprintf("namespace %q names %v labels %q fields %q, shown %s", w.namespace, w.names, labelSelectors[w.label].text, fieldSelectors[w.field].text, shows[w.show].name)
}
