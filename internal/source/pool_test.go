package source

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

var initial = answer{request: "watchlist", body: []string{event("ADDED", "a ua@3"), bookmark("10", true)}}

func TestSourceIsSharedAndAskedForOnce(t *testing.T) {
	inBubble(t, func(w *watched) {
		again, release := w.pool.Open(things)
		defer release()
		if again != w.source {
			t.Error("another source of the same resource")
		}
		other := things
		other.Version = "v2"
		if s, release := w.pool.Open(other); s == w.source {
			t.Error("the same source of another version")
		} else {
			release()
		}
	}, initial)
}

func TestSourceOutlivesItsUsersForTheIdleTime(t *testing.T) {
	inBubble(t, func(w *watched) {
		w.release()
		w.release() // a second time changes nothing
		pass(time.Hour - time.Second)
		s, release := w.pool.Open(things)
		release()
		pass(time.Hour - time.Second) // the idle time begins anew
		if s != w.source || w.api.asked != 1 || w.api.open.Load() != 1 {
			t.Errorf("asked %d times, %d open", w.api.asked, w.api.open.Load())
		}
		w.is(synced, "10")

		pass(2 * time.Second)
		if n := w.api.open.Load(); n != 0 {
			t.Errorf("%d watches of a source that is stopped", n)
		}
		w.api.will(initial)
		s, release = w.pool.Open(things)
		defer release()
		synctest.Wait()
		if s == w.source || w.api.asked != 2 || s.Watermark() != "10" {
			t.Errorf("the idle source was not stopped: asked %d times", w.api.asked)
		}
	}, initial)
}

func TestSourceStaysWhileOneOfItsUsersDoes(t *testing.T) {
	inBubble(t, func(w *watched) {
		_, release := w.pool.Open(things)
		release()
		pass(3 * time.Hour)
		if s, release := w.pool.Open(things); s != w.source {
			t.Error("stopped")
		} else {
			release()
		}
	}, initial)
}

func TestSourceOpenedBeforeRunStartsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, api := newAPIServer(t)
		api.will(initial)
		pool, err := NewPool(PoolConfig{REST: cfg, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		s, release := pool.Open(things)
		synctest.Wait()
		if api.asked > 0 {
			t.Error("started before Run")
		}
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- pool.Run(ctx) }()
		synctest.Wait()
		if s.Watermark() != "10" {
			t.Errorf("not started: at %q", s.Watermark())
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		release()
		_, release = pool.Open(things) // too late, but harmless
		release()
		pass(defaultIdleStop)
	})
}

func TestPoolWithoutAWayToTheAPIServerIsAnError(t *testing.T) {
	_, err := NewPool(PoolConfig{REST: &rest.Config{Host: "https://api", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no CA")}}})
	if err == nil {
		t.Error("no error")
	}
}
