package source

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/runnel-dev/runnel/internal/record"
)

// runInformer feeds s from the API server until ctx ends or the resource is not served any
// more: from one informer, and from another whenever that is abandoned.
func runInformer(ctx context.Context, s *Source, up func() *upstream) error {
	for {
		informerCtx, stop := context.WithCancel(ctx)
		if !s.Follow(stop) {
			stop()
			return nil
		}
		err := inform(informerCtx, s, up())
		stop()
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// inform feeds s from one informer until ctx ends.
//
// Handlers see neither the end of a list nor bookmarks, and trail the informer's
// store. So the list/watch wrapper sends a marker through the informer after each:
// client-go's queue keeps the order, so that when the marker reaches the handler,
// all that was before it has, too.
func inform(ctx context.Context, s *Source, up *upstream) error {
	var auditing sync.WaitGroup
	defer auditing.Wait()
	if interval := s.limits.Audit; interval > 0 {
		auditing.Go(func() { up.audit(ctx, interval) })
	}
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			l, err := up.list(ctx, options)
			if err != nil {
				up.fail(ctx, err)
				return nil, err
			}
			return l, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := up.watch(ctx, options)
			switch {
			case err == nil:
			case streamsList(options) && apierrors.IsInvalid(err):
				return nil, err // a list follows, which is as good
			default:
				up.fail(ctx, err)
				return nil, err
			}
			s.Connected()
			return w, nil
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
