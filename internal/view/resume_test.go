package view

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/record"
)

// resumes returns a cursor that goes on from a resourceVersion. The view must have held
// the objects then, written "uid@resourceVersion".
func (s *story) resumes(resourceVersion string, held ...string) *Cursor {
	s.t.Helper()
	c := s.open()
	d, ok := c.ResumeAt(resourceVersion)
	if want := s.digestOf(held); !ok || d != want {
		s.t.Errorf("at %s: %v, %v; want %v", resourceVersion, d, ok, want)
	}
	return c
}

// settles returns a cursor that goes on from the objects.
func (s *story) settles(complete string, held ...string) (c *Cursor, deleted []string, contradicted bool) {
	s.t.Helper()
	return s.settlesAfter("", complete, held...)
}

// settlesAfter is as settles for who was told of changes up to last.
func (s *story) settlesAfter(last, complete string, held ...string) (c *Cursor, deleted []string, contradicted bool) {
	s.t.Helper()
	var pairs []byte
	for _, text := range held {
		r := s.whole(text)
		pairs = binary.LittleEndian.AppendUint64(pairs, record.HashString(r.UID))
		pairs = binary.LittleEndian.AppendUint64(pairs, r.Version)
	}
	known, err := ParseKnown(pairs)
	if err != nil {
		s.t.Fatal(err)
	}
	c = s.open()
	contradicted = c.Settle(known, complete)
	b := Batch{Events: known.Deleted(last, "99")}
	return c, show(s.t, &b), contradicted
}

// whole is the record of an object in the view, written "uid@resourceVersion": uids of
// stories begin with their name's letter.
func (s *story) whole(text string) *record.Record {
	return s.parse(fmt.Sprintf("%s %s in", text[1:2], text))
}

func (s *story) digestOf(held []string) (d Digest) {
	for _, text := range held {
		r := s.whole(text)
		d.add(r.UID, r.Version)
	}
	return d
}

func TestWhoComesBackGetsWhatHappenedSince(t *testing.T) { // D8
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@1 in", "c uc@1 in")
	s.put("a ua@2 in")
	s.gone("b", "4")
	s.put("c uc2@6 in", "d ud@7 in") // another step of two changes, up to 7
	s.reads(s.resumes("1", "ua@1", "ub@1", "uc@1"), "~ a ua@2", "- b ub@4 gone", "- c uc@6 gone", "+ c uc2@6", "+ d ud@7", "synced", "level")
	s.reads(s.resumes("3", "ua@2", "ub@1", "uc@1"), "- b ub@4 gone", "- c uc@6 gone", "+ c uc2@6", "+ d ud@7", "synced", "level")
	s.reads(s.resumes("5", "ua@2", "uc@1"), "- c uc@6 gone", "+ c uc2@6", "+ d ud@7", "synced", "level")
	s.reads(s.resumes("99", "ua@2", "uc2@6", "ud@7"), "synced", "level")
}

func TestWhatWasForgottenCannotBeResumed(t *testing.T) { // D8
	s := newStory(t, Limits{Horizon: time.Minute}, projection.Whole(), "a ua@3 in")
	if _, ok := s.open().ResumeAt("0"); ok {
		t.Error("resumed from before the beginning")
	}
	s.gone("a", "4")
	s.reads(s.resumes("1", "ua@3"), "- a ua@4 gone", "synced", "level")
	s.Collect(s.now.Add(time.Minute))
	if _, ok := s.open().ResumeAt("1"); ok {
		t.Error("resumed from before a stay that was forgotten")
	}
	s.resumes("4")
}

func TestScanOfWhoComesBackDoesNotRepeatWhatItHas(t *testing.T) { // D8: more than a live read takes
	s := newStory(t, Limits{LiveBytes: 1, BatchBytes: 1}, projection.Whole(), "a ua@1 in", "b ub@1 in", "c uc@1 in")
	s.put("a ua@2 in")
	s.gone("c", "3")
	c := s.resumes("1", "ua@1", "ub@1", "uc@1")
	s.reads(c, "~ a ua@2")
	s.put("a ua@4 in") // behind the walk
	s.reads(c, "- c uc@3 gone", "synced")
	s.reads(c, "~ a ua@4", "level")
}

