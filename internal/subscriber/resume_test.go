package subscriber

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/token"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// replica is one server of several; the test feeds its source.
type replica struct {
	*cluster
	source  *source.Source
	service *Service
	client  runnelv1.EventServiceClient
}

// newReplica returns one that has listed the objects at a resourceVersion.
func newReplica(t *testing.T, resourceVersion string, objects ...*record.Record) *replica {
	return newReplicaWith(t, Config{}, resourceVersion, objects...)
}

func newReplicaWith(t *testing.T, cfg Config, resourceVersion string, objects ...*record.Record) *replica {
	t.Helper()
	c := newCluster(t, pods)
	cfg.Resolver, cfg.Sources = c, c
	if cfg.Cluster == "" {
		cfg.Cluster = "here"
	}
	r := &replica{cluster: c, source: c.source(pods), service: New(cfg)}
	for _, o := range objects {
		r.source.Upsert(o)
	}
	r.source.Mark(resourceVersion)
	r.client = serveService(t, r.service)
	return r
}

// holder is a subscriber of all Pods that remembers its token and what it holds.
type holder struct {
	t        *testing.T
	sub      *runnelv1.ResourceSubscription
	onExpiry runnelv1.OnExpired
	held     map[uint64]uint64
}

func newHolder(t *testing.T) *holder {
	return &holder{t: t, sub: &runnelv1.ResourceSubscription{Resource: "pods"}, held: map[uint64]uint64{}}
}

// visit subscribes, checks the frames up to the overall synced, and leaves.
func (h *holder) visit(r *replica, want ...string) {
	h.t.Helper()
	h.visits(r, func(*tape) {}, want...)
}

// visits does so, and more behind that.
func (h *holder) visits(r *replica, more func(tp *tape), want ...string) {
	h.t.Helper()
	ctx, leave := context.WithCancel(h.t.Context())
	defer leave()
	req := request(h.sub)
	req.OnExpired = h.onExpiry
	stream, err := r.client.Subscribe(ctx, req)
	if err != nil {
		h.t.Fatal(err)
	}
	tp := &tape{t: h.t, stream: remembering{stream, h}}
	tp.want(append(want, "synced")...)
	more(tp)
}

// remembering is a stream of which a holder remembers what it must.
type remembering struct {
	runnelv1.EventService_SubscribeClient
	h *holder
}

func (r remembering) Recv() (*runnelv1.SubscribeResponse, error) {
	frame, err := r.EventService_SubscribeClient.Recv()
	for _, token := range [][]byte{
		frame.GetBatch().GetResumeToken(), frame.GetSynced().GetResumeToken(), frame.GetBookmark().GetResumeToken(),
	} {
		if len(token) > 0 {
			r.h.sub.ResumeToken = token
		}
	}
	for _, e := range frame.GetBatch().GetEvents() {
		uid := e.GetUidHash()
		if uid == 0 {
			uid = record.HashString(e.GetUid())
		}
		if delete(r.h.held, uid); e.GetType() != runnelv1.EventType_EVENT_TYPE_DELETED {
			r.h.held[uid] = e.GetVersion()
		}
	}
	return frame, err
}

// offers makes the subscriber offer the versions that it holds.
func (h *holder) offers() {
	h.sub.Known = nil
	for uid, version := range h.held {
		h.sub.Known = binary.LittleEndian.AppendUint64(h.sub.Known, uid)
		h.sub.Known = binary.LittleEndian.AppendUint64(h.sub.Known, version)
	}
}

// refused checks how the call ends.
func (h *holder) refused(r *replica, code codes.Code, reason string) {
	h.t.Helper()
	req := request(h.sub)
	req.OnExpired = h.onExpiry
	s, _ := grpcstatus.FromError(subscribe(h.t, r.client, req).end())
	var info *errdetails.ErrorInfo
	for _, d := range s.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			info = i
		}
	}
	if s.Code() != code || info.GetReason() != reason {
		h.t.Errorf("%v %s: %s; want %v %s", s.Code(), info.GetReason(), s.Message(), code, reason)
	}
}

