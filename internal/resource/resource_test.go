package resource

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func served(groupVersion string, resources ...metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources}
}

func api(name, kind string, namespaced bool, verbs ...string) metav1.APIResource {
	if verbs == nil {
		verbs = []string{"get", "list", "watch"}
	}
	return metav1.APIResource{Name: name, SingularName: name[:len(name)-1], Kind: kind, Namespaced: namespaced, Verbs: verbs}
}

// cluster serves what is listed; the first version of a group is the preferred one.
func cluster(lists ...*metav1.APIResourceList) *fake.FakeDiscovery {
	return &fake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: lists}}
}

func TestNamesAreResolved(t *testing.T) {
	r := NewResolver(cluster(
		served("v1", api("pods", "Pod", true), api("nodes", "Node", false), api("bindings", "Binding", true, "create"),
			api("events", "Event", true)),
		served("example.com/v2", api("things", "Thing", true)),
		served("example.com/v1", api("things", "Thing", true), api("olds", "Old", false)),
		served("other.io/v1", api("pods", "OtherPod", false), api("reads", "Read", true, "list"), api("tails", "Tail", true, "watch")),
		served("events.k8s.io/v1", api("events", "Event", true)),
	))
	for _, test := range []struct {
		group, version, name string
		want                 string
		kind                 string
		namespaced           bool
		err                  error
	}{
		{"", "", "pods", "pods.v1", "Pod", true, nil},
		{"", "v1", "nodes", "nodes.v1", "Node", false, nil},
		{"", "", "events", "events.v1", "Event", true, nil},
		{"events.k8s.io", "", "events", "events.v1.events.k8s.io", "Event", true, nil},
		{"other.io", "", "pods", "pods.v1.other.io", "OtherPod", false, nil},
		{"example.com", "", "things", "things.v2.example.com", "Thing", true, nil},
		{"example.com", "v1", "things", "things.v1.example.com", "Thing", true, nil},
		{"example.com", "", "olds", "olds.v1.example.com", "Old", false, nil},
		{"example.com", "v3", "things", "", "", false, ErrUnknown},
		{"example.com", "v2", "olds", "", "", false, ErrUnknown},
		{"example.com", "", "pods", "", "", false, ErrUnknown},
		{"", "", "things", "", "", false, ErrUnknown}, // an empty group is the core group
		{"", "", "pod", "", "", false, ErrUnknown},    // no singular names
		{"", "", "nothings", "", "", false, ErrUnknown},
		{"nowhere.io", "", "things", "", "", false, ErrUnknown},
		{"", "", "bindings", "", "", false, ErrNotWatchable},
		{"other.io", "", "reads", "", "", false, ErrNotWatchable},
		{"other.io", "", "tails", "", "", false, ErrNotWatchable},
	} {
		got, err := r.Resolve(t.Context(), test.group, test.version, test.name)
		if !errors.Is(err, test.err) {
			t.Errorf("%s %s/%s: %v, want %v", test.name, test.group, test.version, err, test.err)
			continue
		}
		if err == nil && (got.String() != test.want || got.Kind != test.kind || got.Namespaced != test.namespaced) {
			t.Errorf("%s %s/%s: %s %s %v", test.name, test.group, test.version, got, got.Kind, got.Namespaced)
		}
	}
}

func TestKindIsThatOfTheVersion(t *testing.T) {
	r := Resource{GroupVersionResource: schema.GroupVersionResource{Group: "g", Version: "v", Resource: "ks"}, Kind: "K"}
	if got := r.GroupVersionKind(); got != (schema.GroupVersionKind{Group: "g", Version: "v", Kind: "K"}) {
		t.Error(got)
	}
}

// D11: a CRD installed later is found, and a name that is nowhere does not make
// everyone who asks for it ask the API server.
func TestUnknownNamesAreLookedUpAnewAtMostOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster(served("v1", api("pods", "Pod", true)))
		r := NewResolver(c)
		resolve := func() error {
			_, err := r.Resolve(t.Context(), "example.com", "v1", "things")
			return err
		}
		if err := resolve(); !errors.Is(err, ErrUnknown) {
			t.Fatal(err)
		}
		asked := len(c.Actions())
		c.Resources = append(c.Resources, served("example.com/v1", api("things", "Thing", true)))
		for range 10 {
			if err := resolve(); !errors.Is(err, ErrUnknown) {
				t.Fatalf("found at once: %v", err)
			}
		}
		if n := len(c.Actions()) - asked; n > 0 {
			t.Errorf("asked the API server %d times more", n)
		}
		time.Sleep(r.minRefresh) //nolint:forbidigo // only so does a bubble's clock move
		if err := resolve(); err != nil {
			t.Errorf("installed, but %v", err)
		}
		asked = len(c.Actions())
		if err := resolve(); err != nil || len(c.Actions()) > asked {
			t.Errorf("what is known is asked for again: %v", err)
		}
	})
}

func TestFailingDiscoveryIsNotAnUnknownResource(t *testing.T) {
	c := cluster(served("v1", api("pods", "Pod", true)))
	down := errors.New("connection refused")
	c.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, down })
	if _, err := NewResolver(c).Resolve(t.Context(), "", "", "pods"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// partly is a cluster in which one aggregated API is away.
type partly struct {
	*fake.FakeDiscovery
	away string
}

func (p partly) ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	if groupVersion == p.away {
		return nil, errors.New("service unavailable")
	}
	return p.FakeDiscovery.ServerResourcesForGroupVersionWithContext(ctx, groupVersion)
}

// D11
func TestAPIGroupThatIsAwayDoesNotHideOthers(t *testing.T) {
	r := NewResolver(partly{
		cluster(served("v1", api("pods", "Pod", true)), served("metrics.k8s.io/v1", api("pods", "PodMetrics", true))),
		"metrics.k8s.io/v1",
	})
	if _, err := r.Resolve(t.Context(), "", "", "pods"); err != nil {
		t.Error(err)
	}
	if res, err := r.Resolve(t.Context(), "metrics.k8s.io", "", "pods"); err == nil {
		t.Errorf("resolved to %v", res)
	}
}

func TestCanceledCallerGetsNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewResolver(cluster(served("v1", api("pods", "Pod", true)))).Resolve(ctx, "", "", "pods"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
