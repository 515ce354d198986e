package subscriber

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/token"
	"github.com/runnel-dev/runnel/internal/view"
	"github.com/runnel-dev/runnel/internal/wire"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// modelHeld is one object as a client holds it.
type modelHeld struct {
	name    string
	version uint64
}

// modelCopy is what a client keeps between streams, or on disk.
type modelCopy struct {
	held    map[string]modelHeld // by UID
	floors  map[string]int       // resourceVersions by UID; they outlive the objects
	history int
	token   []byte
	by      *source.Source // who gave it, and in which history
	in      int
	of      string // the view that it is of
	// damaged says that the copy was made wrong, and not mended yet.
	damaged bool
}

func (c modelCopy) clone() modelCopy {
	c.held, c.floors = maps.Clone(c.held), maps.Clone(c.floors)
	return c
}

// modelClient subscribes here and there, and checks what it is told.
type modelClient struct {
	modelCopy
	// saved is a copy of some time ago.
	saved modelCopy
	sub   *runnelv1.ResourceSubscription

	replica *modelReplica
	stream  *stream
	queue   []modelFrame
	// What follows is about the present stream.
	begun, synced, offeredKnown bool
	// view names what the present stream subscribes to.
	view string
	// fresh is what a snapshot that is under way has brought.
	fresh map[string]modelHeld
	// events counts what came before synced; still says that nothing has changed since the
	// client came and that it held all.
	events int
	still  bool
	// must says that what was offered must be resumed; contradicted, that the versions which
	// were offered prove that they are of another history.
	must, contradicted bool
	last               int
	// offered is the token that was.
	offered token.Token
}

// modelFrame is a frame, with what the replica held when it was sent, and of which
// resourceVersion and history that was.
type modelFrame struct {
	*runnelv1.SubscribeResponse
	visible       modelState
	seen, history int
}

// modelOut is the server's end of a stream.
type modelOut struct{ c *modelClient }

func (o modelOut) SendMsg(m any) error {
	frame := &runnelv1.SubscribeResponse{}
	switch m := m.(type) {
	case *wire.Frame:
		if err := proto.Unmarshal(m.Bytes(), frame); err != nil {
			return err
		}
	case *runnelv1.SubscribeResponse:
		frame = proto.CloneOf(m)
	}
	o.c.queue = append(o.c.queue, modelFrame{frame, o.c.replica.visible, o.c.replica.seen, o.c.replica.history})
	return nil
}
func (modelOut) Context() context.Context     { return context.Background() }
func (modelOut) RecvMsg(any) error            { return nil }
func (modelOut) SetHeader(metadata.MD) error  { return nil }
func (modelOut) SendHeader(metadata.MD) error { return nil }
func (modelOut) SetTrailer(metadata.MD)       {}

// selected is the view of a state, by UID.
func (c *modelClient) selected(s modelState) map[string]modelHeld {
	all := map[string]modelHeld{}
	for _, o := range s {
		if o == nil || c.sub.GetLabelSelector() != "" && o.label != "a" ||
			len(c.sub.GetNamespaces()) == 1 && c.sub.GetNamespaces()[0] != o.namespace() {
			continue
		}
		sel, err := parse(&runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{c.sub}}, DefaultLimits())
		if err != nil {
			panic(err)
		}
		_, version := sel[0].projection.Apply(o.record(false))
		all[o.uid] = modelHeld{o.namespace() + "/" + o.name(), version}
	}
	return all
}

func digestOfHeld(held map[string]modelHeld) (d view.Digest) {
	for uid, h := range held {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], record.HashString(uid))
		binary.LittleEndian.PutUint64(b[8:], h.version)
		d.Count++
		d.Hash ^= record.Hash(b[:])
	}
	return d
}