// C03, D8: exactly what happened meanwhile.
func TestWhoComesBackGetsExactlyWhatItMissed(t *testing.T) {
	var objects []*record.Record
	c := newCluster(t, pods)
	names := "abcdefghij"
	for i, name := range names {
		objects = append(objects, c.pod("ns/"+string(name), i+1, ""))
	}
	r := newReplica(t, "10", objects...)
	h := newHolder(t)
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1) ADDED(b b@2) ADDED(c c@3) ADDED(d d@4) ADDED(e e@5)"+
		" ADDED(f f@6) ADDED(g g@7) ADDED(h h@8) ADDED(i i@9) ADDED(j j@10)", "0: synced 10")
	for i, name := range []string{"a", "c", "e"} {
		r.source.Delete(c.pod("ns/"+name, 11+i, ""))
	}
	r.source.Upsert(c.pod("ns/b", 14, ""))
	r.source.Upsert(c.pod("ns/d", 15, ""))
	h.visit(r, "0: resumed",
		"0: DELETED(a a@11)GONE DELETED(c c@12)GONE DELETED(e e@13)GONE MODIFIED(b b@14) MODIFIED(d d@15)", "0: synced 7")
	h.visit(r, "0: resumed", "0: synced 7") // and not again
}

// C02, D5.
func TestWhatWasReCreatedMeanwhileIsAnotherObject(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, ""))
	h, offering := newHolder(t), newHolder(t)
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	offering.visit(r, "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	r.source.Delete(c.pod("ns/a", 11, ""))
	r.source.Upsert(c.pod("ns/a", 12, "", "a2"))
	h.visit(r, "0: resumed", "0: DELETED(a a@11)GONE ADDED(a a2@12)", "0: synced 1")
	offering.offers()
	offering.sub.ResumeToken = nil
	offering.visit(r, "0: resumed", "0: DELETED(a a@11)GONE", "0: ADDED(a a2@12)", "0: synced 1")
	other := newReplica(t, "13", c.pod("ns/a", 12, "", "a2")) // where nobody ever heard of the first
	offering.sub.ResumeToken, offering.held = nil, map[uint64]uint64{record.HashString("a"): 1}
	offering.offers()
	offering.visit(other, "0: resumed", "0: DELETED( @13)FINAL_STATE_UNKNOWN", "0: ADDED(a a2@12)", "0: synced 1")
}

// C04, D8: nothing new and everything gone are told apart.
func TestNothingNewIsNotEverythingGone(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, ""))
	h := newHolder(t)
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	h.visit(r, "0: resumed", "0: synced 1")
	emptied := newReplica(t, "20")
	h.visit(emptied, "0: reset TOKEN_EXPIRED", "0: synced 0")
}

