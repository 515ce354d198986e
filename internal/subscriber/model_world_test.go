package subscriber

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/view"
)

const (
	modelKeys       = 8
	modelNamespaces = 2
)

// modelObject is one version of one object. It is never changed.
type modelObject struct {
	key   int
	uid   string
	rv    int
	label string
	n     int
}

func (o *modelObject) namespace() string { return "n" + strconv.Itoa(o.key%modelNamespaces) }
func (o *modelObject) name() string      { return "o" + strconv.Itoa(o.key) }

// record is what the API server sends of the object.
func (o *modelObject) record(listed bool) *record.Record {
	r, err := record.NewDecoder(pods.GroupVersionKind()).Decode([]byte(fmt.Sprintf(
		`{"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d","labels":{"l":%q}},"spec":{"n":%d}}`,
		o.name(), o.namespace(), o.uid, o.rv, o.label, o.n)))
	if err != nil {
		panic(err)
	}
	r.Listed = listed
	return r
}

// modelState is what exists at one instant, by key.
type modelState [modelKeys]*modelObject

// moment is the state from a resourceVersion on.
type modelMoment struct {
	rv    int
	state modelState
}

// modelWorld is an API server's history of one resource. It can be restored to an earlier
// moment, and then goes on as another one.
type modelWorld struct {
	moments []modelMoment
	uids    int
	// histories counts the restores.
	histories int
}

func newModelWorld() *modelWorld { return &modelWorld{moments: []modelMoment{{rv: 1}}} }

func (w *modelWorld) now() modelMoment { return w.moments[len(w.moments)-1] }

func (w *modelWorld) at(rv int) modelState {
	i := slices.IndexFunc(w.moments, func(m modelMoment) bool { return m.rv > rv })
	if i < 0 {
		return w.now().state
	}
	return w.moments[i-1].state
}

// write changes one object.
func (w *modelWorld) write(t *rapid.T) {
	next := modelMoment{w.now().rv + rapid.IntRange(1, 3).Draw(t, "skip"), w.now().state}
	key := rapid.IntRange(0, modelKeys-1).Draw(t, "key")
	what := rapid.IntRange(0, 7).Draw(t, "what")
	old := next.state[key]
	switch {
	case old != nil && what == 0:
		next.state[key] = nil
		w.moments = append(w.moments, next)
		return
	case old == nil || what == 1: // another object of the name
		if old != nil {
			next.state[key] = nil
			w.moments = append(w.moments, next)
			next.rv++
		}
		w.uids++
		old = &modelObject{key: key, uid: fmt.Sprintf("u%d", w.uids), label: "a"}
	}
	o := *old
	o.rv = next.rv
	switch what {
	case 2, 3:
		o.label = map[string]string{"a": "b", "b": "a"}[o.label]
	case 4:
		// only the resourceVersion is another
	default:
		o.n++
	}
	next.state[key] = &o
	w.moments = append(w.moments, next)
}

func (w *modelWorld) restore(t *rapid.T) {
	keep := rapid.IntRange(max(1, len(w.moments)-6), len(w.moments)).Draw(t, "restore to")
	w.moments = slices.Clone(w.moments[:keep])
	w.histories++
}

// modelReplica is a server, and what its informer was told.
type modelReplica struct {
	world   *modelWorld
	service *Service
	source  *source.Source
	limits  source.Limits
	// visible is what its source holds, complete up to seen, of a history.
	visible       modelState
	seen, history int
	stop          context.CancelFunc
}

// Resolve and Open make it the service's resolver and pool.
func (r *modelReplica) Resolve(context.Context, string, string, string) (resource.Resource, error) {
	return pods, nil
}

func (r *modelReplica) Open(resource.Resource) (*source.Source, func()) { return r.source, func() {} }

func newModelReplica(t *rapid.T, w *modelWorld) *modelReplica {
	r := &modelReplica{world: w, limits: source.Limits{
		Views: view.Limits{
			BatchBytes: rapid.SampledFrom([]int{1, 400, 1 << 20}).Draw(t, "batch bytes"),
			LiveBytes:  rapid.SampledFrom([]int{1, 400, 1 << 20, 1 << 20}).Draw(t, "live bytes"),
			Horizon:    rapid.SampledFrom(modelHorizons).Draw(t, "horizon"),
			Ring:       rapid.SampledFrom([]int{16, 1024}).Draw(t, "ring"),
			EndedStays: rapid.SampledFrom([]int{1, 3, 1000, 1000}).Draw(t, "ended stays"),
		},
		RecentBytes: rapid.SampledFrom([]int{1, 2000, 1 << 20, 1 << 20}).Draw(t, "recent bytes"),
		LingerBytes: rapid.SampledFrom([]int{1, 1 << 20}).Draw(t, "linger bytes"),
	}}
	r.service = New(Config{Resolver: r, Sources: r, Cluster: "c", Limits: Limits{
		FrameBytes: rapid.SampledFrom([]int{1, 400, 1 << 20}).Draw(t, "frame bytes"),
	}})
	return r
}

// start begins with a list, at any moment up to now.
func (r *modelReplica) start(t *rapid.T) {
	if r.stop != nil {
		r.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.source = source.New(pods, r.limits)
	src := r.source
	go src.AnswerCurrent(ctx, func(context.Context) (string, error) { return strconv.Itoa(r.world.now().rv), nil })
	r.visible = modelState{}
	r.list(rapid.IntRange(max(1, r.world.now().rv-4), r.world.now().rv).Draw(t, "list at"))
}

// list takes in all that is there at a resourceVersion.
func (r *modelReplica) list(rv int) {
	now := r.world.at(rv)
	for key, o := range r.visible {
		if o != nil && now[key] == nil {
			r.source.Missing(o.namespace(), o.namespace()+"/"+o.name())
		}
	}
	for _, o := range now {
		if o != nil {
			r.source.Upsert(o.record(true))
		}
	}
	r.source.Mark(strconv.Itoa(rv))
	r.visible, r.seen, r.history = now, rv, r.world.histories
}

// feed tells the next change, if there is one, or else that there is none.
func (r *modelReplica) feed() (more bool) {
	if r.history != r.world.histories {
		return false // until it notices
	}
	i := slices.IndexFunc(r.world.moments, func(m modelMoment) bool { return m.rv > r.seen })
	if i < 0 {
		return false
	}
	m := r.world.moments[i]
	for key, o := range m.state {
		switch old := r.visible[key]; o {
		case old:
		case nil:
			deleted := *old
			deleted.rv = m.rv
			r.source.Delete(deleted.record(false))
		default:
			r.source.Upsert(o.record(false))
		}
	}
	r.visible, r.seen = m.state, m.rv
	return true
}

// relist takes in a list behind what was seen, or all of another history.
func (r *modelReplica) relist(t *rapid.T) {
	if r.history != r.world.histories {
		r.source.Rewritten("the model says so")
		r.source.Follow(func() {})
		r.visible = modelState{}
		r.list(rapid.IntRange(max(1, r.world.now().rv-4), r.world.now().rv).Draw(t, "list at"))
		return
	}
	r.list(rapid.IntRange(r.seen, max(r.seen, r.world.now().rv)).Draw(t, "list at"))
}

func (r *modelReplica) bookmark() {
	if r.history == r.world.histories && r.world.now().rv == r.seen {
		r.source.Mark(strconv.Itoa(r.seen))
	}
}
