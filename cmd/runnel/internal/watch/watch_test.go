package watch

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type streams = [][]*runnelv1.SubscribeResponse

func TestWatchShowsATable(t *testing.T) {
	a, b := pod("a", "10", `{"spec":{"containers":[{}]},"status":{"phase":"Pending"}}`), pod("b", "11", `{"status":{"phase":"Running"}}`)
	s := &eventServer{streams: streams{{reset(), events(true, a, b), syncedWith(digestOf(t, a, b)), events(false, podLeft("b", "12")),
		bookmarkWith(digestOf(t, a)), allSynced()}}}
	code, stdout, stderr := run(t, "pods.v1", "--insecure", "--until-synced", "--server", s.start(t))
	want := `
EVENT          NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE
ADDED          web         a      0/1     Pending   0          <unknown>
ADDED          web         b      0/0     Running   0          <unknown>
# synced pods.v1: 2 objects
DELETED left-view   web         b      0/0     Running   0          <unknown>
`
	if code != 0 || stderr != "" || stdout != want[1:] {
		t.Errorf("exit code %d, stderr %q, stdout\n%s\nwant\n%s", code, stderr, stdout, want[1:])
	}
}

func TestWatchShowsJSONLinesWithTheServersBytes(t *testing.T) {
	a := pod("a", "10", `{"big":9007199254740993,"html":"<&>","e":1.0}`)
	d := digestOf(t, a)
	d.Hash = 0xabc // nobody checks
	s := &eventServer{streams: streams{{reset(), events(true, a), syncedWith(d), events(false, podLeft("a", "12")), bookmarkWith(nil),
		{Frame: &runnelv1.SubscribeResponse_Status{Status: &runnelv1.SourceStatus{State: runnelv1.SourceState_SOURCE_STATE_STALE, Message: "away"}}},
		{Frame: &runnelv1.SubscribeResponse_Goodbye{Goodbye: &runnelv1.Goodbye{Reason: runnelv1.GoodbyeReason_GOODBYE_REASON_DRAINING, RetryAfterMs: 5}}},
		allSynced()}}}
	code, stdout, _ := run(t, "pods", "--insecure", "--until-synced", "--bookmarks", "-o", "json", "--server", s.start(t))
	want := `
{"type":"RESET","resource":"pods","reason":"NEW"}
{"type":"ADDED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"10","initial":true,"object":{"big":9007199254740993,"html":"<&>","e":1.0}}
{"type":"SYNCED","resource":"pods","objects":1,"digest":"0000000000000abc"}
{"type":"DELETED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"12","reason":"left-view"}
{"type":"BOOKMARK","resource":"pods","resourceVersion":"12"}
{"type":"STATUS","resource":"pods","state":"STALE","message":"away"}
{"type":"GOODBYE","reason":"DRAINING","retryAfterMs":5}
{"type":"SYNCED"}
`
	if code != 0 || stdout != want[1:] {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want[1:])
	}
}

func TestWatchShowsNames(t *testing.T) {
	node := pod("n", "10", `{}`)
	node.Namespace = ""
	s := &eventServer{streams: streams{{reset(), events(true, pod("a", "10", `{}`), node), allSynced()}}}
	code, stdout, _ := run(t, "things.v1.example.com", "--insecure", "--until-synced", "-o", "name", "--server", s.start(t))
	if want := "things.v1.example.com/web/a\nthings.v1.example.com/n\n"; code != 0 || stdout != want {
		t.Errorf("exit code %d, stdout %q, want %q", code, stdout, want)
	}
}

func TestWatchAsksForWhatTheFlagsSay(t *testing.T) {
	s := &eventServer{streams: streams{{allSynced()}}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	code, _, stderr := run(t, "pods,deployments.v1.apps", "--insecure", "--until-synced", "-n", "a,b", "--namespace=c",
		"--name", "x", "-l", "app in (a,b)", "--projection", "metadata", "--bookmark-interval", "5s")
	if code != 0 {
		t.Fatal(stderr)
	}
	metadata := &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{MetadataOnly: &runnelv1.MetadataOnly{}}}
	want := &runnelv1.SubscribeRequest{
		FailFast: true, BookmarkInterval: durationpb.New(5 * time.Second),
		Resources: []*runnelv1.ResourceSubscription{
			{Resource: "pods", Namespaces: []string{"a", "b", "c"}, Names: []string{"x"}, LabelSelector: "app in (a,b)", Projection: metadata},
			{Group: "apps", Version: "v1", Resource: "deployments",
				Namespaces: []string{"a", "b", "c"}, Names: []string{"x"}, LabelSelector: "app in (a,b)", Projection: metadata},
		},
	}
	if !proto.Equal(s.requests[0], want) {
		t.Errorf("request\n%v\nwant\n%v", s.requests[0], want)
	}
}