// C76, D8: a replica that was just started resumes what did not change for nothing, and what
// did by known versions.
func TestReplicaThatWasJustStartedResumesByContent(t *testing.T) {
	c := newCluster(t, pods)
	h := newHolder(t)
	h.visit(newReplica(t, "10", c.pod("ns/a", 1, ""), c.pod("ns/b", 2, "")),
		"0: reset NEW", "0: initial ADDED(a a@1) ADDED(b b@2)", "0: synced 2")
	fresh := newReplica(t, "500", c.pod("ns/a", 1, ""), c.pod("ns/b", 2, ""))
	h.visit(fresh, "0: resumed", "0: synced 2")
	// Nothing was told on the way, so a replica that is not as far will do.
	h.visit(newReplica(t, "10", c.pod("ns/a", 1, ""), c.pod("ns/b", 2, "")), "0: resumed", "0: synced 2")

	changed := newReplica(t, "600", c.pod("ns/a", 1, ""), c.pod("ns/b", 550, ""))
	h.onExpiry = runnelv1.OnExpired_ON_EXPIRED_FAIL
	h.refused(changed, codes.Aborted, status.ReasonTokenExpired)
	h.offers()
	h.visit(changed, "0: resumed", "0: MODIFIED(b b@550)", "0: synced 2")
	if got, want := changed.service.Counts(), (Counts{ByKnown: 1, Expired: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

// D8: on a replica where nobody held the view, it is rebuilt from recent changes.
func TestViewThatNobodyHeldIsRebuilt(t *testing.T) {
	c := newCluster(t, pods)
	objects := []*record.Record{c.pod("ns/a", 1, "x=y"), c.pod("ns/b", 2, "x=y"), c.pod("ns/c", 3, "")}
	h := newHolder(t)
	h.sub.LabelSelector = "x=y"
	h.visit(newReplica(t, "10", objects...), "0: reset NEW", "0: initial ADDED(a a@1) ADDED(b b@2)", "0: synced 2")
	other := newReplica(t, "5", objects...)
	other.source.Mark("10")
	other.source.Upsert(c.pod("ns/a", 11, ""))
	other.source.Delete(c.pod("ns/b", 12, ""))
	other.source.Upsert(c.pod("ns/c", 13, "x=y"))
	h.visit(other, "0: resumed", "0: DELETED(a a@11)LEFT_VIEW DELETED(b b@12)GONE ADDED(c c@13)", "0: synced 1")
}

// C09, C22, D2: no older state; a bounded wait, and no hot loop.
func TestReplicaThatIsBehindTheTokenWaitsAndThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		h := newHolder(t)
		h.visit(newReplica(t, "20", c.pod("ns/a", 15, "")), "0: reset NEW", "0: initial ADDED(a a@15)", "0: synced 1")
		lagging := newReplica(t, "10", c.pod("ns/a", 1, ""))
		began := time.Now()
		h.refused(lagging, codes.Unavailable, status.ReasonBehindToken)
		if waited := time.Since(began); waited != DefaultLimits().BehindWait {
			t.Errorf("waited for %v", waited)
		}
		h.offers()
		h.refused(lagging, codes.Unavailable, status.ReasonBehindToken) // not for these either
		time.AfterFunc(time.Second, func() {
			lagging.source.Upsert(c.pod("ns/a", 15, ""))
			lagging.source.Mark("20")
		})
		h.visit(lagging, "0: resumed", "0: synced 1")
	})
}

// D2: the token of another selection is no place to go on from, but still a floor.
func TestTokenOfAnotherViewIsAFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		h := newHolder(t)
		ahead := newReplica(t, "20", c.pod("ns/a", 15, "x=y"))
		h.visit(ahead, "0: reset NEW", "0: initial ADDED(a a@15)", "0: synced 1")
		h.sub.LabelSelector = "x=y"
		h.refused(newReplica(t, "10", c.pod("ns/a", 1, "x=y")), codes.Unavailable, status.ReasonBehindToken)
		h.visit(ahead, "0: reset TOKEN_EXPIRED", "0: initial ADDED(a a@15)", "0: synced 1")
		h.visit(ahead, "0: resumed", "0: synced 1")
	})
}

// C11, D8: none of these may be taken for what it is not.
func TestForeignAndDamagedTokensReset(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, ""))
	h := newHolder(t)
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	good, err := token.Parse(h.sub.ResumeToken)
	if err != nil || !good.Exact {
		t.Fatalf("token %+v, %v", good, err)
	}
	change := func(f func(*token.Token)) []byte {
		changed := good
		f(&changed)
		return changed.Encode()
	}
	for name, bad := range map[string][]byte{
		"damaged":          append([]byte{h.sub.ResumeToken[0] ^ 1}, h.sub.ResumeToken[1:]...),
		"cut":              h.sub.ResumeToken[:10],
		"no token":         []byte("no token"),
		"another view":     change(func(t *token.Token) { t.View++ }),
		"another cluster":  change(func(t *token.Token) { t.Scope++; t.Last = "99" }),
		"partial":          change(func(t *token.Token) { t.Exact, t.Watermark, t.Digest = false, "", view.Digest{} }),
		"another digest":   change(func(t *token.Token) { t.Digest.Hash++ }),
		"another count":    change(func(t *token.Token) { t.Digest.Count++ }),
		"before the start": change(func(t *token.Token) { t.Watermark, t.Digest.Hash = "3", 7 }),
		"no number":        change(func(t *token.Token) { t.Last = "abc" }), // C20
	} {
		t.Run(name, func(t *testing.T) {
			h := &holder{t: t, sub: &runnelv1.ResourceSubscription{Resource: "pods", ResumeToken: bad}, held: map[uint64]uint64{}}
			h.visit(r, "0: reset TOKEN_EXPIRED", "0: initial ADDED(a a@1)", "0: synced 1")
		})
	}
}

