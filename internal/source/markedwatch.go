package source

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/runnel-dev/runnel/internal/record"
)

// markedWatch is a watch with markers: one at its start, unless it starts with
// initial events, and one after each bookmark behind those.
type markedWatch struct {
	watch.Interface
	up     *upstream
	from   position
	events chan watch.Event
	stop   context.CancelFunc
}

// How long a streamed list may take, and how long it may bring nothing. The bookmark that
// ends it may never come, be it that the API server waits for what does not happen or that
// something in between swallows it; the reflector would wait for ever.
const (
	streamSilence  = 30 * time.Second
	streamDuration = 5 * time.Minute
)

// unfinished tells the reflector that it must list: it reads that lists are not streamed.
var unfinished = watch.Event{Type: watch.Error, Object: &errUnfinished.ErrStatus}

var errUnfinished = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusUnprocessableEntity,
	Reason:  metav1.StatusReasonInvalid,
	Message: "the API server did not end the list that it streamed",
}}

// verdict says what becomes of an event.
type verdict int

const (
	letThrough verdict = iota
	leaveOut
	endWatch
)

// marked returns the watch with markers. It goes on from a position.
func (u *upstream) marked(ctx context.Context, w watch.Interface, options metav1.ListOptions, from position) watch.Interface {
	ctx, cancel := context.WithCancel(ctx)
	m := &markedWatch{Interface: w, up: u, from: from, events: make(chan watch.Event), stop: cancel}
	go m.run(ctx, streamsList(options), options.ResourceVersion)
	return m
}

// streamsList tells whether a watch begins with what is there.
func streamsList(options metav1.ListOptions) bool {
	return options.SendInitialEvents != nil && *options.SendInitialEvents
}

// ResultChan returns the events with the markers. It is closed when the watch
// ends or is stopped.
func (m *markedWatch) ResultChan() <-chan watch.Event { return m.events }

// Stop ends the watch.
func (m *markedWatch) Stop() {
	m.stop()
	m.Interface.Stop()
}

func (m *markedWatch) run(ctx context.Context, initial bool, resourceVersion string) {
	defer close(m.events)
	if !initial && !m.mark(ctx, resourceVersion) {
		return
	}
	since := time.Now()
	overdue := time.NewTimer(streamSilence)
	defer overdue.Stop()
	for {
		if initial {
			overdue.Reset(min(streamSilence, streamDuration-time.Since(since)))
		}
		var e watch.Event
		select {
		case next, ok := <-m.Interface.ResultChan():
			if !ok && initial {
				m.send(ctx, unfinished)
			}
			if !ok {
				return
			}
			e = next
		case <-overdue.C:
			if !initial {
				continue
			}
			m.up.api.unstreamed.Store(true)
			m.send(ctx, unfinished)
			return
		}
		switch m.up.admit(ctx, m.from, e, initial) {
		case leaveOut:
			continue
		case endWatch:
			return
		}
		r, ok := e.Object.(*record.Record)
		if ok && initial {
			r.Listed = true
		}
		if !m.send(ctx, e) {
			return
		}
		switch {
		case !ok:
		case e.Type == watch.Bookmark:
			initial = initial && !r.InitialEventsEnd()
			if initial {
				continue
			}
			m.up.sawAll(r.ResourceVersion)
			if !m.mark(ctx, r.ResourceVersion) {
				return
			}
		case initial:
			m.up.saw(r, false)
		default:
			m.up.saw(r, e.Type == watch.Deleted)
			m.up.sawAll(r.ResourceVersion)
		}
	}
}

func (m *markedWatch) mark(ctx context.Context, resourceVersion string) bool {
	return m.send(ctx, watch.Event{Type: watch.Modified, Object: record.NewMarker(resourceVersion)})
}

func (m *markedWatch) send(ctx context.Context, e watch.Event) bool {
	select {
	case m.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}
