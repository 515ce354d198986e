package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/runnel-dev/runnel/internal/record"
)

// upstream is the API server as one informer sees it, less what is of another history
// or older than what was seen (D9). The informer's reflector calls list and watch.
type upstream struct {
	source *Source
	api    api
	// versions finds out in which versions the resource is served.
	versions func(context.Context) ([]string, error)
	log      *slog.Logger

	mu   sync.Mutex // guards all below
	seen position
	// until is when the last watch will have ended by itself, and failed says that
	// something has failed since it was opened; neither holds behind a list.
	until  time.Time
	failed bool
}

// position is how far an informer was told of history.
type position struct {
	// resourceVersion is the one up to which it was told everything.
	resourceVersion string
	// last is the newest object that it was told of; deleted says that it was deleted in
	// that resourceVersion.
	last    *record.Record
	deleted bool
}

// errStaleList says that the API server answered from a cache that lags.
var errStaleList = errors.New("the API server's list is older than what was watched")

// fail takes in that the API server did not answer as it should, unless the informer was
// stopped: it may let go of a request later than of everything else.
func (u *upstream) fail(ctx context.Context, err error) {
	u.mu.Lock()
	u.failed = true
	u.mu.Unlock()
	if ctx.Err() != nil || errors.Is(err, errAbandoned) {
		return
	}
	if apierrors.IsNotFound(err) {
		// Maybe just this object, or a path that is not served yet.
		versions, unknown := u.versions(ctx)
		if unknown == nil && !slices.Contains(versions, u.source.Resource().Version) {
			u.source.End(versions)
			return
		}
	}
	u.source.Failed(err)
}

// list lists what is there now, and not what some cache holds of it.
func (u *upstream) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = "" // any state would do, says the reflector
	}
	list, err := u.api.list(ctx, options)
	if err != nil {
		return nil, err
	}
	if seen := u.position(); record.OlderResourceVersion(list.ResourceVersion, seen.resourceVersion) {
		return nil, u.explain(ctx, seen)
	}
	for _, r := range list.Items {
		u.saw(r, false)
	}
	u.sawAll(list.ResourceVersion)
	u.opened(time.Time{})
	return list, nil
}

// watch opens a watch where the reflector wants to go on, if that can be told to be in
// the same history.
//
// A watch may end early because the API server went away, and history may be rewritten,
// and longer than before, until there is another: no number tells then. So the last
// change must still be found where it was, and the watch goes on from there: nothing else
// happened up to the watermark, or it was in another history.
func (u *upstream) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if streamsList(options) && u.api.unstreamed.Load() {
		return nil, errUnfinished
	}
	seen := u.position()
	if seen.resourceVersion != "" {
		current, err := u.api.current(ctx)
		switch {
		case err != nil:
			return nil, err
		case record.OlderResourceVersion(current, seen.resourceVersion):
			return nil, u.rewritten(current + " is the newest resourceVersion, after " + seen.resourceVersion)
		}
		if u.early() && !streamsList(options) {
			if err := u.verify(ctx, seen); err != nil {
				return nil, err
			}
			options.ResourceVersion = seen.last.ResourceVersion
		}
	}
	w, err := u.api.watch(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.TimeoutSeconds != nil {
		const early = time.Second // clocks differ
		u.opened(time.Now().Add(time.Duration(*options.TimeoutSeconds)*time.Second - early))
	}
	return u.marked(ctx, w, options, seen), nil
}

// verify fails if the last change is not in history, or if history does not go back so
// far: then a list follows.
func (u *upstream) verify(ctx context.Context, seen position) error {
	if seen.last == nil {
		return apierrors.NewResourceExpired("nothing was seen by which to tell whether history is the same")
	}
	at, err := u.api.at(ctx, seen.last, seen.last.ResourceVersion)
	if err == nil && seen.deleted && !same(at, seen.last) {
		// It must be the deletion that happened there.
		at, err = u.api.at(ctx, seen.last, before(seen.last.ResourceVersion))
	}
	switch {
	case apierrors.IsBadRequest(err) || apierrors.IsInvalid(err): // some aggregated APIs know no past
		return apierrors.NewResourceExpired("history cannot be read: " + err.Error())
	case err != nil:
		return err
	case !same(at, seen.last) || !seen.deleted && at.ResourceVersion != seen.last.ResourceVersion:
		return u.rewritten(fmt.Sprintf("%s did not change in resourceVersion %s", seen.last.Key(), seen.last.ResourceVersion))
	case !seen.deleted && at.Version != seen.last.Version:
		u.source.Relist(fmt.Sprintf("%s reads differently in resourceVersion %s, as after a change of its schema",
			seen.last.Key(), seen.last.ResourceVersion), false)
		return errAbandoned
	}
	return nil
}

// same tells whether a is there and the same object as b.
func same(a, b *record.Record) bool { return a != nil && a.UID == b.UID }

// before is the resourceVersion before another one; that one, if it is no number.
func before(resourceVersion string) string {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil || n == 0 {
		return resourceVersion
	}
	return strconv.FormatUint(n-1, 10)
}

// admit decides about an event of a watch which goes on from a position; initial says
// that it belongs to a list.
func (u *upstream) admit(ctx context.Context, seen position, e watch.Event, initial bool) verdict {
	r, ok := e.Object.(*record.Record)
	switch {
	case !ok || !notNewer(r.ResourceVersion, seen.resourceVersion):
		return letThrough
	case r.InitialEventsEnd():
		if !record.OlderResourceVersion(r.ResourceVersion, seen.resourceVersion) {
			return letThrough
		}
		u.fail(ctx, u.explain(ctx, seen))
		return endWatch
	case e.Type == watch.Bookmark:
		return leaveOut
	case initial:
		return letThrough // the list is held against what is known when it is complete
	case e.Type == watch.Deleted && !u.source.holds(r):
		return leaveOut // it happened before a list
	}
	_ = u.rewritten(fmt.Sprintf("%s changed in resourceVersion %s, and was not seen to", r.Key(), r.ResourceVersion))
	return endWatch
}

// explain finds out why a list is older than what was seen.
func (u *upstream) explain(ctx context.Context, seen position) error {
	current, err := u.api.current(ctx)
	switch {
	case err != nil:
		return err
	case record.OlderResourceVersion(current, seen.resourceVersion):
		return u.rewritten(current + " is the newest resourceVersion, after " + seen.resourceVersion)
	}
	return errStaleList
}

func (u *upstream) rewritten(why string) error {
	u.source.Rewritten(why)
	return errRewritten
}

// opened takes in that nothing fails, until the watch ends by itself.
func (u *upstream) opened(until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until, u.failed = until, false
}

// early tells whether the last watch ended before it was to.
func (u *upstream) early() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.failed || time.Now().Before(u.until)
}

func (u *upstream) position() position {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

// saw takes in that the informer was told of a change.
func (u *upstream) saw(r *record.Record, deleted bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen.last == nil || record.OlderResourceVersion(u.seen.last.ResourceVersion, r.ResourceVersion) {
		u.seen.last, u.seen.deleted = r, deleted
	}
}

// sawAll takes in that the informer was told everything up to the resourceVersion.
func (u *upstream) sawAll(resourceVersion string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen.resourceVersion = record.NewerResourceVersion(u.seen.resourceVersion, resourceVersion)
}
