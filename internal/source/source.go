// Package source keeps the objects of one resource current and feeds the views
// over them.
//
// A Source is the end of one SharedIndexInformer. The informer's only handler
// calls Upsert, Delete, Missing and Mark, in the order of the informer's queue; a
// source turns them into steps and applies each step to every view it touches.
// What is watched live is a step of its own. What a list brings is held back
// until the marker that ends it and is then one step, for a list arrives in no
// order: only at its end is anything true of the whole (D12).
//
// So that subscribers can resume, a source remembers its recent changes, and builds a
// view that nobody held from them, leaves included; views outlive their last
// subscriber for a while (D8). Where the API server's history was rewritten, it starts
// over with another informer, and so do its views (D9, see history.go).
//
// Invariants:
//   - objects, the views and the watermark describe one instant whenever mu is
//     free; the watermark is moved last.
//   - A handler call never waits for a subscriber that is sending. It does wait while
//     one collects a batch, and while a new view is filled.
//
// A Pool starts sources on demand and shares them. Start reading at Source.Mark,
// then informer.go.
package source

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/selector"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// ErrNotSynced says that a source does not know yet what exists.
var ErrNotSynced = errors.New("source not synced")

// Source is the objects of one resource. All methods are safe for concurrent
// use, except that Upsert, Delete, Missing and Mark come from one goroutine.
type Source struct {
	resource resource.Resource
	limits   Limits
	// quorum asks the API server, once for many.
	quorum *quorum
	// restricted says that there are objects which the source is not told of. It
	// is set before the source is shared.
	restricted bool
	// state is written under mu, and read without it: every subscriber looks at
	// it whenever it is woken.
	state atomic.Pointer[State]

	mu sync.Mutex // guards all below
	// objects holds the newest records by namespace and key.
	objects map[string]map[string]*record.Record
	views   map[viewKey]*sharedView
	linger  lingering
	// byNamespace finds the views that a change may touch: those of its
	// namespace, and those of all namespaces under "".
	byNamespace map[string]map[*sharedView]struct{}
	// listed are the changes of a list that has not ended.
	listed pending
	recent recent
	// watermark is the resourceVersion up to which objects is complete; moved, if not
	// nil, is closed when it moves.
	watermark string
	moved     chan struct{}
	history   history
	// audited is nil unless an audit is under way.
	audited *audited
	audits  Audits
	waiting map[chan<- struct{}]struct{}
}

// Limits bound what a source keeps. Zero fields take the defaults.
type Limits struct {
	// Views bounds each view.
	Views view.Limits
	// RecentBytes is how many bytes of superseded objects are kept, to rebuild views
	// that nobody held.
	RecentBytes int
	// LingerBytes is how many bytes views without subscribers may take.
	LingerBytes int
	// Audit is how often the identities of all objects are listed, to find out whether
	// events were lost; 0 for never.
	Audit time.Duration
}

