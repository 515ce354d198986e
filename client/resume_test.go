package client

import (
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestSubscribeResumesFromTheNewestTokenOfEachResource(t *testing.T) {
	said := converse(t, twoRequest(), ignoring(),
		call{frames: frames{newReset(), with("a1", batch(true)), with("a2", synced()), with("b1", of(1, synced())), allSynced()}},
		call{frames: frames{with("a3", bookmark())}},
		call{err: status.Error(codes.Unavailable, "away")},
		call{frames: frames{with("b2", of(1, batch(false)))}})
	said.wantOffers(t, "- -", "a2 b1", "a3 b1", "a3 b1", "a3 b2")
}

// What the server sends may be anything: a token moves only on a frame that carries one
// for a resource, and that the handler took in.
func TestATokenStaysWhereNoFrameMovesIt(t *testing.T) {
	statusFrame := &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Status{Status: &runnelv1.SourceStatus{}}}
	goodbye := &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Goodbye{Goodbye: &runnelv1.Goodbye{}}}
	for _, tt := range []struct {
		name  string
		frame *runnelv1.SubscribeResponse
		err   error
	}{
		{"an error", &runnelv1.SubscribeResponse{}, status.Error(codes.Internal, "broken")},
		{"a frame of an unknown kind", &runnelv1.SubscribeResponse{}, nil},
		{"a bookmark without a token", bookmark(), nil},
		{"a batch without a token", batch(false), nil},
		{"synced without a token", synced(), nil},
		{"the overall synced, whatever it carries", with("b", allSynced()), nil},
		{"a status", statusFrame, nil},
		{"goodbye", goodbye, nil},
		{"resumed", resumed(), nil},
		{"reset", newReset(), nil},
		{"another resource", with("b", of(7, batch(false))), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := converse(t, podRequest(), ignoring(),
				call{frames: frames{newReset(), with("a", synced()), tt.frame}, err: tt.err},
				call{frames: frames{tt.frame}, err: tt.err})
			said.wantOffers(t, "-", "a", "a")
		})
	}
}

func TestNothingIsLostThatCameWithoutAToken(t *testing.T) {
	a, b, c := added("a", "1", "10", ""), added("b", "2", "11", ""), added("c", "3", "12", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("at 10", synced(a)), allSynced(), batch(false, b)}},
		call{frames: frames{resumed(), with("at 12", batch(false, b, c)), synced(a, b, c), allSynced()}})
	said.wantOffers(t, "-", "at 10 FAIL", "at 12 FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11", "ADDED c/3@12")
}

func TestATokenCountsOnlyWhenItsFrameWasTakenIn(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("right", synced(a)), allSynced(), with("wrong", bookmark(a, b))}})
	said.wantOffers(t, "-", "right+1")
}

func TestATokenIsNotTheHandlersToChange(t *testing.T) {
	said := converse(t, podRequest(), Handler{Frame: func(frame *runnelv1.SubscribeResponse) error {
		copy(frame.GetBookmark().GetResumeToken(), "xxx")
		return nil
	}}, call{frames: frames{with("abc", bookmark())}})
	said.wantOffers(t, "-", "abc")
}

func TestResumeWithNothingNewKeepsWhatIsHeld(t *testing.T) {
	a := added("a", "1", "10", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		call{frames: frames{resumed(), synced(a), allSynced()}})
	said.wantOffers(t, "-", "t FAIL", "t FAIL")
	r.wantTold(t, "ADDED a/1@10 initial")
	wantHeld(t, r, a)
}

func TestWhatHasNoTokenIsOfferedByVersion(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a)}}, // breaks off
		call{frames: frames{resumed(), batch(false, b), with("t", synced(a, b)), allSynced()}})
	said.wantOffers(t, "-", "+1", "t FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11")
	// A new subscription knows no token.
	said = converse(t, podRequest(), keeping(r))
	said.wantOffers(t, "+2")
}

func TestTheCallersTokenIsTheFirst(t *testing.T) {
	request := twoRequest()
	request.Resources[1].ResumeToken = []byte("kept")
	said := converse(t, request, ignoring(), call{frames: frames{newReset(), of(1, resumed()), with("next", of(1, synced()))}})
	said.wantOffers(t, "- kept", "- next")
	if string(request.GetResources()[1].GetResumeToken()) != "kept" {
		t.Error("the caller's request was changed")
	}
}

