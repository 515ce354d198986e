package server_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// D1, D2, D4, D5: hundreds of streams cut over at random moments while writers
// change, delete and re-create without pause; all end at the API server's state.
func TestStreamsOpenedDuringConstantWritesMissNothing(t *testing.T) {
	const objects, writers, streams, connections = 100, 4, 300, 10
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("churn")
	for i := range objects {
		admin.configMap("churn", fmt.Sprintf("c%d", i), "0")
	}
	var conns []*grpc.ClientConn
	first, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	conns = append(conns, first)
	for range connections - 1 {
		conn, err := grpc.NewClient(first.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var writes atomic.Int64
	written := sync.NewCond(&sync.Mutex{})
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := w; ; i += writers {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("c%d", i%objects)
				cms := admin.Resource(configMaps).Namespace("churn")
				patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, i)
				_, err := cms.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				if err == nil && i/objects%5 == 1 {
					err = cms.Delete(ctx, name, metav1.DeleteOptions{})
					if err == nil {
						_, err = cms.Create(ctx, parse(configMapJSON(name, "0")), metav1.CreateOptions{})
					}
				}
				if err != nil {
					t.Errorf("writer: %v", err)
					return
				}
				writes.Add(1)
				written.Broadcast()
			}
		})
	}

	observers := make([]*observer, streams)
	var synced, observing sync.WaitGroup
	synced.Add(streams)
	final := make(chan map[string]string)
	for s := range streams {
		after := rand.Int64N(1500)
		observing.Go(func() {
			ready := sync.OnceFunc(synced.Done)
			defer ready()
			written.L.Lock()
			for writes.Load() < after {
				written.Wait()
			}
			written.L.Unlock()
			o, err := observe(ctx, conns[s%connections], &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{
				{Resource: "configmaps", Namespaces: []string{"churn"}},
			}})
			if err == nil {
				err = o.until(o.isSynced)
			}
			if err != nil {
				t.Errorf("stream %d: %v", s, err)
				return
			}
			observers[s] = o
			ready()
			want := <-final
			if err := o.until(func() bool { return maps.Equal(o.state(0), want) }); err != nil {
				t.Errorf("stream %d does not reach the final state: %v", s, err)
			}
		})
	}
	synced.Wait()
	close(stop)
	writing.Wait()
	list, err := admin.Resource(configMaps).Namespace("churn").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, item := range list.Items {
		want["churn/"+item.GetName()] = item.GetResourceVersion()
	}
	for range streams {
		select {
		case final <- want:
		case <-ctx.Done():
			t.Fatal("streams failed")
		}
	}
	observing.Wait()
	t.Logf("%d streams opened during %d writes", streams, writes.Load())
}

// D3: who keeps up gets every change, who does not gets the last one of each object.
func TestSlowReaderGetsEveryFinalState(t *testing.T) {
	const changes, cold = 300, 50
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("slow")
	admin.configMap("slow", "hot", "0")
	for i := range cold {
		admin.configMap("slow", fmt.Sprintf("cold%d", i), "0")
	}
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	narrow, err := grpc.NewClient(conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer narrow.Close()
	sub := &runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"slow"}}
	fast, slow := mustObserve(t, conn, sub), mustObserve(t, narrow, sub)
	fast.mustUntil(t, fast.isSynced)
	slow.mustUntil(t, slow.isSynced)

	big := strings.Repeat("x", 20_000)
	seen := 0
	for i := range changes {
		version := admin.patch(configMaps, "slow", "hot", fmt.Sprintf(`{"data":{"n":"%d","big":%q}}`, i+1, big))
		if i%(changes/cold) == 0 {
			version = admin.patch(configMaps, "slow", fmt.Sprintf("cold%d", i/(changes/cold)), `{"data":{"n":"1"}}`)
			seen++
		}
		seen++
		fast.mustUntil(t, func() bool { return fast.last.GetBatch() != nil && lastVersion(fast) == version })
	}
	if fast.events != seen {
		t.Errorf("who kept up got %d of %d changes", fast.events, seen)
	}
	slow.mustUntil(t, func() bool { return maps.Equal(slow.state(0), fast.state(0)) })
	if slow.events >= seen/2 {
		t.Errorf("who did not read got %d of %d changes: they were queued", slow.events, seen)
	}
	t.Logf("of %d changes the fast reader got %d, the slow one %d", seen, fast.events, slow.events)
}

func lastVersion(o *observer) string {
	events := o.last.GetBatch().GetEvents()
	return events[len(events)-1].GetResourceVersion()
}

// D5: a new object under an old name, seen live and behind a connection that was
// cut meanwhile.
func TestReCreatedObjectIsAnotherObject(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("again")
	admin.configMap("again", "a", "0")
	gate := newGate(t, cp)
	conn, _ := startServer(t, gate.restConfig())
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"again"}})
	o.mustUntil(t, o.isSynced)
	for _, cut := range []bool{false, true} {
		before := o.object(0, "again", "a").GetUid()
		if cut {
			gate.close()
		}
		admin.delete(configMaps, "again", "a")
		uid := string(admin.configMap("again", "a", "1").GetUID())
		gate.open()
		o.mustUntil(t, func() bool { return o.held[0][uid] != nil }) // the observer checks the order
		if o.held[0][before] != nil {
			t.Errorf("the old object is still held (connection cut: %v)", cut)
		}
	}
}

