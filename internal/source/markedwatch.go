package source

import (
	"context"

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
	for e := range m.Interface.ResultChan() {
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
