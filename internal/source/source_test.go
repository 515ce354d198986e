package source

import (
	"testing"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/view"
)

func TestEqualSubscriptionsShareAViewUntilTheLastIsReleased(t *testing.T) {
	s := New(things, view.Limits{})
	s.Mark("1")
	open := func(text string, p projection.Projection) (*view.View, func()) {
		t.Helper()
		sel, err := selectorOf("ns", nil, text)
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
	s := New(things, view.Limits{})
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
	if c.Read(&b); !b.Level || b.Newer(watermark) != "9" {
		t.Errorf("level %v, complete to %s", b.Level, b.Newer(watermark))
	}
}
