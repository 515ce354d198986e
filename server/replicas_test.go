package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
	"github.com/runnel-dev/runnel/server"
)

// C05, C22, C29, D1, D2, D4, D5, D8, D15: subscribers move among three replicas all the time,
// while one after the other is restarted and writers never pause.
func TestSubscribersMoveAmongReplicasUnderLoad(t *testing.T) {
	const objects, writers, followers = 200, 4, 30
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("load")
	for i := range objects {
		admin.configMap("load", fmt.Sprintf("c%d", i), "0")
	}
	drainAtOnce := func(c *server.Config) { c.Drain = 100 * time.Millisecond }
	var replicas []string
	var stops []func()
	start := func() (string, func()) {
		conn, stop := startServer(t, cp.RESTConfig(controlplane.Admin), drainAtOnce)
		return conn.Target(), stop
	}
	for range 3 {
		target, stop := start()
		replicas, stops = append(replicas, target), append(stops, stop)
	}
	b := newBalancer(t, replicas...)
	var all []*follower
	for i := range followers {
		req := &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{ofNamespace(configMaps, "load")}}
		if i%2 == 0 {
			req.Delta = runnelv1.DeltaMode_DELTA_MODE_PATCH
		}
		all = append(all, follow(t, b.address(), req))
	}
	for _, f := range all {
		f.allSynced()
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() { writeWithoutPause(ctx, t, admin, w, writers, objects) })
	}
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for i := range 60 {
		<-ticker.C
		b.cut(0.2)
		if i%20 == 10 { // a rolling restart
			r := i / 20
			target, stop := start()
			stops[r]()
			replicas[r], stops[r] = target, stop
			b.use(replicas...)
		}
	}
	stop()
	writing.Wait()

	total := map[string]int{}
	for i, f := range all {
		f.reaches(admin, 0, configMaps, "load")
		if n := f.count("mismatch"); n > 0 {
			t.Errorf("subscriber %d: %d mismatches", i, n)
		}
		f.mu.Lock()
		for what, n := range f.counts {
			total[what] += n
		}
		f.mu.Unlock()
	}
	if total["resumed"] < followers {
		t.Errorf("%d resumed", total["resumed"])
	}
	if n := total["RESET_REASON_NEW"]; n > followers {
		t.Errorf("%d snapshots for %d subscribers", n, followers)
	}
	t.Logf("%d subscribers: %v", followers, total)
}

// writeWithoutPause changes, deletes and re-creates the objects that are the writer's.
func writeWithoutPause(ctx context.Context, t *testing.T, a api, writer, writers, objects int) {
	cms := a.Resource(configMaps).Namespace("load")
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("c%d", (rand.IntN(objects)/writers)*writers+writer)
		_, err := cms.Patch(ctx, name, types.MergePatchType, []byte(fmt.Sprintf(`{"data":{"n":"%d"}}`, i)), metav1.PatchOptions{})
		if err == nil && i%7 == 0 {
			if err = cms.Delete(ctx, name, metav1.DeleteOptions{}); err == nil {
				_, err = cms.Create(context.WithoutCancel(ctx), parse(configMapJSON(name, "0")), metav1.CreateOptions{})
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("writer: %v", err)
			return
		}
	}
}
