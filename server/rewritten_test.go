package server_test

import (
	"fmt"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

const rewritten = "RESET_REASON_HISTORY_REWRITTEN"

var (
	kubeServices    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	roles           = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
)

func ofNamespace(gvr schema.GroupVersionResource, namespace string) *runnelv1.ResourceSubscription {
	return &runnelv1.ResourceSubscription{Group: gvr.Group, Resource: gvr.Resource, Namespaces: []string{namespace}}
}

// past is a control plane with objects of which there is a snapshot.
type past struct {
	api
	t        *testing.T
	cp       *controlplane.ControlPlane
	snapshot controlplane.Snapshot
}

func newPast(t *testing.T) *past {
	t.Helper()
	cp := startControlPlane(t)
	p := &past{t: t, cp: cp, api: newAPI(t, cp.RESTConfig(controlplane.Admin))}
	p.namespace("past")
	for i := range 10 {
		p.configMap("past", fmt.Sprintf("c%d", i), "0")
	}
	p.create(serviceAccounts, "past", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"}}`)
	p.create(kubeServices, "past", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`)
	var err error
	if p.snapshot, err = cp.Snapshot(); err != nil {
		t.Fatal(err)
	}
	return p
}

// goOn makes history that the snapshot does not have: in which objects change, come and go.
func (p *past) goOn(writes int) {
	p.t.Helper()
	for i := range writes {
		p.patch(configMaps, "past", fmt.Sprintf("c%d", 5+i%5), fmt.Sprintf(`{"data":{"n":"old %d"}}`, i))
	}
	for i := range 3 {
		p.delete(configMaps, "past", fmt.Sprintf("c%d", i))
	}
	p.configMap("past", "new", "0")
	p.patch(kubeServices, "past", "a", `{"metadata":{"labels":{"a":"old"}}}`)
	p.patch(serviceAccounts, "past", "a", `{"metadata":{"labels":{"a":"old"}}}`)
	p.create(roles, "past", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"old"}}`)
	p.patch(namespaces, "", "past", `{"metadata":{"labels":{"a":"old"}}}`)
}

func (p *past) restore() {
	p.t.Helper()
	if err := p.cp.Restore(p.t.Context(), p.snapshot); err != nil {
		p.t.Fatal(err)
	}
}

// resourceVersion is the newest.
func (p *past) resourceVersion() int {
	p.t.Helper()
	list, err := p.Resource(namespaces).List(p.t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		p.t.Fatal(err)
	}
	n, err := strconv.Atoi(list.GetResourceVersion())
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// overtake writes until the resourceVersion is beyond an old one.
func (p *past) overtake(old int) {
	p.t.Helper()
	for p.resourceVersion() <= old+10 {
		for i := range 50 {
			p.patch(configMaps, "past", "c4", fmt.Sprintf(`{"data":{"n":"new %d"}}`, i))
		}
	}
}

// C07, C08, D9: resourceVersions go back under live streams of several resources.
func TestRestoreOfEtcdResetsEveryStream(t *testing.T) {
	p := newPast(t)
	conn, _ := startServer(t, p.cp.RESTConfig(controlplane.Admin))
	resources := []schema.GroupVersionResource{configMaps, kubeServices, serviceAccounts, roles, namespaces}
	all := &runnelv1.SubscribeRequest{}
	for _, gvr := range resources[:4] {
		all.Resources = append(all.Resources, ofNamespace(gvr, "past"))
	}
	all.Resources = append(all.Resources, &runnelv1.ResourceSubscription{Resource: "namespaces"})
	one := &runnelv1.SubscribeRequest{Resources: all.Resources[:1], Delta: runnelv1.DeltaMode_DELTA_MODE_PATCH}
	many, patches := follow(t, conn.Target(), all), follow(t, conn.Target(), one)
	many.allSynced()
	p.goOn(300)
	before := p.resourceVersion()
	reached := func() {
		for i, gvr := range resources {
			namespace := "past"
			if gvr == namespaces {
				namespace = ""
			}
			many.reaches(p.api, i, gvr, namespace)
		}
		patches.reaches(p.api, 0, configMaps, "past")
	}
	reached()

	p.restore()
	if after := p.resourceVersion(); after >= before {
		t.Fatalf("the restore left resourceVersion %d, after %d", after, before)
	}
	reached()
	if n := patches.count(rewritten); n != 1 {
		t.Errorf("reset %d times: %v", n, patches.counts)
	}
	if n := many.count(rewritten); n != len(resources) {
		t.Errorf("reset %d times, not %d: %v", n, len(resources), many.counts)
	}
	p.patch(configMaps, "past", "c9", `{"data":{"n":"on and on"}}`)
	many.reaches(p.api, 0, configMaps, "past")
}

// D9: a replica that was started after the restore never knew the other history.
func TestReplicaStartedAfterARestoreResetsWhoKnewAnotherHistory(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		t.Run(fmt.Sprintf("overtaken %v", overtaken), func(t *testing.T) {
			p := newPast(t)
			first, stop := startServer(t, p.cp.RESTConfig(controlplane.Admin))
			b := newBalancer(t, first.Target())
			f := follow(t, b.address(), &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{ofNamespace(configMaps, "past")}})
			f.allSynced()
			p.goOn(300)
			f.reaches(p.api, 0, configMaps, "past")
			old := p.resourceVersion()
			b.use()
			stop()
			p.restore()
			if overtaken {
				p.overtake(old)
			}
			second, _ := startServer(t, p.cp.RESTConfig(controlplane.Admin))
			b.use(second.Target())
			f.reaches(p.api, 0, configMaps, "past")
			if n := f.count(rewritten); n != 1 {
				t.Errorf("reset %d times: %v", n, f.counts)
			}
		})
	}
}

// D9: history goes back and on, past the old resourceVersion, while a running replica is cut
// off. No number tells.
func TestReplicaThatWasCutOffFindsOutThatHistoryHasOvertaken(t *testing.T) {
	p := newPast(t)
	gate := newGate(t, p.cp)
	conn, _ := startServer(t, gate.restConfig())
	f := follow(t, conn.Target(), &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{ofNamespace(configMaps, "past")}})
	f.allSynced()
	p.goOn(300)
	f.reaches(p.api, 0, configMaps, "past")
	old := p.resourceVersion()
	gate.close()
	p.restore()
	p.overtake(old)
	gate.open()
	f.reaches(p.api, 0, configMaps, "past")
	if n := f.count(rewritten); n != 1 {
		t.Errorf("reset %d times: %v", n, f.counts)
	}
}

// D6: etcd is killed and comes back as it was. That is no news.
func TestCrashOfEtcdSendsNothing(t *testing.T) {
	p := newPast(t)
	conn, _ := startServer(t, p.cp.RESTConfig(controlplane.Admin))
	f := follow(t, conn.Target(), &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{ofNamespace(configMaps, "past")}})
	f.allSynced()
	events := f.count("events")
	p.cp.KillEtcd()
	if err := p.cp.StartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := p.Resource(configMaps).Namespace("past").Create(t.Context(), parse(configMapJSON("after", "0")), metav1.CreateOptions{})
		return err
	})
	f.reaches(p.api, 0, configMaps, "past")
	if n := f.count("events") - events; n != 1 || f.count(rewritten) != 0 {
		t.Errorf("%d events, of which one is news: %v", n, f.counts)
	}
}
