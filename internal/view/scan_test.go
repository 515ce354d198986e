package view

import (
	"fmt"
	"testing"

	"github.com/runnel-dev/runnel/internal/projection"
)

// D7, D10: objects come and go as fast as the subscriber reads, so that it never
// sees the last of them; its snapshot ends all the same.
func TestSnapshotEndsAlthoughObjectsComeAndGo(t *testing.T) {
	const objects = 10
	var there []string
	for i := range objects {
		there = append(there, fmt.Sprintf("o%d u%d@%d in", i, i, i+1))
	}
	s := newStory(t, Limits{BatchBytes: 1}, projection.Whole(), there...)
	c := s.open()
	var b Batch
	for i := range 1000 {
		if c.Read(&b); b.Synced {
			return
		}
		n := objects + i
		s.put(fmt.Sprintf("o%d u%d@%d in", n, n, 2*n))
		s.gone(fmt.Sprintf("o%d", i), fmt.Sprint(2*n+1))
	}
	t.Fatal("no end after 1000 reads")
}
