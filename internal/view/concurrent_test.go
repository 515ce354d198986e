package view

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
)

// D3, D10, for the race detector: subscribers that read on goroutines of their own,
// woken as they are, all end level with the same view.
func TestSubscribersOnTheirOwnGoroutinesEndLevel(t *testing.T) {
	s := newStory(t, Limits{BatchBytes: 300, LiveBytes: 300, EndedStays: 8}, projection.Whole(), "a ua@1 in", "b ub@2 in")
	done := make(chan struct{})
	var readers sync.WaitGroup
	digests := make([]Digest, 8)
	for i := range digests {
		wake := make(chan struct{}, 1)
		c := s.NewCursor(wake, false)
		readers.Go(func() {
			defer c.Close()
			var b Batch
			for over := false; ; {
				for b.Level = false; !b.Level; {
					c.Read(&b)
				}
				if digests[i] = b.Digest; over {
					return
				}
				select {
				case <-wake:
				case <-done:
					over = true
				}
			}
		})
	}
	for i := range 2000 {
		name := fmt.Sprintf("o%d", i%7)
		s.put(fmt.Sprintf("%s u%d@%d in", name, i/21, 3*i+3), fmt.Sprintf("a ua@%d in", 3*i+4))
		if i%3 == 0 {
			s.gone(name, fmt.Sprint(3*i+5))
		}
	}
	close(done)
	readers.Wait()

	var want Digest
	for r := range maps.Values(s.objects) {
		want.add(r.UID, record.Hash(r.Raw))
	}
	for i, d := range digests {
		if d != want {
			t.Errorf("subscriber %d: digest %v, want %v", i, d, want)
		}
	}
	if n := len(s.cursors); n > 0 {
		t.Errorf("%d cursors are left", n)
	}
}