func TestLastIsThatOfWhatWasToldAndNotOfWhatHappenedElsewhere(t *testing.T) { // D2, D8
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	c := s.resumes("1", "ua@1")
	var b Batch
	check := func(last, complete string) {
		t.Helper()
		if c.Read(&b); b.Last != last || b.ResourceVersion != complete {
			t.Errorf("last %s of %s, want %s of %s", b.Last, b.ResourceVersion, last, complete)
		}
	}
	check("", "1") // it was told of nothing
	s.put("b ub@5 out")
	check("", "5")
	s.put("a ua@6 in")
	check("6", "6")
	s.put("b ub@7 out")
	check("6", "7")
}

func TestKnownVersionsAreSettledByContent(t *testing.T) { // D8, D5
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@1 in", "c uc@1 in", "d ud@1 in")
	s.put("b ub@2 in", "d ud@3 out")
	s.put("c uc2@4 in")
	c, deleted, _ := s.settles("", "ua@1", "ub@1", "uc@1", "ud@1", "ux@1")
	if got, want := strings.Join(deleted, ", "), "- d ud@3 left_view, - c uc@4 gone, -  @99 final_state_unknown"; len(deleted) != 3 ||
		!strings.Contains(got, "- d ud@3 left_view") || !strings.Contains(got, "- c uc@4 gone") || !strings.Contains(got, "-  @99 final_state_unknown") {
		t.Errorf("deleted: %s\nwant in any order: %s", got, want)
	}
	s.reads(c, "~ b ub@2", "+ c uc2@4", "synced", "level")
}

func TestWhoHeldAnObjectAfterItsStayWasNotToldOfItsEnd(t *testing.T) { // D2: the view is another than it was of
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in")
	s.put("a ua@3 out")
	for last, want := range map[string]string{"2": "- a ua@3 left_view", "3": "- a ua@3 left_view", "4": "-  @99 final_state_unknown"} {
		if _, deleted, _ := s.settlesAfter(last, "", "ua@1"); len(deleted) != 1 || deleted[0] != want {
			t.Errorf("told up to %s: %v, want %s", last, deleted, want)
		}
	}
}

func TestWhatChangesWhileTheDifferenceIsTold(t *testing.T) { // D8, D4, D5
	s := newStory(t, Limits{BatchBytes: 1}, projection.Whole(), "a ua@1 in", "b ub@1 in", "c uc@1 in", "d ud@1 in", "e ue@1 in")
	c, deleted, _ := s.settles("", "ua@1", "ub@0", "uc@0", "ud@1")
	if len(deleted) > 0 {
		t.Errorf("deleted: %v", deleted)
	}
	s.put("a ua@2 in")
	s.gone("b", "3")
	s.put("c uc2@4 in")
	s.put("d ud@1 in") // as it is known
	s.gone("e", "5")   // was not known
	s.reads(c, "~ a ua@2")
	s.reads(c, "- b ub@3 gone")
	s.put("a ua@6 in")
	s.reads(c, "- c uc@4 gone", "+ c uc2@4")
	s.reads(c, "synced")
	s.reads(c, "~ a ua@6", "level")
}

func TestPatchGoesToWhoKnowsTheBase(t *testing.T) { // D14
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@1 in")
	other := s.NewCursor(make(chan struct{}, 1), true) // someone takes patches
	defer other.Close()
	s.put("a ua@2 in")
	s.put("b ub@3 in")
	s.put("b ub@4 in")
	var pairs []byte
	for _, text := range []string{"ua@1", "ub@1"} {
		pairs = binary.LittleEndian.AppendUint64(pairs, record.HashString(s.whole(text).UID))
		pairs = binary.LittleEndian.AppendUint64(pairs, s.whole(text).Version)
	}
	known, err := ParseKnown(pairs)
	if err != nil {
		t.Fatal(err)
	}
	c := s.NewCursor(make(chan struct{}, 1), true)
	defer c.Close()
	c.Settle(known, "")
	var b Batch
	c.Read(&b)
	for i, want := range []string{`{"metadata":{"resourceVersion":"2"}}`, string(s.objects["b"].Raw)} {
		if got := string(b.Events[i].Payload()); got != want {
			t.Errorf("event %d carries %s, want %s", i, got, want)
		}
	}
}

