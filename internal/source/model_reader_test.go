package source

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/view"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// heldObject is what a subscriber was sent last of an object.
type heldObject struct {
	uid             string
	resourceVersion int
	json            string
	moment          int // when it was read
}

// reader is a subscriber that checks the contract (D1-D15) on what it is sent.
type reader struct {
	oracle *oracle
	source *Source
	limits view.Limits
	// bare is the world's.
	bare bool
	// patches says that the subscriber takes merge patches.
	patches bool

	want    want
	view    *view.View
	release func()
	cursor  *view.Cursor
	wake    chan struct{}
	batch   view.Batch

	held map[int]heldObject
	// stale is what was held before a Reset and did not come again yet.
	stale map[int]heldObject
	// floors are the resourceVersions sent, by UID.
	floors map[string]int
	synced bool
	// level says that the last read made the subscriber level. It was so last at
	// the moment, or else began then.
	level  bool
	moment int
	// began is the moment at which the snapshot began.
	began int
	// reads are the moments of the reads since the stream was level, began or was
	// reset; scanReads counts those since the snapshot began.
	reads     []int
	scanReads int
}

func (r *reader) open(t *rapid.T, w want) {
	var err error
	r.want = w
	if r.view, r.release, err = w.open(r.source); err != nil {
		t.Fatalf("open: %v", err)
	}
	r.wake = make(chan struct{}, 1)
	r.cursor = r.view.NewCursor(r.wake, r.patches)
	r.held, r.floors = map[int]heldObject{}, map[string]int{}
	r.began, r.moment = r.oracle.visible, r.oracle.visible
}

func (r *reader) close() {
	r.cursor.Close()
	r.release()
}

// looks checks, without a read, what a subscriber would base its waiting on.
func (r *reader) looks(t *rapid.T) {
	changed := r.oracle.changes(r.want, r.moment, r.oracle.visible) > 0
	if r.level && changed && len(r.wake) == 0 {
		t.Fatalf("D3: a change woke nobody (%v)", r.want)
	}
	switch pending := r.cursor.Pending(); {
	case !pending && (!r.level || changed):
		t.Fatalf("D3: nothing to read, level %v, changed %v (%v)", r.level, changed, r.want)
	case pending && r.level && !changed:
		t.Fatalf("D6: something to read although nothing changed (%v)", r.want)
	}
}

func (r *reader) read(t *rapid.T) {
	r.looks(t)
	select {
	case <-r.wake:
	default:
	}
	o, now := r.oracle, r.oracle.visible
	wasLevel, changes := r.level, o.changes(r.want, r.moment, now)
	onlyLive := !slices.ContainsFunc(o.moments[r.moment+1:now+1], func(m moment) bool { return m.list })
	watermark := r.source.Watermark()

	before := inside(r.view, r.cursor)
	r.cursor.Read(&r.batch)
	tally.read(before, inside(r.view, r.cursor), r)
	b := &r.batch
	if b.Reset {
		r.reset(t)
		return
	}
	if b.Initial == r.synced {
		t.Fatalf("D7: synced %v, but initial %v", r.synced, b.Initial)
	}
	events := r.decode(t, b)
	r.bounded(t, events)
	for _, e := range events {
		r.take(t, e)
	}
	r.reads = append(r.reads, now)
	r.scanReads++
	r.checkSynced(t, b)
	r.checkRound(t)

	r.level = b.Level
	if b.Level {
		r.checkLevel(t, b, watermark)
		r.moment, r.reads = now, nil
	}
	if wasLevel && changes == 1 && onlyLive {
		if !b.Level || len(events) == 0 {
			t.Fatalf("D3: a level subscriber did not get the one change: level %v, %d events", b.Level, len(events))
		}
	}
	if size := sizeOf(b); !r.bare && !shows[r.want.show].bare && wasLevel && onlyLive && b.Level && changes <= smallestRing && size <= r.limits.LiveBytes {
		r.checkOrder(t, events)
	}
}

// smallestRing is how many changes a view remembers at least.
const smallestRing = 16

// untilLevel reads until there is nothing more, while nothing changes.
func (r *reader) untilLevel(t *rapid.T) {
	// The rest of a scan, a scan of what it did not see, and a live read; a reset
	// begins once more.
	for range 2 * (2*worldKeys + 4) {
		r.read(t)
		if r.level {
			return
		}
	}
	t.Fatalf("D3: not level although nothing changes (%v)", r.want)
}

// reset takes in that the view forgot what this subscriber may have missed.
func (r *reader) reset(t *rapid.T) {
	if len(r.batch.Events) > 0 {
		t.Fatalf("D8: events in a reset")
	}
	// It may come only if many endings are not seen, and not all can be kept.
	kept := r.limits.EndedStays - r.limits.EndedStays/4
	if n := r.oracle.endings(r.want, r.moment, r.oracle.visible); n < kept {
		t.Fatalf("D10: reset although only %d endings were not seen, of %d kept", n, kept)
	}
	if r.stale == nil {
		r.stale = map[int]heldObject{}
	}
	for key, h := range r.held {
		r.stale[key] = h
	}
	r.held = map[int]heldObject{}
	r.synced, r.level = false, false
	r.reads, r.scanReads = nil, 0
	r.began, r.moment = r.oracle.visible, r.oracle.visible
}

