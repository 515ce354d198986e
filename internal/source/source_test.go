package source

import (
	"errors"
	"testing"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
)

func TestEqualSubscriptionsShareAViewUntilTheLastIsReleased(t *testing.T) {
	s := New(things, Limits{LingerBytes: 1})
	s.Mark("1")
	open := func(text string, p projection.Projection) (*view.View, func()) {
		t.Helper()
		sel, err := selectorOf("ns", nil, text, "")
		if err != nil {
			t.Fatal(err)
		}
		v, release, err := s.View(sel, p)
		if err != nil {
			t.Fatal(err)
		}
		return v, release
	}
	a, releaseA := open("x=y", projection.Whole())
	b, releaseB := open("x in (y)", projection.Whole())
	if a != b {
		t.Error("equal selectors do not share a view")
	}
	if c, release := open("x=y", projection.MetadataOnly()); c == a {
		t.Error("other projections share a view")
	} else {
		release()
	}
	releaseA()
	releaseA() // a second time changes nothing
	if n := s.Stats().Views; n != 1 {
		t.Errorf("%d views while one is in use", n)
	}
	releaseB()
	if n := s.Stats().Views; n != 0 {
		t.Errorf("%d views are left", n)
	}
	if c, release := open("x=y", projection.Whole()); c == a {
		t.Error("a released view came back")
	} else {
		release()
	}
}

func TestMarkAloneMovesTheWatermarkAndIsNoChange(t *testing.T) { // D6
	s := New(things, Limits{LingerBytes: 1})
	s.Mark("5")
	v, release, err := want{}.open(s)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	wake := make(chan struct{}, 1)
	c := v.NewCursor(wake, false)
	defer c.Close()
	var b view.Batch
	c.Read(&b)
	s.Mark("9")
	s.Mark("7") // late
	if c.Pending() || len(wake) > 0 || s.Watermark() != "9" {
		t.Errorf("pending %v, watermark %s", c.Pending(), s.Watermark())
	}
	watermark := s.Watermark()
	if c.Read(&b); !b.Level || record.NewerResourceVersion(watermark, b.ResourceVersion) != "9" {
		t.Errorf("level %v, complete to %s", b.Level, record.NewerResourceVersion(watermark, b.ResourceVersion))
	}
}

// D10: where a list is allowed but the watch is not, client-go lists for ever.
func TestListsThatNoWatchFollowsDoNotPileUp(t *testing.T) {
	w := newWorld(false)
	for key := range worldKeys {
		w.put(key, 0, func(*object) {})
	}
	now := w.now()
	s := New(things, Limits{LingerBytes: 1})
	for range 10 {
		for _, r := range w.listed(now[:]) {
			s.Upsert(r)
		}
		s.Missing("ns", "ns/gone")
	}
	if n := len(s.listed.changes); n > worldKeys+1 {
		t.Errorf("%d changes are held back for %d objects", n, worldKeys)
	}
	s.Mark("100")
	if n := s.Stats().Objects; n != worldKeys {
		t.Errorf("%d objects", n)
	}
}

// Handlers trail the informer: what was complete before a failure does not undo it.
func TestMarkBehindAFailureDoesNotHideIt(t *testing.T) { // D11
	s := New(things, Limits{LingerBytes: 1})
	s.Failed(errors.New("connection refused"))
	s.Mark("1") // what was failing is there
	if got := s.State().Source; got != synced {
		t.Errorf("at first %v", got)
	}
	s.Failed(errors.New("connection refused"))
	asOf := s.State().AsOf
	s.Mark("2")
	if got := s.State(); got.Source != stale || !got.AsOf.Equal(asOf) || s.Watermark() != "2" {
		t.Errorf("after a failure %+v at %s", got, s.Watermark())
	}
	s.Connected()
	if got := s.State().Source; got != synced {
		t.Errorf("with a watch %v", got)
	}
}