func TestObjectThatShouldHaveBeenKnownIsOfAnotherHistory(t *testing.T) { // D9
	s := newStory(t, Limits{}, projection.Whole(), "a ua@1 in", "b ub@3 in")
	for _, test := range []struct {
		name     string
		complete string
		known    []string
		want     bool
	}{
		{"all is known", "3", []string{"ua@1", "ub@3"}, false},
		{"what is newer", "2", []string{"ua@1"}, false},
		{"in another version", "2", []string{"ua@0"}, true},
		{"not at all", "1", nil, true},
		{"of whom nothing is known", "", []string{"ua@0"}, false},
		{"in no order", "abc", []string{"ua@0"}, false},
	} {
		if _, _, got := s.settles(test.complete, test.known...); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestRewrittenHistoryResetsEveryone(t *testing.T) { // D9
	s := newStory(t, Limits{}, projection.Whole(), "a ua@5 in", "b ub@6 in")
	level, fresh := s.open(), s.open()
	s.reads(level, "+ a ua@5", "+ b ub@6", "synced", "level")
	s.rewritten("3", "a ua@2 in")
	s.reads(level, "reset", "rewritten")
	s.reads(level, "+ a ua@2", "synced", "level")
	s.reads(fresh, "reset", "rewritten") // it may hold what another replica sent
	s.reads(fresh, "+ a ua@2", "synced", "level")
	if _, ok := s.open().ResumeAt("2"); ok {
		t.Error("resumed from before history began")
	}
	s.put("a ua@4 in")
	s.reads(level, "~ a ua@4", "level")
	s.reads(s.resumes("3", "ua@2"), "~ a ua@4", "synced", "level")
}

func TestKnownListsThatAreNone(t *testing.T) {
	for _, b := range [][]byte{make([]byte, 1), make([]byte, 15), make([]byte, 17)} {
		if _, err := ParseKnown(b); err == nil {
			t.Errorf("%d bytes are a list", len(b))
		}
	}
	twice, err := ParseKnown(make([]byte, 32))
	if err != nil || twice.Digest().Count != 1 {
		t.Errorf("an object that is named twice counts %d times, %v", twice.Digest().Count, err)
	}
}

// Whatever is offered, what a subscriber holds afterwards is the view: unless it lied
// about versions, and then the digest tells.
func FuzzKnown(f *testing.F) {
	s := newStory(&testing.T{}, Limits{BatchBytes: 1}, projection.Whole(), "a ua@1 in", "b ub@2 in", "c uc@3 in")
	f.Add([]byte{})
	var all []byte
	for _, text := range []string{"ua@1", "ub@1", "uz@1"} {
		all = binary.LittleEndian.AppendUint64(all, record.HashString(s.whole(text).UID))
		all = binary.LittleEndian.AppendUint64(all, s.whole(text).Version)
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, offered []byte) {
		known, err := ParseKnown(offered)
		if err != nil {
			return
		}
		held := map[uint64]uint64{}
		for _, o := range known.objects {
			held[o.uid] = o.version
		}
		c := s.NewCursor(make(chan struct{}, 1), false)
		defer c.Close()
		c.Settle(known, "99")
		for _, o := range known.objects {
			if !o.marked {
				delete(held, o.uid)
			}
		}
		if n := len(known.Deleted("", "99")); n != len(known.objects)-len(held) {
			t.Fatalf("%d are deleted, of %d %d are left", n, len(known.objects), len(held))
		}
		var b Batch
		for range 10 {
			c.Read(&b)
			for _, e := range decoded(t, &b) {
				held[record.HashString(e.GetUid())] = e.GetVersion()
			}
			if b.Level {
				break
			}
		}
		var d Digest
		for uid, version := range held {
			d.Count++
			d.Hash ^= elementHash(uid, version)
		}
		if !b.Level || d != b.Digest {
			t.Fatalf("level %v with %v, the view has %v", b.Level, d, b.Digest)
		}
	})
}