// C20, D9: resourceVersions without an order are equal, or nothing is known of them.
func TestResourceVersionsWithoutAnOrderAreResumedByEqualityAndContent(t *testing.T) {
	c := newCluster(t, pods)
	h := newHolder(t)
	h.visit(newReplica(t, "abc", c.pod("ns/a", 1, "")), "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	h.visit(newReplica(t, "abc", c.pod("ns/a", 1, "")), "0: resumed", "0: synced 1")
	before := h.sub.ResumeToken
	h.visit(newReplica(t, "abd", c.pod("ns/a", 1, "")), "0: reset TOKEN_EXPIRED", "0: initial ADDED(a a@1)", "0: synced 1")
	h.sub.ResumeToken = before
	h.offers()
	h.visit(newReplica(t, "abd", c.pod("ns/a", 1, "")), "0: resumed", "0: synced 1")
}

// D9: the subscriber was complete, and never saw what was there: it lived in another
// history, which the present one has overtaken.
func TestHistoryThatHasOvertakenTheTokenIsFoundOutByKnownVersions(t *testing.T) {
	c := newCluster(t, pods)
	h := newHolder(t)
	h.visit(newReplica(t, "100", c.pod("ns/a", 90, ""), c.pod("ns/b", 50, "")),
		"0: reset NEW", "0: initial ADDED(a a@90) ADDED(b b@50)", "0: synced 2")
	restored := newReplica(t, "200", c.pod("ns/a", 60, ""), c.pod("ns/b", 50, ""))
	h.offers()
	h.visit(restored, "0: reset HISTORY_REWRITTEN", "0: initial ADDED(a a@60) ADDED(b b@50)", "0: synced 2")
	h.sub.Known = nil
	h.visit(restored, "0: resumed", "0: synced 2")
}

// D9: what a replica that lags holds is older than what the subscriber saw. It never was
// told of that, for what it held was right again when it came back.
func TestReplicaThatLagsDoesNotProveAnotherHistory(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, "l=a"))
	h := newHolder(t)
	h.sub.Projection = &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: []string{"metadata.labels"}}}}
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1)", "0: synced 1")
	r.source.Upsert(c.pod("ns/a", 15, "l=b"))
	r.source.Upsert(c.pod("ns/a", 17, "l=a"))
	h.visit(r, "0: resumed", "0: synced 1")
	lagging := newReplica(t, "16", c.pod("ns/a", 15, "l=b"))
	h.offers()
	h.visit(lagging, "0: resumed", "0: MODIFIED(a a@15)", "0: synced 1")
}

// D15: who does not hold what it was sent is told the difference, and counted.
func TestCopyThatDivergedIsHealedByKnownVersions(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, ""), c.pod("ns/b", 2, ""))
	h := newHolder(t)
	h.visit(r, "0: reset NEW", "0: initial ADDED(a a@1) ADDED(b b@2)", "0: synced 2")
	h.held[record.HashString("b")]++ // a bit fell over
	h.held[record.HashString("x")] = 1
	h.offers()
	h.visit(r, "0: resumed", "0: DELETED( @10)FINAL_STATE_UNKNOWN", "0: MODIFIED(b b@2)", "0: synced 2")
	if got, want := r.service.Counts(), (Counts{Reset: 1, ByKnown: 1, Diverged: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	h.offers() // as it is
	h.visit(r, "0: resumed", "0: synced 2")
	if got, want := r.service.Counts(), (Counts{Reset: 1, ByKnown: 1, Diverged: 1, ByToken: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

// D9, live: history is another one, and nothing is taken for older.
func TestRewrittenHistoryResetsLiveStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pods)
		r := newReplica(t, "1200", c.pod("ns/a", 1100, ""), c.pod("ns/b", 900, ""))
		h := newHolder(t)
		h.visits(r, func(tp *tape) {
			r.source.Rewritten("it is said")
			tp.want("0: status STALE")
			r.source.Upsert(c.pod("ns/a", 1201, "")) // of the old informer, too late
			r.source.Follow(func() {})
			r.source.Upsert(c.pod("ns/a", 950, ""))
			r.source.Mark("1000")
			tp.withoutStatus = true // which may come before or after
			tp.want("0: reset HISTORY_REWRITTEN", "0: initial ADDED(a a@950)", "0: synced 1", "synced")
			r.source.Upsert(c.pod("ns/a", 1001, ""))
			tp.want("0: MODIFIED(a a@1001)")
		}, "0: reset NEW", "0: initial ADDED(a a@1100) ADDED(b b@900)", "0: synced 2")
		h.visit(r, "0: resumed", "0: synced 1")
	})
}

