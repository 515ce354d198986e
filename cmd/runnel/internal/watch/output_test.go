package watch

import (
	"testing"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// patchOf is the change from one state to the next.
func patchOf(before, after *runnelv1.Event, patch string) *runnelv1.Event {
	return &runnelv1.Event{
		Type: runnelv1.EventType_EVENT_TYPE_MODIFIED, Namespace: after.GetNamespace(), Name: after.GetName(), Uid: after.GetUid(),
		ResourceVersion: after.GetResourceVersion(), BaseVersion: before.GetVersion(), Version: after.GetVersion(),
		Payload: &runnelv1.Event_MergePatchJson{MergePatchJson: patch},
	}
}

func patchStream() *eventServer {
	before := pod("a", "10", `{"metadata":{"name":"a","resourceVersion":"10"},"spec":{"big":9007199254740993},"status":{"phase":"Pending"}}`)
	after := pod("a", "11", `{"metadata":{"name":"a","resourceVersion":"11"},"spec":{"big":9007199254740993},"status":{"phase":"Running","podIP":"10.0.0.1"}}`)
	return &eventServer{streams: streams{{reset(), events(true, before), syncedWith(nil),
		events(false, patchOf(before, after, `{"metadata":{"resourceVersion":"11"},"status":{"phase":"Running","podIP":"10.0.0.1"}}`)),
		events(false, podLeft("a", "12")), allSynced()}}}
}

func TestShowPatchSaysWhatChanged(t *testing.T) {
	s := patchStream()
	code, stdout, stderr := run(t, "pods", "--insecure", "--until-synced", "--show-patch", "--server", s.start(t))
	want := `
EVENT          NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE
ADDED          web         a      0/0     Pending   0          <unknown>
# synced pods
MODIFIED       web         a      0/0     Running   0          <unknown>
    status.phase: Pending → Running
    status.podIP: (none) → 10.0.0.1
DELETED left-view   web         a      0/0     Running   0          <unknown>
`
	if code != 0 || stderr != "" || stdout != want[1:] {
		t.Errorf("exit code %d, stderr %q, stdout\n%s\nwant\n%s", code, stderr, stdout, want[1:])
	}
}

func TestShowPatchShowsPatchesAsJSONAsTheyCame(t *testing.T) {
	s := patchStream()
	code, stdout, _ := run(t, "pods", "--insecure", "--until-synced", "--show-patch", "-o", "json", "--server", s.start(t))
	want := `
{"type":"RESET","resource":"pods","reason":"NEW"}
{"type":"ADDED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"10","initial":true,"object":{"metadata":{"name":"a","resourceVersion":"10"},"spec":{"big":9007199254740993},"status":{"phase":"Pending"}}}
{"type":"SYNCED","resource":"pods"}
{"type":"MODIFIED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"11","patch":{"metadata":{"resourceVersion":"11"},"status":{"phase":"Running","podIP":"10.0.0.1"}}}
{"type":"DELETED","resource":"pods","namespace":"web","name":"a","uid":"uid-a","resourceVersion":"12","reason":"left-view"}
{"type":"SYNCED"}
`
	if code != 0 || stdout != want[1:] {
		t.Errorf("exit code %d, stdout\n%s\nwant\n%s", code, stdout, want[1:])
	}
}

func TestJSONPathShowsTheLastStateOfWhatIsDeleted(t *testing.T) {
	a := pod("a", "10", `{"metadata":{"name":"a"},"spec":{"big":9007199254740993}}`)
	s := &eventServer{streams: streams{{reset(), events(true, a), events(false, podLeft("a", "12")), allSynced()}}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	for template, want := range map[string]string{
		`{.metadata.name} {.spec.big} {.spec.none}{"\n"}`: "a 9007199254740993 \na 9007199254740993 \n",
		"spec.big": "9007199254740993\n9007199254740993\n",
	} {
		if code, stdout, stderr := run(t, "pods", "--insecure", "--until-synced", "-o", "jsonpath="+template); code != 0 || stdout != want {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q, want %q", template, code, stderr, stdout, want)
		}
	}
}

func TestPathsAndSpecsAreColumns(t *testing.T) {
	a := pod("a", "10", `{"metadata":{"name":"a","labels":{"app":"web","x.y/z":"1"}},"spec":{"nodeName":"n1"},"status":{"conditions":[{"type":"A"},{"type":"B"}]}}`)
	s := &eventServer{streams: streams{{events(true, a), allSynced()}}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--path", "spec.nodeName", "--path", "status.conditions[*].type", "--path", "metadata.labels['x.y/z']", "--path", "spec.none"},
			"EVENT          NAMESPACE   NAME   spec.nodeName   status.conditions[*].type   metadata.labels['x.y/z']   spec.none\n" +
				"ADDED          web         a      n1              A,B                         1                          -\n"},
		{[]string{"-n", "web", "-o", "custom-columns=NODE:.spec.nodeName,NONE:{.spec.none},C:status.conditions[0].type"},
			"EVENT          NODE   NONE     C\nADDED          n1     <none>   A\n"},
		{[]string{"-n", "web", "--projection", "metadata", "-L", "app,x.y/z", "--show-labels"},
			"EVENT          NAME   AGE         APP   Z   LABELS\nADDED          a      <unknown>   web   1   app=web,x.y/z=1\n"},
	} {
		code, stdout, stderr := run(t, append(tt.args, "pods", "--insecure", "--until-synced")...)
		if code != 0 || stdout != tt.want {
			t.Errorf("%q: exit code %d, stderr %q, stdout\n%s\nwant\n%s", tt.args, code, stderr, stdout, tt.want)
		}
	}
}

func TestTheTableShowsWhatDiffersAfterAReconnect(t *testing.T) {
	a, b := pod("a", "10", `{}`), pod("b", "11", `{}`)
	s := &eventServer{streams: streams{
		{reset(), events(true, a, b), syncedWith(nil)},
		{reset(), events(true, a), syncedWith(nil), allSynced()},
	}}
	_, stdout, _ := run(t, "cm", "--insecure", "--until-synced", "--server", s.start(t))
	want := `
EVENT          NAMESPACE   NAME   DATA   AGE
ADDED          web         a      0      <unknown>
ADDED          web         b      0      <unknown>
# synced configmaps
DELETED final-state-unknown   web         b      0      <unknown>
# synced configmaps
`
	if stdout != want[1:] {
		t.Errorf("stdout\n%s\nwant\n%s", stdout, want[1:])
	}
}

func TestColourIsForTerminals(t *testing.T) {
	a := pod("a", "10", `{}`)
	s := &eventServer{streams: streams{{events(true, a), allSynced()}}}
	t.Setenv("RUNNEL_SERVER", s.start(t))
	for color, want := range map[string]string{
		"auto": "ADDED  ", "never": "ADDED  ", "always": "\x1b[32mADDED\x1b[0m  ",
	} {
		_, stdout, _ := run(t, "cm", "--insecure", "--until-synced", "--color", color)
		if row := stdout[len("EVENT          NAMESPACE   NAME   DATA   AGE\n"):]; row[:len(want)] != want {
			t.Errorf("%s: %q", color, row)
		}
	}
}
