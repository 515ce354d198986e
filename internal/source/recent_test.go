package source

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/view"
)

// A view that is built from what is remembered is the one that somebody would have held: it
// had the same digest at every moment.
func TestRebuiltViewIsTheOneThatNobodyHeld(t *testing.T) { // D8
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.source = New(things, Limits{})
		m.feed.source, m.feed.marker, m.feed.store = m.source, -1, state{}
		m.oracle = newOracle()
		m.feed.oracle = m.oracle
		m.relist(t)
		m.feed.rewatch()
		w := wants().Draw(t, "want")
		held, release, err := w.open(m.source)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		from := m.source.Watermark()
		var moments []string
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				m.relist(t)
				m.feed.rewatch()
			case 1:
				m.feed.bookmark()
			case 2:
				m.recreate(t)
			default:
				m.write(t)
				m.feedSome(t)
			}
			moments = append(moments, m.source.Watermark())
		}
		rebuilt := m.rebuild(t, w)
		for _, rv := range append(moments, from) {
			a, b := held.NewCursor(make(chan struct{}, 1), false), rebuilt.NewCursor(make(chan struct{}, 1), false)
			da, oka := a.ResumeAt(rv)
			db, okb := b.ResumeAt(rv)
			if da != db || oka != okb || !oka {
				t.Fatalf("D8: at %s %v, %v; rebuilt %v, %v", rv, da, oka, db, okb)
			}
			var ba, bb view.Batch
			if a.Read(&ba); ba.Level {
				b.Read(&bb)
				if len(ba.Events) != len(bb.Events) || !bb.Level || ba.Digest != bb.Digest {
					t.Fatalf("D8: from %s %d events, rebuilt %d", rv, len(ba.Events), len(bb.Events))
				}
			}
			a.Close()
			b.Close()
		}
	})
}

// rebuild makes another view of what is wanted from what the source remembers.
func (m *model) rebuild(t *rapid.T, w want) *view.View {
	sel, err := selectorOf(w.namespace, w.names, labelSelectors[w.label].text, fieldSelectors[w.field].text)
	if err != nil {
		t.Fatal(err)
	}
	proj, err := shows[w.show].projection()
	if err != nil {
		t.Fatal(err)
	}
	m.source.mu.Lock()
	defer m.source.mu.Unlock()
	return m.source.fillLocked(view.Config{Selector: sel, Projection: proj})
}

func TestMemoryOfChangesIsBoundedByBytesAndTime(t *testing.T) { // D8, D10
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(false)
		s := New(things, Limits{RecentBytes: 10_000, Views: view.Limits{Horizon: time.Minute}})
		s.Mark("0")
		for i := range 1000 {
			w.put(i%3, 0, func(o *object) { o.spec++ })
			s.Upsert(w.watched(w.writes[i].new))
			if s.recent.bytes > 10_000 || len(s.recent.all()) == 0 {
				t.Fatalf("%d bytes in %d steps", s.recent.bytes, len(s.recent.all()))
			}
		}
		if s.recent.since < "900" || s.recent.since > "995" {
			t.Errorf("since %s", s.recent.since)
		}
		time.Sleep(time.Minute + 1) //nolint:forbidigo // only so does a bubble's clock move
		s.Mark("2000")
		if n := len(s.recent.all()); n > 0 || s.recent.bytes != 0 || s.recent.since != "1000" {
			t.Errorf("%d steps, %d bytes, since %s", n, s.recent.bytes, s.recent.since)
		}
	})
}

func TestViewsLingerForThoseWhoComeBack(t *testing.T) { // D8, D10
	open := func(s *Source, field int) (*view.View, func()) {
		t.Helper()
		v, release, err := want{label: field}.open(s)
		if err != nil {
			t.Fatal(err)
		}
		return v, release
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(things, Limits{Views: view.Limits{Horizon: time.Minute}})
		s.Mark("1")
		v, release := open(s, 0)
		release()
		pass(time.Minute - 1)
		s.Mark("2")
		again, release := open(s, 0)
		if again != v {
			t.Error("the view was dropped")
		}
		pass(time.Hour)
		s.Mark("3")
		if s.Stats().Views != 1 {
			t.Error("the view was dropped while it was used")
		}
		release()
		pass(time.Minute)
		s.Mark("4")
		if s.Stats().Views != 0 {
			t.Error("the view is still there")
		}
	})
	s := New(things, Limits{LingerBytes: 3000})
	s.Mark("1")
	first, release := open(s, 0)
	release()
	for i := range labelSelectors {
		_, release := open(s, i)
		release()
	}
	if n := s.Stats().Views; n < 1 || n >= len(labelSelectors) {
		t.Errorf("%d views of %d linger in 3000 bytes", n, len(labelSelectors))
	}
	if v, release := open(s, 0); v == first {
		t.Error("not the oldest was dropped")
	} else {
		release()
	}
}
