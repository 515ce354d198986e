package source

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/runnel-dev/runnel/internal/record"
)

// runInformer feeds s from an informer over lw until ctx ends.
//
// Handlers see neither the end of a list nor bookmarks, and trail the informer's
// store. So the list/watch wrapper sends a marker through the informer after each:
// client-go's queue keeps the order, so that when the marker reaches the handler,
// all that was before it has, too.
func runInformer(ctx context.Context, s *Source, lw *cache.ListWatch) error {
	list, open := lw.ListWithContextFunc, lw.WatchFuncWithContext
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			l, err := list(ctx, options)
			if err != nil {
				s.Failed(err)
			}
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := open(ctx, options)
			if err != nil {
				s.Failed(err)
				return nil, err
			}
			s.Connected()
			return markWatch(w, options), nil
		},
	}, &record.Record{}, cache.SharedIndexInformerOptions{ObjectDescription: s.resource.String()})

	err := informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {
		// Failed has been told; the reflector backs off by itself.
	})
	if err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(handler{s}); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

// handler is the informer's only event handler.
type handler struct{ *Source }

// OnAdd takes in an object that the informer did not hold.
func (h handler) OnAdd(obj any, _ bool) { h.take(obj.(*record.Record)) }

// OnUpdate takes in another version of an object.
func (h handler) OnUpdate(_, obj any) { h.take(obj.(*record.Record)) }

func (h handler) take(r *record.Record) {
	if r.Marker() {
		h.Mark(r.ResourceVersion)
		return
	}
	h.Upsert(r)
}

// OnDelete takes in that an object is gone.
func (h handler) OnDelete(obj any) {
	if missing, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		namespace, _, err := cache.SplitMetaNamespaceKey(missing.Key)
		if err == nil {
			h.Missing(namespace, missing.Key)
		}
		return
	}
	if r := obj.(*record.Record); !r.Marker() {
		h.Delete(r)
	}
}

// markedWatch is a watch with markers: one at its start, unless it starts with
// initial events, and one after each bookmark behind those.
type markedWatch struct {
	watch.Interface
	events chan watch.Event
	stop   context.CancelFunc
}

func markWatch(w watch.Interface, options metav1.ListOptions) watch.Interface {
	ctx, cancel := context.WithCancel(context.Background())
	m := &markedWatch{Interface: w, events: make(chan watch.Event), stop: cancel}
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	go m.run(ctx, initial, options.ResourceVersion)
	return m
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
	send := func(e watch.Event) bool {
		select {
		case m.events <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	mark := func(resourceVersion string) bool {
		return send(watch.Event{Type: watch.Modified, Object: record.NewMarker(resourceVersion)})
	}
	if !initial && !mark(resourceVersion) {
		return
	}
	for e := range m.Interface.ResultChan() {
		r, ok := e.Object.(*record.Record)
		if ok && initial {
			r.Listed = true
		}
		if !send(e) {
			return
		}
		if !ok || e.Type != watch.Bookmark {
			continue
		}
		initial = initial && !r.InitialEventsEnd()
		if !initial && !mark(r.ResourceVersion) {
			return
		}
	}
}