// D6: a restart of the API server is no news.
func TestRestartOfTheAPIServerSendsNothing(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("quiet")
	const objects = 1000
	createMany(t, admin, "quiet", objects)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	o := mustObserve(t, conn,
		&runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"quiet"}},
		&runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"quiet"},
			Projection: &runnelv1.Projection{Part: &runnelv1.Projection_MetadataOnly{}}})
	o.mustUntil(t, o.isSynced)
	if len(o.held[0]) != objects || len(o.held[1]) != objects {
		t.Fatalf("snapshots hold %d and %d objects, want %d", len(o.held[0]), len(o.held[1]), objects)
	}
	cp.StopAPIServer()
	state := func(r uint32, want runnelv1.SourceState) func() bool {
		return func() bool { s := o.last.GetStatus(); return s.GetState() == want && s.GetResource() == r }
	}
	o.mustUntil(t, state(1, runnelv1.SourceState_SOURCE_STATE_STALE))
	if err := cp.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.mustUntil(t, state(1, runnelv1.SourceState_SOURCE_STATE_SYNCED))
	eventually(t, func() error {
		_, err := admin.Resource(configMaps).Namespace("quiet").Create(t.Context(), parse(configMapJSON("new", "0")), metav1.CreateOptions{})
		return err
	})
	o.mustUntil(t, func() bool { return o.object(0, "quiet", "new") != nil && o.object(1, "quiet", "new") != nil })
	if o.events != 2 {
		t.Errorf("%d events, want only the new object, once in each projection", o.events)
	}
}

// D7: synced comes after everything that existed.
func TestSyncedComesAfterTwentyThousandObjects(t *testing.T) {
	const objects = 20_000
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("many")
	createMany(t, admin, "many", objects)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"many"}})
	var gone, changed sync.Map
	var writing sync.WaitGroup
	writing.Go(func() { // the snapshot does not stand still
		for i := range 200 {
			name := fmt.Sprintf("c%d", i*(objects/200))
			if i%2 == 0 {
				admin.delete(configMaps, "many", name)
				gone.Store(name, true)
			} else {
				changed.Store(name, admin.patch(configMaps, "many", name, `{"data":{"n":"changed"}}`))
			}
		}
	})
	o.mustUntil(t, o.isSynced)
	for i := range objects {
		name := fmt.Sprintf("c%d", i)
		if _, ok := gone.Load(name); !ok && o.object(0, "many", name) == nil && i%(objects/200) != 0 {
			t.Fatalf("synced without %s", name)
		}
	}
	writing.Wait()
	o.mustUntil(t, func() bool {
		level := len(o.held[0]) == objects-100
		changed.Range(func(name, version any) bool {
			level = level && o.object(0, "many", name.(string)).GetResourceVersion() == version
			return level
		})
		return level
	})
}

// D14: what JavaScript and float64 cannot hold, unknown fields and unicode pass
// through untouched.
func TestNumbersAndTextOfCustomResourcesAreUntouched(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("exact")
	admin.installWidgets()
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin))
	admin.create(widgets, "exact", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w",
		"annotations":{"text":"naïve \u202eright-to-left 🚀"}},
		"spec":{"odd":9007199254740993,"max":9223372036854775807,"unknown":{"list":[1,null,{"a":0.1}]}}}`)
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"})
	o.mustUntil(t, o.isSynced)
	check := func(want ...string) {
		t.Helper()
		object := o.object(0, "exact", "w").GetObjectJson()
		if !strings.HasPrefix(object, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{`) {
			t.Errorf("no TypeMeta in %s", object)
		}
		if strings.Contains(object, "managedFields") {
			t.Errorf("managedFields in %s", object)
		}
		for _, part := range want {
			if !strings.Contains(object, part) {
				t.Errorf("no %s in %s", part, object)
			}
		}
	}
	check(`"odd":9007199254740993`, `"max":9223372036854775807`, `"list":[1,null,{"a":0.1}]`, "naïve \u202eright-to-left 🚀")
	version := admin.patch(widgets, "exact", "w", `{"spec":{"odd":-9007199254740993}}`)
	o.mustUntil(t, func() bool { return o.object(0, "exact", "w").GetResourceVersion() == version })
	check(`"odd":-9007199254740993`, `"max":9223372036854775807`)
}

// createMany creates ConfigMaps c0, c1, ….
func createMany(t *testing.T, admin api, namespace string, n int) {
	t.Helper()
	var creating sync.WaitGroup
	const workers = 16
	for w := range workers {
		creating.Go(func() {
			for i := w; i < n; i += workers {
				_, err := admin.Resource(configMaps).Namespace(namespace).Create(t.Context(),
					parse(configMapJSON(fmt.Sprintf("c%d", i), "0")), metav1.CreateOptions{})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
			}
		})
	}
	creating.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