func TestWatchVerifies(t *testing.T) {
	a, b := pod("a", "10", `{}`), pod("b", "11", `{}`)
	corrupt := pod("a", "10", `{}`)
	corrupt.Version++
	good := []*runnelv1.SubscribeResponse{reset(), events(true, a, b), syncedWith(digestOf(t, a, b)), allSynced()}
	for _, tt := range []struct {
		name           string
		streams        streams
		code           int
		stdout, stderr string // parts
	}{
		{"all is right", streams{good}, 0, "# synced pods: 2 objects, verified\n", ""},
		{"the digest comes after synced", streams{{reset(), events(true, a, b), syncedWith(nil), allSynced(), bookmarkWith(digestOf(t, a, b))}},
			0, "# synced pods\n", ""},
		{"an object is missing", streams{{reset(), events(true, a), syncedWith(digestOf(t, a, b))}, good},
			1, "# synced pods: 2 objects, verified\n", "runnel: what the server sent proved wrong (1)\n"},
		{"an object is missing, and comes with the difference", streams{{reset(), events(true, a), syncedAt("t", digestOf(t, a, b))},
			{resumed(), events(false, b), syncedWith(digestOf(t, a, b)), allSynced()}},
			1, "# synced pods: 2 objects, verified\n", "; putting it right in "},
		{"an object is corrupt", streams{{reset(), events(true, corrupt)}, good},
			1, "# synced pods: 2 objects, verified\n", "object does not match its version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &eventServer{streams: tt.streams}
			code, stdout, stderr := run(t, "pods", "--insecure", "--until-synced", "--verify", "--server", s.start(t))
			if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
			}
			if n := strings.Count(stdout, "ADDED"); n != 2 {
				t.Errorf("%d objects were shown as ADDED, want each once", n)
			}
		})
	}
}

func TestWatchSubscribesAgain(t *testing.T) {
	a := pod("a", "10", `{}`)
	s := &eventServer{streams: streams{{reset(), events(true, a)}, {reset(), events(true, a), allSynced()}}}
	code, stdout, stderr := run(t, "pods", "--insecure", "--until-synced", "-o", "name", "--server", s.start(t))
	if code != 0 || stdout != "pods/web/a\npods/web/a\n" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	if !strings.HasPrefix(stderr, "runnel: stream ended: the server ended the stream; subscribing again in ") ||
		!strings.HasSuffix(stderr, "\nrunnel: connected\n") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestWatchVerifiesEachStreamAnew(t *testing.T) {
	a := pod("a", "10", `{}`)
	s := &eventServer{streams: streams{
		{reset(), events(true, a), syncedWith(digestOf(t, a))},
		{reset(), events(true, a), syncedWith(nil), allSynced(), bookmarkWith(digestOf(t, a))},
	}}
	code, stdout, stderr := run(t, "pods", "--insecure", "--until-synced", "--verify", "--bookmarks", "--server", s.start(t))
	if code != 0 || !strings.HasSuffix(stdout, "# bookmark pods: 1 object, at 12, verified\n") {
		t.Errorf("exit code %d, stderr %q; stdout does not end with the bookmark:\n%s", code, stderr, stdout)
	}
}

func TestWatchFailsInOneLine(t *testing.T) {
	refusing := func(code codes.Code, message string, details ...protoadapt.MessageV1) string {
		s, err := status.New(code, message).WithDetails(details...)
		if err != nil {
			t.Fatal(err)
		}
		return (&eventServer{streams: streams{{}}, err: s.Err()}).start(t)
	}
	invalid := refusing(codes.InvalidArgument, "2 problems", &errdetails.ErrorInfo{Reason: "INVALID_FIELD"},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "resources[0].label_selector", Description: "found '='"}, {Field: "delta", Description: "no"},
		}})
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"pods", "--server", invalid, "--insecure"}, "invalid argument: resources[0].label_selector: found '='; delta: no"},
		{[]string{"pods", "--server", refusing(codes.NotFound, "line one\nline two", &errdetails.ErrorInfo{Reason: "UNKNOWN_RESOURCE"}), "--insecure"},
			"not found: line one line two (UNKNOWN_RESOURCE)"},
		{[]string{"pods", "--server", refusing(codes.PermissionDenied, "no"), "--insecure"}, "permission denied: no"},
		{[]string{}, "which resource? For example: runnel watch pods"},
		{[]string{"pods,"}, `resource "": want a form like pods, deployments.apps or deployments.v1.apps`},
		{[]string{"pods/web", "web-1"}, `"web-1": names follow their resource, or each stands as RESOURCE/NAME`},
		{[]string{"pods/web", "--name", "web-1"}, `"pods/web": names follow their resource, or each stands as RESOURCE/NAME`},
		{[]string{"pods", "-o", "yaml"}, `--output: "yaml" is not one of wide, name, json, jsonpath= and custom-columns=`},
		{[]string{"pods", "--projection", "half"}, `--projection: "half" is neither whole nor metadata`},
		{[]string{"pods", "-o", "jsonpath={.a"}, `--output: jsonpath "{.a": unclosed action`},
		{[]string{"pods", "-o", "custom-columns=NAME"}, `--output: column "NAME": want a form like NODE:.spec.nodeName`},
		{[]string{"pods", "--projection", "whole", "--path", "a"}, "--projection and --path exclude each other"},
		{[]string{"pods", "-A", "-n", "web"}, "--all-namespaces and --namespace exclude each other"},
		{[]string{"pods", "--color", "blue"}, `--color: "blue" is not one of auto, always and never`},
		{[]string{"pods", "--show-patch", "-o", "name"}, "--show-patch: --output name has no place for it"},
		{[]string{"pods", "--insecure", "--token-file", "x"}, "plaintext and credentials exclude each other"},
		{[]string{"pods", "--no-such-flag"}, "unknown flag: --no-such-flag"},
	} {
		code, stdout, stderr := run(t, tt.args...)
		if code != 1 || stderr != "runnel: "+tt.want+"\n" {
			t.Errorf("watch %q: exit code %d, stderr %q, want %q", tt.args, code, stderr, tt.want)
		}
		if strings.Contains(stdout, "Usage") {
			t.Errorf("watch %q: the usage is in the way of the error", tt.args)
		}
	}
}

