package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// call is a stream: its frames, and how it ends.
type call struct {
	frames frames
	err    error
}

// conversation is what was said in a subscription.
type conversation struct {
	// offers are those of the requests: for each resource the token, "+" and the number
	// of known versions, or "-"; and FAIL, if an expired token is to fail.
	offers        []string
	requests      []*runnelv1.SubscribeRequest
	interruptions []Interruption
	connections   int
}

// converse subscribes with the longest jitter. The server plays the calls, a stream
// each, and refuses the one after the last.
func converse(t *testing.T, request *runnelv1.SubscribeRequest, handler Handler, calls ...call) (said conversation) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, fake, stop := newFake(t, func(n int, request *runnelv1.SubscribeRequest, stream stream) error {
			said.requests = append(said.requests, request)
			said.offers = append(said.offers, offerOf(request))
			if n == len(calls) {
				return status.Error(codes.NotFound, "the end")
			}
			for _, frame := range calls[n].frames {
				if err := stream.Send(frame); err != nil {
					return err
				}
			}
			return calls[n].err
		}, longest)
		defer stop()
		handler.Interrupted = func(i Interruption) { said.interruptions = append(said.interruptions, i) }
		if err := c.Subscribe(t.Context(), request, handler); status.Code(err) != codes.NotFound {
			t.Errorf("Subscribe: %v, want the end", err)
		}
		_, said.connections = fake.counts()
	})
	return said
}

func (c *conversation) wantOffers(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.offers, want) {
		t.Errorf("offers %q, want %q", c.offers, want)
	}
}

func offerOf(request *runnelv1.SubscribeRequest) string {
	var all []string
	for _, r := range request.GetResources() {
		offer := string(r.GetResumeToken())
		if n := len(r.GetKnown()); n > 0 {
			offer += fmt.Sprintf("+%d", n/16)
		}
		if offer == "" {
			offer = "-"
		}
		all = append(all, offer)
	}
	switch request.GetOnExpired() {
	case runnelv1.OnExpired_ON_EXPIRED_FAIL:
		all = append(all, "FAIL")
	case runnelv1.OnExpired_ON_EXPIRED_SNAPSHOT:
		all = append(all, "SNAPSHOT")
	}
	return strings.Join(all, " ")
}

func keeping(r *recorder) Handler { return Handler{Frame: r.Apply, Known: r.Known} }

func ignoring() Handler {
	return Handler{Frame: func(*runnelv1.SubscribeResponse) error { return nil }}
}

func twoRequest() *runnelv1.SubscribeRequest {
	return &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{Resource: "pods"}, {Resource: "nodes"}}}
}

// with puts a token on a frame.
func with(token string, frame *runnelv1.SubscribeResponse) *runnelv1.SubscribeResponse {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		f.Batch.ResumeToken = []byte(token)
	case *runnelv1.SubscribeResponse_Synced:
		f.Synced.ResumeToken = []byte(token)
	case *runnelv1.SubscribeResponse_Bookmark:
		f.Bookmark.ResumeToken = []byte(token)
	}
	return frame
}

// of makes a frame one of another resource.
func of(resource uint32, frame *runnelv1.SubscribeResponse) *runnelv1.SubscribeResponse {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		f.Batch.Resource = resource
	case *runnelv1.SubscribeResponse_Synced:
		f.Synced.Resource = &resource
	case *runnelv1.SubscribeResponse_Bookmark:
		f.Bookmark.Resource = resource
	case *runnelv1.SubscribeResponse_Reset_:
		f.Reset_.Resource = resource
	case *runnelv1.SubscribeResponse_Resumed:
		f.Resumed.Resource = resource
	}
	return frame
}

func resumed() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Resumed{Resumed: &runnelv1.Resumed{}}}
}

func expired() error {
	return withDetails(codes.Aborted, &errdetails.ErrorInfo{Reason: "TOKEN_EXPIRED", Domain: "runnel.v1"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "resources[0].resume_token"}}})
}

// sortedPairs is known, in the order of its UID hashes.
func sortedPairs(known []byte) (pairs []string) {
	for pair := range slices.Chunk(known, 16) {
		pairs = append(pairs, string(pair))
	}
	slices.Sort(pairs)
	return pairs
}

// wantHeld compares all that the replica holds of resource 0.
func wantHeld(t *testing.T, r *recorder, states ...*runnelv1.Event) {
	t.Helper()
	if got, want := r.Digest(0), digestOf(digestOfStates(states)); got != want {
		t.Errorf("digest %v, want %v", got, want)
	}
	for _, e := range states {
		if object, _ := r.Object(0, e.GetNamespace(), e.GetName()); string(object) != e.GetObjectJson() {
			t.Errorf("%s is %s, want %s", e.GetName(), object, e.GetObjectJson())
		}
	}
}

// forgotten is the deletion of an object of which the server knows the UID's hash only.
func forgotten(uid, resourceVersion string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_DELETED, UidHash: uidHash(uid), ResourceVersion: resourceVersion,
		Reason: runnelv1.DeletionReason_DELETION_REASON_FINAL_STATE_UNKNOWN,
	}
}
