package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// event makes one of the type; a payload that begins with "patch" is a merge patch.
func event(t runnelv1.EventType, name, payload string) *runnelv1.Event {
	e := &runnelv1.Event{Type: t, Name: name}
	switch {
	case strings.HasPrefix(payload, "patch"):
		e.Payload = &runnelv1.Event_MergePatchJson{MergePatchJson: payload}
	case payload != "":
		e.Payload = &runnelv1.Event_ObjectJson{ObjectJson: payload}
	}
	return e
}

const (
	added    = runnelv1.EventType_EVENT_TYPE_ADDED
	modified = runnelv1.EventType_EVENT_TYPE_MODIFIED
	deleted  = runnelv1.EventType_EVENT_TYPE_DELETED
)

func TestTallyTellsWhatEventsCarry(t *testing.T) {
	events := []*runnelv1.Event{
		event(added, "a", "whole"), event(modified, "a", "whole object"), event(modified, "a", "patch"), event(modified, "a", "patch"), event(deleted, "a", ""),
	}
	var got tally
	got.count(&runnelv1.Batch{Events: events}, 1000)
	want := tally{
		live:     sum{5, 1000},
		added:    sum{1, proto.Size(events[0])},
		modified: sum{1, proto.Size(events[1])},
		patched:  sum{2, 2 * proto.Size(events[2])},
		deleted:  sum{1, proto.Size(events[4])},
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSubscriberCountsFromSyncedToTheMarker(t *testing.T) {
	s, err := newSubscriber(way{name: "bare", request: &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{Resource: "pods"}}}})
	if err != nil {
		t.Fatal(err)
	}
	batch := func(e ...*runnelv1.Event) *runnelv1.SubscribeResponse {
		return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Batch{Batch: &runnelv1.Batch{Events: e}}}
	}
	reset := &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Reset_{Reset_: &runnelv1.Reset{}}}
	for i, frame := range []*runnelv1.SubscribeResponse{
		reset,
		{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{Resource: proto.Uint32(0)}}},
		{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{}}},
		batch(event(deleted, "a", "")),
		{Frame: &runnelv1.SubscribeResponse_Bookmark{Bookmark: &runnelv1.Bookmark{}}}, // not counted
		batch(event(deleted, marker, "")),
		batch(event(deleted, "late", "")), // not counted
	} {
		s.meter.last = 1 << i
		if err := s.take(frame); err != nil {
			t.Fatal(err)
		}
	}
	if s.snapshot != 1+2+4 || s.live != (sum{2, 8 + 32}) || !s.ended {
		t.Errorf("snapshot %d, live %+v, ended %v", s.snapshot, s.live, s.ended)
	}
	if err := s.take(reset); err == nil {
		t.Error("a reset does not spoil the measurement")
	}
}

func TestNextDelimited(t *testing.T) {
	r := bufio.NewReader(strings.NewReader("\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x00\x05ab"))
	for _, want := range []string{"\x00\x00\x00\x03abc", "\x00\x00\x00\x00"} {
		if got, err := nextDelimited(r); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := nextDelimited(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a message that is cut off: %v", err)
	}
}

func TestDirectWatchTellsTypes(t *testing.T) {
	d := &directWatch{byType: map[string]sum{}}
	for _, test := range []struct{ event, want string }{
		{`{"type":"MODIFIED","object":{"metadata":{"name":"DELETED"}}}`, modifiedType},
		{"\x00\x00\x00\x20k8s\x00\x0a\x07DELETED\x12", deletedType},
		{`{"type":"ADDED","object":{"metadata":{"name":"MODIFIED"}}}`, addedType},
		{`{"type":"BOOKMARK"}`, ""},
	} {
		if got := d.count([]byte(test.event)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.event, got, test.want)
		}
	}
	if d.live.events != 4 || d.byType[deletedType].events != 1 {
		t.Errorf("counted %+v", d)
	}
}

func TestSameComparesWhatJSONMeans(t *testing.T) {
	if err := same([]byte(`{"a":1,"b":9007199254740993}`), []byte(`{"b":9007199254740993, "a":1}`)); err != nil {
		t.Error(err)
	}
	for _, other := range []string{`{"a":9007199254740992}`, `{"a":9007199254740993,"b":null}`, ``} {
		if same([]byte(`{"a":9007199254740993}`), []byte(other)) == nil {
			t.Errorf("%q is the same", other)
		}
	}
}

func TestDeploymentSettlesAtItsGeneration(t *testing.T) {
	const settled = `"status":{"observedGeneration":3,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}`
	for _, test := range []struct {
		name, json string
		generation int64
		want       string
	}{
		{"settled", `{"metadata":{"generation":3},` + settled, 3, ""},
		{"changed and not seen", `{"metadata":{"generation":3},` + settled, 4, "observed"},
		{"changed and not acted on", `{"metadata":{"generation":4},` + settled, 4, "observed"},
		{"rolling", `{"metadata":{"generation":3},` + strings.Replace(settled, `"updatedReplicas":2`, `"updatedReplicas":1`, 1), 3, "1 of 2 updatedReplicas"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d unstructured.Unstructured
			if err := d.UnmarshalJSON([]byte(`{"apiVersion":"apps/v1","kind":"Deployment",` + test.json[1:])); err != nil {
				t.Fatal(err)
			}
			if got := rolling(&d, 2, test.generation); got == "" != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFlagsThatCannotWorkSayWhy(t *testing.T) {
	for want, args := range map[string][]string{
		"at least 1":       {"--rounds=0"},
		"less than one":    {"--pods=3", "--deployments=4"},
		"set --nodes to 2": {"--pods=100", "--nodes=1"},
	} {
		cmd := newCommand()
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

func TestPrintRelatesToWholeObjects(t *testing.T) {
	whole := &subscriber{way: way{name: wholeObjects}, tally: tally{snapshot: 900, live: sum{4, 8000}, modified: sum{4, 7900}}}
	patches := &subscriber{way: way{name: mergePatches}, tally: tally{snapshot: 900, live: sum{4, 2000}, patched: sum{4, 1975}}}
	var out bytes.Buffer
	r := &results{
		pods: []*subscriber{whole, patches}, nodes: []*subscriber{whole},
		direct: []*directWatch{{name: "direct", live: sum{4, 16000}, byType: map[string]sum{modifiedType: {4, 16000}}}},
		took:   90 * time.Second, stored: []int{3, 4, 5}, sent: []int{1, 2, 3},
	}
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"25 %", "200 %", "4.0", "4000", "median 2 bytes", "4 of 4 MODIFIED", "1m30s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
}