// D8, D12: what resumes does not wait for the snapshots of others.
func TestResumedResourceDoesNotWaitForSnapshots(t *testing.T) {
	c := newCluster(t, pods, nodes)
	src := c.source(pods)
	src.Upsert(c.pod("ns/a", 1, ""))
	src.Mark("1")
	c.source(nodes).Mark("1")
	client := serve(t, Config{Resolver: c, Sources: c})
	first := subscribe(t, client, request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	first.want("0: reset NEW", "0: initial ADDED(a a@1)")
	frame, err := first.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	second := subscribe(t, client, request(
		&runnelv1.ResourceSubscription{Resource: "pods", LabelSelector: "x"},
		&runnelv1.ResourceSubscription{Resource: "nodes"},
		&runnelv1.ResourceSubscription{Resource: "pods", ResumeToken: frame.GetSynced().GetResumeToken()},
	))
	second.want("0: reset NEW", "0: synced 0", "2: resumed", "2: synced 1", "1: reset NEW", "1: synced 0", "synced")
}

// D8: 200,000 known objects fit into a request.
func TestTwoHundredThousandKnownObjectsFitIntoARequest(t *testing.T) {
	c := newCluster(t, pods)
	r := newReplica(t, "10", c.pod("ns/a", 1, ""))
	h := newHolder(t)
	for i := range uint64(200_000) {
		h.held[i+1] = i
	}
	h.offers()
	stream, err := r.client.Subscribe(t.Context(), request(h.sub))
	if err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for {
		frame, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if frame.GetSynced() != nil {
			break
		}
		for _, e := range frame.GetBatch().GetEvents() {
			if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED && e.GetUidHash() != 0 && e.GetUid() == "" {
				deleted++
			} else if deleted != 200_000 || e.GetName() != "a" {
				t.Fatalf("after %d deletions: %v", deleted, e)
			}
		}
	}
	if deleted != 200_000 {
		t.Errorf("%d are deleted", deleted)
	}
}

// D8: what was cut in the middle of a snapshot holds a mixture; its token is a floor.
func TestTokenOfAnUnfinishedSnapshotIsPartial(t *testing.T) {
	c := newCluster(t, pods)
	big := strings.Repeat("x", 60)
	r := newReplicaWith(t, Config{Limits: Limits{FrameBytes: 1}}, "10", c.pod("ns/a", 1, "l="+big), c.pod("ns/b", 2, "l="+big))
	tp := subscribe(t, r.client, request(&runnelv1.ResourceSubscription{Resource: "pods"}))
	tp.want("0: reset NEW")
	frame, err := tp.stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := token.Parse(frame.GetBatch().GetResumeToken()); err != nil || tok.Exact || tok.Last != "10" {
		t.Errorf("token %+v, %v", tok, err)
	}
	h := newHolder(t)
	h.sub.ResumeToken = frame.GetBatch().GetResumeToken()
	first := frame.GetBatch().GetEvents()[0]
	other := map[string]string{"a": "b b@2", "b": "a a@1"}[first.GetName()]
	h.held[record.HashString(first.GetUid())] = first.GetVersion()
	h.onExpiry = runnelv1.OnExpired_ON_EXPIRED_FAIL
	h.refused(r, codes.Aborted, status.ReasonTokenExpired)
	h.offers()
	h.visit(r, "0: resumed", "0: ADDED("+other+")", "0: synced 2")
}
