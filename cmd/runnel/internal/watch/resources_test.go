package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

const widgetDefinition = `{"spec":{"group":"example.com","names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wi","po"]},
"scope":"Cluster","versions":[{"name":"v1","served":true,"additionalPrinterColumns":[
{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Colour","type":"string","jsonPath":".spec.colour","priority":1}]}]}}`

func TestNamesAreAskedForAsWhatTheyMean(t *testing.T) {
	s := &eventServer{streams: streams{{allSynced()}}, definitions: []string{widgetDefinition}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	for _, tt := range []struct{ args, want string }{
		{"po", "pods/ns"},
		{"Deployment", "deployments.apps/ns"},
		{"deploy.v1.apps,SVC,no", "deployments.v1.apps/ns services/ns nodes"},
		{"po,pods", "pods/ns"},
		{"po a b", "pods/ns:a,b"},
		{"pod/a po/b deploy/c", "pods/ns:a,b deployments.apps/ns:c"},
		{"wi", "widgets.example.com"},
		{"widgets.v1.example.com x", "widgets.v1.example.com:x"},
		{"Widget,ns", "widgets.example.com namespaces"},
		{"po,wi", "pods/ns widgets.example.com"}, // built-ins first
		{"unknown.example.org", "unknown.example.org/ns"},
	} {
		args := append(strings.Fields(tt.args), "--insecure", "--until-synced", "-n", "ns", "-o", "json")
		code, _, stderr := run(t, args...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", tt.args, code, stderr)
			continue
		}
		var got []string
		for _, r := range s.requests[len(s.requests)-1].GetResources() {
			text := r.GetResource()
			for _, part := range []string{r.GetVersion(), r.GetGroup()} {
				if part != "" {
					text += "." + part
				}
			}
			if len(r.GetNamespaces()) > 0 {
				text += "/" + strings.Join(r.GetNamespaces(), ",")
			}
			if len(r.GetNames()) > 0 {
				text += ":" + strings.Join(r.GetNames(), ",")
			}
			got = append(got, text)
		}
		if want := strings.Fields(tt.want); !slices.Equal(got, want) {
			t.Errorf("%s: asked for %q, want %q", tt.args, got, want)
		}
	}
}

func TestCustomResourcesHaveTheColumnsOfTheirDefinition(t *testing.T) {
	w := pod("w", "7", `{"spec":{"size":9007199254740993,"colour":"red"}}`)
	w.Namespace = ""
	s := &eventServer{streams: streams{{events(true, w), allSynced()}}, definitions: []string{widgetDefinition}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	_, stdout, _ := run(t, "wi", "--insecure", "--until-synced")
	if want := "EVENT          NAME   SIZE\nADDED          w      9007199254740993\n"; stdout != want {
		t.Errorf("got\n%s\nwant\n%s", stdout, want)
	}
	_, stdout, _ = run(t, "wi", "--insecure", "--until-synced", "-o", "wide")
	if want := "EVENT          NAME   SIZE               COLOUR   RV\nADDED          w      9007199254740993   red      7\n"; stdout != want {
		t.Errorf("wide:\n%s\nwant\n%s", stdout, want)
	}
}

func TestDefinitionsOutliveTheStreamThatBroughtThem(t *testing.T) {
	definition, w := pod("crd", "1", widgetDefinition), pod("w", "7", `{"spec":{"size":1}}`)
	definition.Namespace, w.Namespace = "", ""
	s := &eventServer{
		streams: streams{
			{reset(), events(true, definition), syncedAt("t", nil)},
			{resumed(), syncedWith(nil), allSynced()},
			{events(true, w), allSynced()},
		},
		endings: map[int]error{0: status.Error(codes.Unavailable, "the connection is gone")},
	}
	code, stdout, _ := run(t, "wi", "--insecure", "--until-synced", "--server", s.start(t))
	if want := "EVENT          NAME   SIZE\nADDED          w      1\n"; code != 0 || stdout != want {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want)
	}
}

// Nobody needs the right to read definitions, or a new server, to watch something.
func TestCustomResourcesDoWithoutTheirDefinition(t *testing.T) {
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unimplemented, codes.Internal} {
		w := pod("w", "7", `{"spec":{"size":1}}`)
		s := &eventServer{streams: streams{{events(true, w), allSynced()}}, definitionsErr: status.Error(code, "no")}
		exit, stdout, stderr := run(t, "widgets.example.com", "--insecure", "--until-synced", "--server", s.start(t))
		if want := "EVENT          NAMESPACE   NAME   AGE\nADDED          web         w      <unknown>\n"; exit != 0 || stdout != want {
			t.Errorf("%v: exit code %d, stdout\n%s\nwant\n%s", code, exit, stdout, want)
		}
		if want := "runnel: custom resource definitions cannot be read, so names must be plurals: " + words(code) + ": no\n"; stderr != want {
			t.Errorf("%v: stderr %q, want %q", code, stderr, want)
		}
	}
}

func TestBuiltinResourcesNeedNoDefinitions(t *testing.T) {
	s := &eventServer{streams: streams{{allSynced()}}, definitionsErr: status.Error(codes.Internal, "nobody was to ask")}
	if code, _, stderr := run(t, "po,deploy,crd", "--insecure", "--until-synced", "--server", s.start(t)); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestDefinitionsThatCannotBeHadInTimeEndTheWatchWithIt(t *testing.T) {
	code, _, stderr := run(t, "wi", "--insecure", "--for", "50ms", "--until-synced", "--server", "127.0.0.1:1")
	if code != 1 || !strings.HasSuffix(stderr, "runnel: not synced: the time of --for is up\n") || !strings.HasPrefix(stderr, "runnel: cannot reach server") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestWatchAsksTheServerToSelect(t *testing.T) {
	s := &eventServer{streams: streams{{allSynced()}}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	for _, tt := range []struct {
		args []string
		want *runnelv1.SubscribeRequest
	}{
		{[]string{"--field", "spec.nodeName=n1", "--path", "status.phase", "--path", "a['b,c']", "--ignore", "status", "--ignore", "metadata",
			"--min-interval", "1s", "--show-patch"},
			&runnelv1.SubscribeRequest{Delta: runnelv1.DeltaMode_DELTA_MODE_PATCH, MinInterval: durationpb.New(time.Second),
				Resources: []*runnelv1.ResourceSubscription{{
					FieldSelector: "spec.nodeName=n1", IgnorePaths: []string{"status", "metadata"},
					Projection: &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: []string{"status.phase", "a['b,c']"}}}},
				}}}},
		{[]string{"--field-selector", "a=b"},
			&runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{FieldSelector: "a=b"}}}},
		{[]string{"-o", "name"}, &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{
			Projection: &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{MetadataOnly: &runnelv1.MetadataOnly{}}},
		}}}},
		{[]string{"-o", "name", "--projection", "whole", "-A"}, &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{}}}},
	} {
		if code, _, stderr := run(t, append(tt.args, "pods", "--insecure", "--until-synced")...); code != 0 {
			t.Fatal(stderr)
		}
		tt.want.FailFast = true
		tt.want.Resources[0].Resource = "pods"
		if got := s.requests[len(s.requests)-1]; !proto.Equal(got, tt.want) {
			t.Errorf("%q: request\n%v\nwant\n%v", tt.args, got, tt.want)
		}
	}
}
