package server_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/client"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// follower is a client of the SDK with a copy, which goes on until the test ends. It
// checks each event against what it was told before (D2, D4, D5).
type follower struct {
	t       *testing.T
	replica *client.Replica

	mu sync.Mutex // guards all below
	// held are the resourceVersions by resource, UID and name.
	held []map[string]string
	// floors are the newest resourceVersions told, by resource and UID.
	floors []map[string]*big.Int
	counts map[string]int
	synced int
}

func follow(t *testing.T, target string, request *runnelv1.SubscribeRequest) *follower {
	t.Helper()
	c, err := client.New(target, client.WithInsecure(), client.WithBackoff(10*time.Millisecond, 500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t: t, counts: map[string]int{}}
	for range request.GetResources() {
		f.held = append(f.held, map[string]string{})
		f.floors = append(f.floors, map[string]*big.Int{})
	}
	if f.replica, err = client.NewReplica(request, f.event); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := c.Subscribe(ctx, request, client.Handler{Frame: f.frame, Known: f.replica.Known})
		if ctx.Err() == nil {
			t.Errorf("subscription ended: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		c.Close()
	})
	return f
}

func (f *follower) frame(frame *runnelv1.SubscribeResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch fr := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Resumed:
		f.counts["resumed"]++
	case *runnelv1.SubscribeResponse_Reset_:
		reason := fr.Reset_.GetReason()
		f.counts[reason.String()]++
		if reason == runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN {
			f.floors[fr.Reset_.GetResource()] = map[string]*big.Int{}
		}
	}
	err := f.replica.Apply(frame)
	if err != nil {
		f.counts["mismatch"]++
	}
	if s := frame.GetSynced(); s != nil && s.Resource == nil {
		f.synced++
	}
	return err
}

// event is called by Apply, under the lock.
func (f *follower) event(e client.Event) error {
	f.counts["events"]++
	held, floors := f.held[e.Resource], f.floors[e.Resource]
	rv, ok := new(big.Int).SetString(e.ResourceVersion, 10)
	if floor := floors[e.UID]; !ok || floor != nil && rv.Cmp(floor) < 0 {
		f.t.Errorf("%s %s/%s (%s) at %s, after %v (D2)", e.Type, e.Namespace, e.Name, e.UID, e.ResourceVersion, floor)
	}
	floors[e.UID] = rv
	key := fmt.Sprintf("%s/%s %s", e.Namespace, e.Name, e.UID)
	if _, was := held[key]; was != (e.Type != client.Added) {
		f.t.Errorf("%s %s, held: %v (D4)", e.Type, key, was)
	}
	if held[key] = e.ResourceVersion; e.Type == client.Deleted {
		delete(held, key)
	}
	return nil
}

func (f *follower) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[what]
}

// allSynced waits for the overall Synced.
func (f *follower) allSynced() {
	f.t.Helper()
	eventually(f.t, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.synced == 0 {
			return fmt.Errorf("not synced: %v", f.counts)
		}
		return nil
	})
}

// reaches waits until the copy of a resource is what the API server holds.
func (f *follower) reaches(a api, resource int, gvr schema.GroupVersionResource, namespace string) {
	f.t.Helper()
	for range 3 { // the API server may be away for longer than one waits
		if f.t.Failed() || f.tries(a, resource, gvr, namespace) == nil {
			return
		}
	}
	f.t.Errorf("%s: %v", gvr.Resource, f.tries(a, resource, gvr, namespace))
}

func (f *follower) tries(a api, resource int, gvr schema.GroupVersionResource, namespace string) (err error) {
	timeout := time.After(40 * time.Second)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err = f.compare(a, resource, gvr, namespace); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-timeout:
			return err
		}
	}
}

func (f *follower) compare(a api, resource int, gvr schema.GroupVersionResource, namespace string) error {
	list, err := a.Resource(gvr).Namespace(namespace).List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, item := range list.Items {
		want[fmt.Sprintf("%s/%s %s", item.GetNamespace(), item.GetName(), item.GetUID())] = item.GetResourceVersion()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !maps.Equal(f.held[resource], want) {
		return fmt.Errorf("holds %d objects, the API server %d; %v", len(f.held[resource]), len(want), f.counts)
	}
	return nil
}