// DefaultLimits are the limits that a zero field takes.
func DefaultLimits() Limits {
	return Limits{
		Views:       view.DefaultLimits(),
		RecentBytes: 8 << 20,  // four thousand changes of objects of 2 KB
		LingerBytes: 16 << 20, // some thousand views of a node's Pods
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Views = l.Views.WithDefaults()
	if l.RecentBytes <= 0 {
		l.RecentBytes = d.RecentBytes
	}
	if l.LingerBytes <= 0 {
		l.LingerBytes = d.LingerBytes
	}
	return l
}

// State tells how a source is doing.
type State struct {
	// Source is the state's name.
	Source runnelv1.SourceState
	// Message says why, for people; empty when synced.
	Message string
	// AsOf is when the data was last known to be current; zero without data.
	AsOf time.Time
}

// Ready tells whether there is data, current or not.
func (s State) Ready() bool { return !s.AsOf.IsZero() }

// Ended tells whether the API server does not serve the resource any more, or never did. It
// is the source's last state: whoever opens the resource again gets another source.
func (s State) Ended() bool {
	return s.Source == runnelv1.SourceState_SOURCE_STATE_GONE || s.Source == runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED
}

// viewKey is equal for equal views of a source.
type viewKey struct {
	projection string
	selector   selector.Key
}

type sharedView struct {
	*view.View
	key       viewKey
	namespace string
	users     int
	// lingers is since when it has no users.
	lingers time.Time
}

// New returns a source without data: its state is STARTING.
func New(res resource.Resource, limits Limits) *Source {
	s := &Source{
		resource:    res,
		limits:      limits.withDefaults(),
		quorum:      newQuorum(),
		history:     history{fresh: true, begins: true},
		objects:     map[string]map[string]*record.Record{},
		views:       map[viewKey]*sharedView{},
		byNamespace: map[string]map[*sharedView]struct{}{},
		waiting:     map[chan<- struct{}]struct{}{},
	}
	s.state.Store(&State{Source: runnelv1.SourceState_SOURCE_STATE_STARTING})
	return s
}

// Resource is what the source holds.
func (s *Source) Resource() resource.Resource { return s.resource }

// State tells how the source is doing.
func (s *Source) State() State { return *s.state.Load() }

// Watermark is the resourceVersion up to which every view that is read after the
// call is complete.
func (s *Source) Watermark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watermark
}

// Notify sends on wake, without waiting, whenever the state changes, until stop
// is called.
func (s *Source) Notify(wake chan<- struct{}) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[wake] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, wake)
	}
}

// View returns the view of the selector and projection, shared with everyone who
// asks for an equal one, until release is called. It remembers what happened as far as
// the source does, whether or not somebody held it then (D8). The error is ErrNotSynced
// before the first list has ended: an unknown resource is not an empty one (D7).
func (s *Source) View(sel *selector.Selector, proj projection.Projection) (v *view.View, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.State().Ready() {
		return nil, nil, ErrNotSynced
	}
	key := viewKey{proj.Key(), sel.Key()}
	shared, ok := s.views[key]
	if !ok {
		shared = &sharedView{
			View:      s.fillLocked(view.Config{Selector: sel, Projection: proj, Limits: s.limits.Views}),
			key:       key,
			namespace: sel.Namespace(),
		}
		s.views[key] = shared
		if s.byNamespace[shared.namespace] == nil {
			s.byNamespace[shared.namespace] = map[*sharedView]struct{}{}
		}
		s.byNamespace[shared.namespace][shared] = struct{}{}
	}
	shared.users++
	return shared.View, sync.OnceFunc(func() { s.release(shared) }), nil
}

func (s *Source) release(shared *sharedView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	now := time.Now()
	s.linger.add(shared, now)
	s.sweepLocked(now)
}

// forgetLocked drops a view.
func (s *Source) forgetLocked(shared *sharedView) {
	delete(s.views, shared.key)
	delete(s.byNamespace[shared.namespace], shared)
	if len(s.byNamespace[shared.namespace]) == 0 {
		delete(s.byNamespace, shared.namespace)
	}
}

// fillLocked returns a new view. It begins where the source's memory does.
func (s *Source) fillLocked(cfg view.Config) *view.View {
	objects := s.inNamespaceLocked(cfg.Selector.Namespace())
	v := view.New(cfg, s.recent.before(objects), s.recent.since, s.recent.began)
	for _, step := range s.recent.all() {
		v.Apply(step)
	}
	return v
}

// inNamespaceLocked yields the objects of the namespace, or all for "".
func (s *Source) inNamespaceLocked(namespace string) view.Objects {
	if namespace != "" {
		return maps.Values(s.objects[namespace])
	}
	return func(yield func(*record.Record) bool) {
		for _, objects := range s.objects {
			for _, r := range objects {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Stats are a source's sizes.
type Stats struct {
	Objects, Views int
	Audits         Audits
}

// Stats returns the source's sizes.
func (s *Source) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Views: len(s.views), Audits: s.audits}
	for _, objects := range s.objects {
		stats.Objects += len(objects)
	}
	return stats
}
