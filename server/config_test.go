package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
	"github.com/runnel-dev/runnel/server"
)

func preload(preloads ...server.Preload) func(*server.Config) {
	return func(c *server.Config) { c.Preload = preloads }
}

// services are what health is told of.
var services = []string{"", runnelv1.EventService_ServiceDesc.ServiceName}

// health returns the health of the services, which must be the same.
func health(t *testing.T, conn *grpc.ClientConn) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	var all []healthv1.HealthCheckResponse_ServingStatus
	for _, service := range services {
		answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, answer.GetStatus())
	}
	if all[0] != all[1] {
		t.Fatalf("health is %v", all)
	}
	return all[0]
}

// becomesHealthy waits until the server is.
func becomesHealthy(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	eventually(t, func() error {
		for _, service := range services {
			answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
			if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
				return fmt.Errorf("health of %q is %v, %w", service, answer.GetStatus(), err)
			}
		}
		return nil
	})
}

const reasonLeft = runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW

// D4: a source that is itself limited by a selector holds nothing else, and cannot
// tell leaving from being deleted.
func TestPreloadedSelectorLimitsWhatIsServed(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("limited")
	labelled := func(name, app string) {
		admin.create(configMaps, "limited", fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"app":%q}}}`, name, app))
	}
	labelled("in", "a")
	labelled("left", "a")
	labelled("deleted", "a")
	labelled("out", "b")
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin), preload(server.Preload{
		Resource: "configmaps", LabelSelector: "app in (a)", FieldSelector: "metadata.namespace=limited",
	}))
	becomesHealthy(t, conn)

	// Nothing else is there, though the subscription selects everything.
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "configmaps"})
	o.mustUntil(t, o.isSynced)
	if got := o.state(0); len(got) != 3 || got["limited/out"] != "" {
		t.Fatalf("snapshot is %v", got)
	}
	next := func(name string, change func()) *runnelv1.Event {
		t.Helper()
		change()
		before := o.events
		o.mustUntil(t, func() bool { return o.events > before })
		events := o.last.GetBatch().GetEvents()
		if len(events) != 1 || events[0].GetName() != name {
			t.Fatalf("%s: got %v", name, events)
		}
		return events[0]
	}
	left := next("left", func() { admin.patch(configMaps, "limited", "left", `{"metadata":{"labels":{"app":"b"}}}`) })
	if left.GetReason() != reasonLeft {
		t.Errorf("who left: %v", left)
	}
	deleted := next("deleted", func() { admin.delete(configMaps, "limited", "deleted") })
	if deleted.GetType() != runnelv1.EventType_EVENT_TYPE_DELETED || deleted.GetReason() != reasonLeft {
		t.Errorf("who was deleted: %v", deleted)
	}
	back := next("out", func() { admin.patch(configMaps, "limited", "out", `{"metadata":{"labels":{"app":"a"}}}`) })
	if back.GetType() != runnelv1.EventType_EVENT_TYPE_ADDED {
		t.Errorf("who came in: %v", back)
	}
	again := next("in", func() { admin.delete(configMaps, "limited", "in") })
	if again.GetReason() != reasonLeft {
		t.Errorf("who was deleted: %v", again)
	}
}

// SERVING comes once each source has synced, or it is known why not; what is not
// there yet comes later.
func TestServerIsHealthyOncePreloadedSourcesHaveSyncedOrToldWhyNot(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	nobody := rest.CopyConfig(cp.RESTConfig(controlplane.Admin))
	nobody.Impersonate.UserName = "nobody" // may discover, and list nothing
	conn, stop := startServer(t, nobody, preload(
		server.Preload{Resource: "configmaps"},                    // forbidden
		server.Preload{Group: "example.com", Resource: "widgets"}, // not installed
	))
	becomesHealthy(t, conn)
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "configmaps"})
	if err := o.until(o.isSynced); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("a source that is forbidden: %v", err)
	}
	stop()

	conn, _ = startServer(t, cp.RESTConfig(controlplane.Admin), preload(server.Preload{Group: "example.com", Resource: "widgets"}))
	becomesHealthy(t, conn)
	admin.installWidgets()
	admin.create(widgets, "default", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`)
	eventually(t, func() error {
		o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Group: "example.com", Resource: "widgets"})
		return o.until(func() bool { return o.object(0, "default", "w") != nil })
	})
}