func TestWatchEndsWhenItsTimeIsUp(t *testing.T) {
	s := &eventServer{streams: streams{{reset()}}}
	server := s.start(t)
	if code, _, stderr := run(t, "pods", "--insecure", "--for", "50ms", "--server", server); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr := run(t, "pods", "--insecure", "--for", "50ms", "--until-synced", "--server", server)
	if want := "runnel: not synced: the time of --for is up\n"; code != 1 || stderr != want {
		t.Errorf("exit code %d, stderr %q, want %q", code, stderr, want)
	}
}

func TestWatchSaysThatTheServerCannotBeReached(t *testing.T) {
	plaintext := (&eventServer{streams: streams{{}}}).start(t)
	for _, tt := range []struct {
		args         []string
		prefix, hint string
	}{
		{[]string{"--insecure", "--server", "127.0.0.1:1"},
			"runnel: cannot reach server at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; retrying in ", ""},
		{[]string{"--server", plaintext}, "runnel: cannot reach server at " + plaintext + ": tls: ", "use --insecure"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stderr := &cancelingWriter{cancel: cancel}
		code := runTo(ctx, io.Discard, stderr, append([]string{"pods"}, tt.args...)...)
		if code != 0 || !strings.HasPrefix(stderr.String(), tt.prefix) || !strings.Contains(stderr.String(), tt.hint) {
			t.Errorf("exit code %d, stderr %q, want one line that begins with %q and says %q", code, stderr, tt.prefix, tt.hint)
		}
	}
}

// cancelingWriter cancels when something was written, as a person would press Ctrl-C.
type cancelingWriter struct {
	strings.Builder
	cancel context.CancelFunc
}

func (w *cancelingWriter) Write(p []byte) (int, error) {
	w.cancel()
	return w.Builder.Write(p)
}

func TestWatchEndsQuietlyWhenNobodyReadsItsOutput(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	s := &eventServer{streams: streams{{reset(), events(true, pod("a", "10", `{}`))}}}
	var stderr strings.Builder
	code := runTo(t.Context(), writer, &stderr, "pods", "--insecure", "--server", s.start(t))
	if code != 0 || stderr.String() != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

func TestHelpTeachesByExample(t *testing.T) {
	code, stdout, _ := run(t, "--help")
	for _, want := range []string{"# All Pods", "watch pods --insecure", "--until-synced", "$RUNNEL_SERVER", "localhost:7443"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d; the help does not say %q", code, want)
		}
	}
}
