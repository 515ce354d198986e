package watch

import (
	"regexp"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// wantText compares with a pattern, as delays vary.
func wantText(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("%s\n%s\nwant\n%s", what, got, pattern)
	}
}

func wantResource(t *testing.T, request *runnelv1.SubscribeRequest, token string, known int, onExpired runnelv1.OnExpired) {
	t.Helper()
	r := request.GetResources()[0]
	if string(r.GetResumeToken()) != token || len(r.GetKnown()) != 16*known || request.GetOnExpired() != onExpired {
		t.Errorf("token %q, %d known, %v; want %q, %d, %v", r.GetResumeToken(), len(r.GetKnown())/16, request.GetOnExpired(), token, known, onExpired)
	}
}

func TestTheTableGoesOnWhereTheStreamIsResumed(t *testing.T) {
	a, b := pod("a", "10", `{}`), pod("b", "11", `{}`)
	s := &eventServer{streams: streams{
		{reset(), events(true, a, b), syncedAt("t", digestOf(t, a, b))},
		{resumed(), events(false, podLeft("b", "12")), syncedAt("u", digestOf(t, a)), allSynced()},
	}}
	code, stdout, stderr := run(t, "cm", "--insecure", "--until-synced", "-l", "app=web", "--server", s.start(t))
	want := `
EVENT               NAMESPACE   NAME   DATA   AGE
ADDED               web         a      0      <unknown>
ADDED               web         b      0      <unknown>
# synced configmaps: 2 objects
DELETED left-view   web         b      0      <unknown>
`
	if code != 0 || stdout != want[1:] {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want[1:])
	}
	wantText(t, "stderr", stderr, `runnel: stream ended: the server ended the stream; subscribing again in \d+m?s
runnel: connected
runnel: resumed configmaps
`)
	wantResource(t, s.requests[1], "t", 0, runnelv1.OnExpired_ON_EXPIRED_FAIL)
}

func TestTheTableShowsTheDifferenceWhereTheTokenHasExpired(t *testing.T) {
	a, b := pod("a", "10", `{}`), pod("b", "11", `{}`)
	expired, err := status.New(codes.Aborted, "expired").WithDetails(&errdetails.ErrorInfo{Reason: "TOKEN_EXPIRED", Domain: "runnel.v1"})
	if err != nil {
		t.Fatal(err)
	}
	s := &eventServer{
		streams: streams{
			{reset(), events(true, a), syncedAt("t", digestOf(t, a))},
			{},
			{resumed(), events(false, b), syncedWith(digestOf(t, a, b)), allSynced()},
		},
		endings: map[int]error{1: expired.Err()},
	}
	code, stdout, stderr := run(t, "cm", "--insecure", "--until-synced", "--server", s.start(t))
	want := `
EVENT          NAMESPACE   NAME   DATA   AGE
ADDED          web         a      0      <unknown>
# synced configmaps: 1 object
ADDED          web         b      0      <unknown>
`
	if code != 0 || stdout != want[1:] {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want[1:])
	}
	wantText(t, "stderr", stderr, `runnel: stream ended: the server ended the stream; subscribing again in \d+m?s
runnel: the resume token has expired; asking for the difference in \d+m?s
runnel: connected
runnel: resumed configmaps
`)
	wantResource(t, s.requests[2], "t", 1, runnelv1.OnExpired_ON_EXPIRED_UNSPECIFIED)
}

// What is not kept cannot be offered: the server resumes by token, or sends everything.
func TestJSONLinesGoOnWhereTheStreamIsResumed(t *testing.T) {
	a, b := pod("a", "10", `{}`), pod("b", "11", `{}`)
	s := &eventServer{streams: streams{
		{reset(), events(true, a), syncedAt("t", nil)},
		{resumed(), events(false, b), syncedWith(nil), allSynced()},
	}}
	code, stdout, _ := run(t, "pods", "--insecure", "--until-synced", "-o", "json", "--server", s.start(t))
	want := `
{"type":"RESET","resource":"pods","reason":"NEW"}
{"type":"ADDED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"10","initial":true,"object":{}}
{"type":"SYNCED","resource":"pods"}
{"type":"RESUMED","resource":"pods"}
{"type":"ADDED","resource":"pods","namespace":"web","name":"b","uid":"uid-b","resourceVersion":"11","object":{}}
{"type":"SYNCED","resource":"pods"}
{"type":"SYNCED"}
`
	if code != 0 || stdout != want[1:] {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want[1:])
	}
	wantResource(t, s.requests[1], "t", 0, runnelv1.OnExpired_ON_EXPIRED_UNSPECIFIED)
}