func TestServerIsNotHealthyBeforePreloadedSourcesHaveSynced(t *testing.T) {
	cp := startControlPlane(t)
	held := newHeld()
	cfg := rest.CopyConfig(cp.RESTConfig(controlplane.Admin))
	cfg.Wrap(held.wrap)
	conn, stop := startServer(t, cfg, preload(server.Preload{Resource: "nodes"}, server.Preload{Resource: "configmaps"}))
	<-held.asked // all is under way but for the list of ConfigMaps
	nodes := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "nodes"})
	nodes.mustUntil(t, nodes.isSynced)
	if got := health(t, conn); got != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health is %v while a list is under way", got)
	}
	close(held.release)
	becomesHealthy(t, conn)

	// A stream that is open sees the health of a server that drains.
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthv1.HealthCheckResponse_ServingStatus{healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING} {
		answer, err := watch.Recv()
		if err != nil || answer.GetStatus() != want {
			t.Fatalf("health is %v, %v; want %v", answer.GetStatus(), err, want)
		}
		if want == healthv1.HealthCheckResponse_SERVING {
			go stop()
		}
	}
}

// D13: not even whether a resource exists can be learnt.
func TestOnlyAllowedResourcesAreServed(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("secret")
	admin.create(secretsGVR, "secret", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`)
	everything := server.AllowedGroup{Group: "*", Resources: []string{"*"}}
	for _, tt := range []struct {
		name    string
		allowed server.Allowed
		yes, no []*runnelv1.ResourceSubscription
	}{
		{"by default", nil,
			[]*runnelv1.ResourceSubscription{{Resource: "configmaps"}, {Group: "apps", Resource: "deployments"}},
			[]*runnelv1.ResourceSubscription{{Resource: "secrets"}, {Resource: "secrets", Version: "v1"}, {Resource: "secrets", Version: "v7"}}},
		{"with Secrets", server.Allowed{everything, {Group: "", Resources: []string{"secrets"}}},
			[]*runnelv1.ResourceSubscription{{Resource: "secrets"}, {Resource: "configmaps"}}, nil},
		{"some", server.Allowed{{Group: "apps", Resources: []string{"deployments"}}},
			[]*runnelv1.ResourceSubscription{{Group: "apps", Resource: "deployments"}},
			[]*runnelv1.ResourceSubscription{{Resource: "configmaps"}, {Resource: "unicorns"}, {Group: "unicorns.io", Resource: "unicorns"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin), func(c *server.Config) { c.Allowed = tt.allowed })
			for _, sub := range tt.yes {
				o := mustObserve(t, conn, sub)
				o.mustUntil(t, o.isSynced)
			}
			for _, sub := range tt.no {
				// Beside one that is allowed, too.
				s := grpcstatus.Convert(mustObserve(t, conn, tt.yes[0], sub).next())
				info, _ := detail[*errdetails.ErrorInfo](s)
				if s.Code() != codes.PermissionDenied || info.GetReason() != "RESOURCE_NOT_ALLOWED" {
					t.Errorf("%v: %v, %v", sub, s, info)
				}
				if violations, _ := detail[*errdetails.BadRequest](s); violations.GetFieldViolations()[0].GetField() != "resources[1].resource" {
					t.Errorf("%v: %v", sub, violations)
				}
			}
		})
	}
}

func TestLimitsOfTheConfigurationAreThoseOfTheService(t *testing.T) {
	cp := startControlPlane(t)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin), func(c *server.Config) {
		c.Limits.Names = 1
		c.Sources.Views.BatchBytes = 1
	})
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	admin.namespace("many")
	createMany(t, admin, "many", 5)
	s := grpcstatus.Convert(mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "pods", Names: []string{"a", "b"}}).next())
	if s.Code() != codes.ResourceExhausted {
		t.Errorf("2 names: %v", s)
	}
	o := mustObserve(t, conn, &runnelv1.ResourceSubscription{Resource: "configmaps", Namespaces: []string{"many"}})
	batches := 0
	o.mustUntil(t, func() bool {
		if o.last.GetBatch() != nil {
			batches++
			if n := len(o.last.GetBatch().GetEvents()); n != 1 {
				t.Errorf("%d events in a batch of 1 byte", n)
			}
		}
		return o.isSynced()
	})
	if batches < 5 {
		t.Errorf("%d batches", batches)
	}
}

func TestWrongPreloadIsAnErrorAtOnce(t *testing.T) {
	_, err := server.New(server.Config{
		Listener: newListener(t), REST: &rest.Config{}, Insecure: true,
		Preload: []server.Preload{{Resource: "pods", LabelSelector: "a in b"}},
	})
	if err == nil || !strings.Contains(err.Error(), "label selector of pods") {
		t.Errorf("error is %v", err)
	}
}