func TestAReplicaBehindTheTokenIsWaitedForAndLeft(t *testing.T) {
	a := added("a", "1", "10", "")
	behind := withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: "BEHIND_TOKEN", Domain: "runnel.v1"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(2 * time.Second)})
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}},
		call{err: behind}, call{err: expired()}, call{err: behind})
	said.wantOffers(t, "-", "t FAIL", "t FAIL", "t+1", "t+1")
	wantDelays(t, said.interruptions, 100*time.Millisecond, 3*time.Second, 100*time.Millisecond, 3*time.Second)
	if said.connections != 3 {
		t.Errorf("%d connections, want a new one after each replica that was behind", said.connections)
	}
}

// A token of the old history would keep every replica of the new one waiting.
func TestATokenOfAHistoryThatWasRewrittenIsForgotten(t *testing.T) {
	a, b := added("a", "1", "10", ""), added("b", "2", "11", "")
	restored := modified("a", "1", "5", "restored")
	r := newRecorder(t)
	said := converse(t, podRequest(), keeping(r),
		call{frames: frames{newReset(), batch(true, a, b), with("t", synced(a, b)), allSynced(),
			resetFrame(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN), batch(true, restored)}},
		call{frames: frames{resumed(), batch(false, forgotten("2", "6")), with("u", synced(restored)), allSynced()}})
	said.wantOffers(t, "-", "+2", "u FAIL")
	r.wantTold(t, "ADDED a/1@10 initial", "ADDED b/2@11 initial", "MODIFIED a/1@5 initial", "DELETED b/2@6 final-state-unknown")
}

// A server from before there was resume, or one that takes fewer known versions, still
// serves the request itself.
func TestARequestIsRefusedForGoodOnlyWithoutAnOffer(t *testing.T) {
	a := added("a", "1", "10", "")
	first := call{frames: frames{newReset(), batch(true, a), with("t", synced(a)), allSynced()}}
	for _, refusal := range []error{
		status.Error(codes.Unimplemented, "resources[0].resume_token"),
		status.Error(codes.InvalidArgument, "resources[0].resume_token"),
		withDetails(codes.ResourceExhausted, &errdetails.BadRequest{}),
		status.Error(codes.ResourceExhausted, "grpc: received message larger than max"),
	} {
		r := newRecorder(t)
		said := converse(t, podRequest(), keeping(r), first, call{err: refusal}, first)
		said.wantOffers(t, "-", "t FAIL", "-", "t FAIL")
	}
	for _, tt := range []struct {
		first frames
		err   error
		calls int
	}{
		{nil, status.Error(codes.InvalidArgument, ""), 1},
		{first.frames, status.Error(codes.InvalidArgument, ""), 3},
		{first.frames, status.Error(codes.PermissionDenied, ""), 2},
	} {
		r := newRecorder(t)
		c, fake, stop := newFake(t, func(n int, _ *runnelv1.SubscribeRequest, stream stream) error {
			if n > 0 || tt.first == nil {
				return tt.err
			}
			for _, frame := range tt.first {
				if err := stream.Send(frame); err != nil {
					return err
				}
			}
			return io.EOF
		}, WithBackoff(1, 1))
		err := c.Subscribe(t.Context(), podRequest(), keeping(r))
		stop()
		if calls, _ := fake.counts(); status.Code(err) != status.Code(tt.err) || calls != tt.calls {
			t.Errorf("%v after %d calls, want %v after %d", err, calls, tt.err, tt.calls)
		}
	}
}

func TestSubscribeRefusesWhatIsItsOwn(t *testing.T) {
	c, fake, stop := newFake(t, nil)
	defer stop()
	known, onExpired := podRequest(), podRequest()
	known.Resources[0].Known = make([]byte, 16)
	onExpired.OnExpired = runnelv1.OnExpired_ON_EXPIRED_SNAPSHOT
	for field, request := range map[string]*runnelv1.SubscribeRequest{"resources[0].known": known, "on_expired": onExpired} {
		err := c.Subscribe(t.Context(), request, ignoring())
		if err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if calls, _ := fake.counts(); calls != 0 {
		t.Errorf("the server was called %d times", calls)
	}
}

func TestNewReplicaRefusesTokens(t *testing.T) {
	request := twoRequest()
	request.Resources[1].ResumeToken = []byte("t")
	if _, err := NewReplica(request, nil); err == nil || !strings.HasPrefix(err.Error(), "resources[1].resume_token: ") {
		t.Errorf("got %v", err)
	}
}
