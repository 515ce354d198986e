package subscriber

import (
	"context"
	"errors"
	"fmt"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// subscription is one resource of a stream.
type subscription struct {
	selection
	index int

	// source is nil as long as the resource is not served; unresolved says why, and why is
	// that as a gRPC status.
	source     *source.Source
	unresolved source.State
	why        error
	// lost says that it was served before.
	lost bool
	// told is the state that the subscriber knows of. It starts as SYNCED.
	told runnelv1.SourceState

	// parts are the views whose union is subscribed to, one per namespace; none
	// before the source is ready.
	parts []part
	// snapshot is the index of the part whose snapshot is under way.
	snapshot int
	synced   bool
	// resumed says that the subscriber goes on from a token.
	resumed bool
	// scope and fingerprint identify what tokens are for; floor is the resourceVersion
	// below which no state may be told, whatever was read on this stream.
	scope, fingerprint uint64
	floor              string
	// bookmark says that one is due.
	bookmark bool

	release []func()
}

// part is one view of a subscription.
type part struct {
	cursor *view.Cursor
	// level, digest, resourceVersion and last are those after the last read.
	level                 bool
	digest                view.Digest
	resourceVersion, last string
}

// resolve finds the resource and opens its source. The error is a gRPC status; if
// canHeal, it is worth trying again, and unresolved tells of it meanwhile.
func (sub *subscription) resolve(ctx context.Context, cfg *Config, wake chan<- struct{}) (canHeal bool, err error) {
	res, err := cfg.Resolver.Resolve(ctx, sub.group, sub.version, sub.resource)
	if err != nil {
		state := source.State{Source: runnelv1.SourceState_SOURCE_STATE_FAILING, Message: err.Error()}
		if errors.Is(err, resource.ErrUnknown) {
			state.Source = runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED
		}
		sub.unserved(state, status.Resource(sub.field+".resource", err))
		return !errors.Is(err, resource.ErrNotWatchable), sub.why
	}
	if !res.Namespaced && len(sub.namespaces) > 0 {
		err := errors.New(res.Resource + " are cluster-scoped: they have no namespace")
		sub.unserved(source.State{Source: runnelv1.SourceState_SOURCE_STATE_FAILING, Message: err.Error()},
			status.Invalid([]status.Violation{{Field: sub.field + ".namespaces", Err: err}}))
		return false, sub.why
	}
	src, release := cfg.Sources.Open(res)
	sub.source = src
	sub.identify(cfg.Cluster, res)
	sub.release = append(sub.release, release, src.Notify(wake))
	return false, nil
}

// unserved takes in why there is no source. What was there and is not any more stays gone.
func (sub *subscription) unserved(state source.State, why error) {
	sub.why = why
	if sub.unresolved.Source != runnelv1.SourceState_SOURCE_STATE_GONE || state.Source != runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED {
		sub.unresolved = state
	}
}

// lose gives up the source that has ended with the state. The resource is looked for again,
// and begins with a snapshot if it is served again.
func (sub *subscription) lose(state source.State) {
	sub.floor = sub.last()
	sub.close()
	sub.source, sub.parts, sub.release = nil, nil, nil
	sub.snapshot, sub.synced, sub.resumed = 0, false, false
	sub.lost = sub.lost || state.Ready()
	sub.unserved(state, status.Resource(sub.field+".resource", fmt.Errorf("%w: %s", resource.ErrUnknown, state.Message)))
}

// toldAll tells whether the subscriber was told all that there is, if anything.
func (sub *subscription) toldAll() bool {
	return sub.parts == nil || sub.synced && sub.level() && !sub.pending()
}

// state is how the server gets the resource.
func (sub *subscription) state() source.State {
	if sub.source == nil {
		return sub.unresolved
	}
	return sub.source.State()
}

// reason is why the resource is not served, as a gRPC status.
func (sub *subscription) reason(state source.State) error {
	if sub.source == nil {
		return sub.why
	}
	return status.SourceUnavailable(sub.field, state.Message)
}

// start opens the views, at a snapshot. The error is source.ErrNotSynced.
func (sub *subscription) start(wake chan<- struct{}, patches bool) error {
	for _, sel := range sub.selectors() {
		v, release, err := sub.source.View(sel, sub.projection)
		if err != nil {
			return err
		}
		sub.release = append(sub.release, release)
		sub.parts = append(sub.parts, part{cursor: v.NewCursor(wake, patches)})
	}
	return nil
}

// restart begins the snapshot anew, of all parts: a Reset is about the whole
// resource.
func (sub *subscription) restart() {
	for i := range sub.parts {
		p := &sub.parts[i]
		p.cursor.Restart()
		p.level = false
	}
	sub.snapshot, sub.synced, sub.resumed = 0, false, false
}

// close gives back all that the subscription holds.
func (sub *subscription) close() {
	for _, p := range sub.parts {
		p.cursor.Close()
	}
	for _, release := range sub.release {
		release()
	}
}

// pending tells whether a read would find anything.
func (sub *subscription) pending() bool {
	for i := range sub.parts {
		if sub.parts[i].cursor.Pending() {
			return true
		}
	}
	return false
}

// level tells whether the last read of each part found its end.
func (sub *subscription) level() bool {
	for i := range sub.parts {
		if !sub.parts[i].level {
			return false
		}
	}
	return true
}

// inStep tells whether the subscriber is level with all parts at one instant: none has
// moved while others were read.
func (sub *subscription) inStep() bool {
	return sub.level() && (len(sub.parts) == 1 || !sub.pending())
}

// digest is what a level subscriber holds.
func (sub *subscription) digest() (sum view.Digest) {
	for i := range sub.parts {
		sum = sum.Union(sub.parts[i].digest)
	}
	return sum
}

// resourceVersion is the one up to which a level subscriber's state is complete, given
// the source's watermark from before it was found to be level, or "".
func (sub *subscription) resourceVersion(watermark string) string {
	for i := range sub.parts {
		watermark = record.NewerResourceVersion(watermark, sub.parts[i].resourceVersion)
	}
	return watermark
}