// decode reads the frame as a subscriber does, with the generated code.
func (r *reader) decode(t *rapid.T, b *view.Batch) []*runnelv1.Event {
	const resource = 3
	var response runnelv1.SubscribeResponse
	if err := proto.Unmarshal(wire.Batch(resource, b.Initial, b.Events, nil).Bytes(), &response); err != nil {
		t.Fatalf("frame: %v", err)
	}
	batch := response.GetBatch()
	if batch.GetResource() != resource || batch.GetInitial() != b.Initial || len(batch.GetEvents()) != len(b.Events) {
		t.Fatalf("frame: %v", batch)
	}
	return batch.GetEvents()
}

func sizeOf(b *view.Batch) (n int) {
	for _, e := range b.Events {
		n += e.Size()
	}
	return n
}

// bounded checks that a read of more than one object keeps to the limits.
func (r *reader) bounded(t *rapid.T, events []*runnelv1.Event) {
	keys := map[string]bool{}
	for _, e := range events {
		keys[e.GetNamespace()+"/"+e.GetName()] = true
	}
	if size := sizeOf(&r.batch); len(keys) > 1 && size > max(r.limits.BatchBytes, r.limits.LiveBytes) {
		t.Fatalf("D10: %d bytes in one read of %d objects", size, len(keys))
	}
}

// covers checks that what existed at a moment was handed out as it was then, or
// newer, or is gone.
func (r *reader) covers(t *rapid.T, moment int, contract string) {
	for key, o := range r.oracle.moments[moment].state {
		json := r.want.of(o)
		if json == "" {
			continue
		}
		held := r.held[key]
		if held.uid == o.uid && (held.json == json || held.resourceVersion >= o.resourceVersion) {
			continue
		}
		if _, gone := r.oracle.lastEnding(r.want, key, o.uid, moment); !gone {
			t.Fatalf("%s: %s in resourceVersion %d was passed over; held is %s in %d",
				contract, o.uid, o.resourceVersion, held.uid, held.resourceVersion)
		}
	}
}

func (r *reader) checkSynced(t *rapid.T, b *view.Batch) {
	if !r.synced && r.scanReads > r.want.keys()+1 {
		t.Fatalf("D7: no end to the snapshot after %d reads", r.scanReads)
	}
	if !b.Synced {
		return
	}
	if r.synced {
		t.Fatalf("D7: synced twice")
	}
	r.covers(t, r.began, "D7")
	tally.add("what a reset made stale is dropped", len(r.stale))
	r.synced, r.stale = true, nil
}

// checkRound checks that a slow reader gets round, however much changes meanwhile:
// so many reads are the rest of one scan, and a whole one.
func (r *reader) checkRound(t *rapid.T) {
	round := 2*r.want.keys() + 3
	if n := len(r.reads); n > round {
		r.covers(t, r.reads[n-1-round], "D3")
		tally.add("slow reader gets round", 1)
	}
}

// checkLevel checks that a level subscriber holds exactly the view.
func (r *reader) checkLevel(t *rapid.T, b *view.Batch, watermark string) {
	if !r.synced {
		t.Fatalf("D7: level before synced")
	}
	for key, now := range r.oracle.now() {
		json := r.want.of(now)
		held, holds := r.held[key]
		switch {
		case json == "" && !holds:
			continue
		case json == "":
			t.Fatalf("D1: %s is not in the view but held", held.uid)
		case !holds:
			t.Fatalf("D1: %s is not held", now.uid)
		case held.uid != now.uid || held.json != json:
			t.Fatalf("D1: held is %s\nin the view %s", held.json, json)
		case held.resourceVersion > now.resourceVersion:
			t.Fatalf("D2: %s is held in %d, but is at %d", now.uid, held.resourceVersion, now.resourceVersion)
		}
	}
	if want := digestOf(r.held); b.Digest != want {
		t.Fatalf("D15: digest %v, of what is held %v", b.Digest, want)
	}
	if n := r.view.Len(); n != len(r.held) {
		t.Fatalf("D15: %d objects in the view, %d held", n, len(r.held))
	}
	if want := strconv.Itoa(r.oracle.watermark); record.NewerResourceVersion(watermark, b.ResourceVersion) != want {
		t.Fatalf("D12: complete to %s, not %s", record.NewerResourceVersion(watermark, b.ResourceVersion), want)
	}
}

// checkOrder checks that live changes come in resourceVersion order. Another
// object of the same name may have conflated with a DELETED, which then comes late.
func (r *reader) checkOrder(t *rapid.T, events []*runnelv1.Event) {
	last := 0
	for _, e := range events {
		key := keyOf(e.GetNamespace(), e.GetName())
		if went, ok := r.oracle.lastEnding(r.want, key, e.GetUid(), 0); ok && r.oracle.otherwise(r.want, key, "", went.moment) {
			continue
		}
		rv, _ := strconv.Atoi(e.GetResourceVersion())
		if rv < last {
			t.Fatalf("D12: %d after %d", rv, last)
		}
		last = rv
	}
	tally.add("live read of several changes in order", len(events)/2)
}