// connect subscribes to a replica, with one of the offers that a client may make.
func (c *modelClient) connect(t *rapid.T, r *modelReplica) {
	c.cut()
	offer := rapid.SampledFrom([]string{"token", "token", "token", "token and known", "known", "saved", "nothing", "damaged", "other view", "other selector", "lost"}).Draw(t, "offer")
	req := &runnelv1.SubscribeRequest{Delta: rapid.SampledFrom([]runnelv1.DeltaMode{1, 2}).Draw(t, "delta")}
	if rapid.Bool().Draw(t, "fail") {
		req.OnExpired = runnelv1.OnExpired_ON_EXPIRED_FAIL
	}
	if offer == "other selector" {
		c.sub.LabelSelector = map[string]string{"": "l=a", "l=a": ""}[c.sub.GetLabelSelector()]
	}
	sub := proto.CloneOf(c.sub)
	req.Resources = []*runnelv1.ResourceSubscription{sub}
	switch offer {
	case "saved":
		if c.saved.held != nil {
			c.modelCopy = c.saved.clone()
		}
		sub.ResumeToken = c.token
	case "token", "token and known", "other selector":
		sub.ResumeToken = c.token
	case "lost":
		sub.ResumeToken = c.token
		c.lose(t)
	case "damaged":
		if n := len(c.token); n > 0 {
			sub.ResumeToken = append([]byte(nil), c.token...)
			sub.ResumeToken[rapid.IntRange(0, n-1).Draw(t, "at")] ^= 4
		}
	case "other view":
		sub.ResumeToken = c.token
		sub.IgnorePaths = []string{"spec.nothing"}
	}
	if c.damaged || slices.Contains([]string{"known", "token and known", "other selector"}, offer) {
		for uid, h := range c.held {
			sub.Known = binary.LittleEndian.AppendUint64(sub.Known, record.HashString(uid))
			sub.Known = binary.LittleEndian.AppendUint64(sub.Known, h.version)
		}
	}
	c.replica, c.begun, c.synced, c.fresh, c.events = r, false, false, nil, 0
	c.offeredKnown = len(sub.Known) > 0
	c.still = maps.Equal(c.held, c.selected(r.visible))
	tok, _ := token.Parse(sub.ResumeToken)
	c.offered = tok
	c.last, _ = strconv.Atoi(tok.Last)
	if c.history != r.history || tok.Last == "" {
		c.floors, c.history = map[string]int{}, r.history // nothing says what may not be told
	}
	c.view = fmt.Sprintf("%q %q", sub.GetLabelSelector(), sub.GetIgnorePaths())
	exact := tok.Exact && c.of == c.view
	watermark, _ := strconv.Atoi(tok.Watermark)
	c.contradicted = exact && c.offeredKnown && !c.damaged && watermark <= r.seen && c.unknownBefore(watermark)
	l := r.limits
	remembers := c.by == r.source && c.in == r.history && l.Views.Horizon == modelHorizons[1] && l.Views.Ring > 16 && l.Views.EndedStays > 3 && l.RecentBytes == 1<<20
	c.must = exact && c.last <= r.seen && (remembers || c.still)
	if len(c.token) > 0 && offer != "token" {
		tally.add("offer: "+offer, 1)
	}

	selections, err := parse(req, r.service.cfg.Limits)
	if err != nil {
		t.Fatalf("D8: refused: %v", err)
	}
	c.stream = r.service.newStream(req, modelOut{c})
	if err := c.stream.open(context.Background(), selections); err != nil {
		t.Fatalf("D8: refused: %v", err)
	}
	c.turn(t)
}

// lose makes the copy wrong, without the client's knowing.
func (c *modelClient) lose(t *rapid.T) {
	uids := slices.Sorted(maps.Keys(c.held))
	if len(uids) == 0 {
		return
	}
	c.damaged = true
	uid := rapid.SampledFrom(uids).Draw(t, "lost")
	if len(uids) > 1 && rapid.Bool().Draw(t, "whole") { // an empty list is none
		delete(c.held, uid)
		return
	}
	c.held[uid] = modelHeld{c.held[uid].name, c.held[uid].version + 1}
}

// unknownBefore tells whether the replica has an object, not newer than the resourceVersion,
// that the client does not hold in just that version.
func (c *modelClient) unknownBefore(rv int) bool {
	selected := c.selected(c.replica.visible)
	for _, o := range c.replica.visible {
		if o != nil && o.rv <= rv {
			if now, ok := selected[o.uid]; ok && c.held[o.uid] != now {
				return true
			}
		}
	}
	return false
}

// turn lets the server send.
func (c *modelClient) turn(t *rapid.T) {
	if c.stream == nil {
		return
	}
	if c.still && !c.synced {
		c.still = maps.Equal(c.held, c.selected(c.replica.visible))
	}
	_, err := c.stream.turn(context.Background())
	if err == nil {
		return
	}
	switch code := grpcstatus.Code(err); {
	case code == codes.Aborted && c.must:
		t.Fatalf("D8: could have resumed: %v; token %+v, held %v, visible %v at %d", err, c.offered, digestOfHeld(c.held), digestOfHeld(c.selected(c.replica.visible)), c.replica.seen)
	case code == codes.Aborted && (!c.stream.failExpired || c.offeredKnown):
		t.Fatalf("D8: %v", err)
	case code == codes.Unavailable && c.last <= c.replica.seen:
		t.Fatalf("D8: not behind: %v", err)
	case code == codes.Unavailable && c.last > c.replica.world.now().rv:
		t.Fatalf("D9: history was rewritten, and the client is to wait for what never comes: %v", err)
	case code == codes.Aborted:
		tally.add("token expired", 1)
	case code == codes.Unavailable:
		tally.add("replica behind", 1)
	default:
		t.Fatalf("D8: %v", err)
	}
	c.cut()
}

// cut ends the stream; what was not read is lost.
func (c *modelClient) cut() {
	if c.stream == nil {
		return
	}
	if !c.synced && c.begun {
		tally.add("cut before synced", 1)
	}
	c.stream.close()
	c.stream, c.queue = nil, nil
}
