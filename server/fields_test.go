package server_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/runnel-dev/runnel/internal/controlplane"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
	"github.com/runnel-dev/runnel/server"
)

var update = flag.Bool("update", false, "write docs/field-selectors.md anew")

// fieldCase is a field of a resource and the values to ask for.
type fieldCase struct {
	gvr    schema.GroupVersionResource
	field  string
	values []string
}

var (
	nodesGVR      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podsGVR       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	eventsGVR     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	newEvents     = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	secretsGVR    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	jobsGVR       = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	servicesGVR   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	paintsGVR     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "paints"}
	fieldSettings = []fieldCase{
		{podsGVR, "metadata.name", []string{"plain", "nobody"}},
		{podsGVR, "metadata.namespace", []string{"fields", "other"}},
		{podsGVR, "spec.nodeName", []string{"n1", ""}},
		{podsGVR, "spec.restartPolicy", []string{"Always", "Never"}},
		{podsGVR, "spec.schedulerName", []string{"default-scheduler", "mine", ""}},
		{podsGVR, "spec.serviceAccountName", []string{"robot", ""}},
		{podsGVR, "spec.hostNetwork", []string{"true", "false", ""}},
		{podsGVR, "status.phase", []string{"Pending", "Running", ""}},
		{podsGVR, "status.podIP", []string{"10.0.0.1", ""}},
		{podsGVR, "status.nominatedNodeName", []string{"n2", ""}},
		{nodesGVR, "metadata.name", []string{"n1"}},
		{nodesGVR, "spec.unschedulable", []string{"true", "false", ""}},
		{namespaces, "metadata.name", []string{"fields"}},
		{namespaces, "status.phase", []string{"Active", "Terminating"}},
		{secretsGVR, "type", []string{"Opaque", "example.com/own", "kubernetes.io/basic-auth"}},
		{secretsGVR, "metadata.name", []string{"own"}},
		{eventsGVR, "involvedObject.kind", []string{"Pod", ""}},
		{eventsGVR, "involvedObject.namespace", []string{"fields"}},
		{eventsGVR, "involvedObject.name", []string{"plain", ""}},
		{eventsGVR, "involvedObject.uid", []string{"u1", ""}},
		{eventsGVR, "involvedObject.apiVersion", []string{"v1", ""}},
		{eventsGVR, "involvedObject.resourceVersion", []string{"7", ""}},
		{eventsGVR, "involvedObject.fieldPath", []string{"spec.x", ""}},
		{eventsGVR, "reason", []string{"Started", ""}},
		{eventsGVR, "reportingComponent", []string{"reporter", ""}},
		{eventsGVR, "source", []string{"kubelet", "reporter", ""}},
		{eventsGVR, "type", []string{"Normal", "Warning", ""}},
		{newEvents, "metadata.name", []string{"e1"}},
		{jobsGVR, "status.successful", []string{"0", "1", ""}},
		{servicesGVR, "spec.type", []string{"ClusterIP", "ExternalName"}},
		{servicesGVR, "spec.clusterIP", []string{"None", ""}},
		{paintsGVR, "spec.color", []string{"red", "", "blue"}},
		{paintsGVR, "spec.coats", []string{"3", "9007199254740993", ""}},
		{paintsGVR, "spec.glossy", []string{"true", "false", ""}},
	}
)

// The API server's own field selectors and ours select the same, wherever the API
// server has one: the answer is compared for =, != and each value. The table in
// docs/field-selectors.md is made of it.
func TestFieldSelectorsAgreeWithTheAPIServers(t *testing.T) {
	cp := startControlPlane(t)
	admin := newAPI(t, cp.RESTConfig(controlplane.Admin))
	createFieldObjects(admin)
	conn, _ := startServer(t, cp.RESTConfig(controlplane.Admin), func(c *server.Config) {
		c.Allowed = server.Allowed{{Group: "*", Resources: []string{"*"}}, {Resources: []string{"secrets"}}}
	})

	var table bytes.Buffer
	for _, c := range fieldSettings {
		row := fmt.Sprintf("| %s | `%s` |", resourceName(c.gvr), c.field)
		for _, op := range []string{"=", "!="} {
			var counts []string
			for _, value := range c.values {
				text := c.field + op + value
				theirs, err := admin.Resource(c.gvr).List(t.Context(), metav1.ListOptions{FieldSelector: text})
				if err != nil {
					t.Errorf("API server on %s of %s: %v", text, c.gvr.Resource, err)
					continue
				}
				var want []string
				for _, item := range theirs.Items {
					want = append(want, item.GetNamespace()+"/"+item.GetName())
				}
				o := mustObserve(t, conn, &runnelv1.ResourceSubscription{
					Group: c.gvr.Group, Version: c.gvr.Version, Resource: c.gvr.Resource, FieldSelector: text,
				})
				o.mustUntil(t, o.isSynced)
				var got []string
				for name := range o.state(0) {
					got = append(got, name)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s of %s selects %v, the API server says %v", text, c.gvr.Resource, got, want)
				}
				counts = append(counts, fmt.Sprintf("%d", len(got)))
			}
			row += " " + strings.Join(counts, ", ") + " |"
		}
		var values []string
		for _, v := range c.values {
			values = append(values, fmt.Sprintf("`%q`", v))
		}
		fmt.Fprintf(&table, "%s %s |\n", row, strings.Join(values, ", "))
	}
	checkDocs(t, table.String())
}

func resourceName(gvr schema.GroupVersionResource) string {
	if gvr.Group == "" {
		return gvr.Resource
	}
	return gvr.Resource + "." + gvr.Group
}

const docs = "../docs/field-selectors.md"

// checkDocs holds the table in the docs against the one that was found.
func checkDocs(t *testing.T, table string) {
	t.Helper()
	const begin, end = "|---|---|---|---|---|\n", "\n<!-- end of the table -->"
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	inDocs, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table", docs)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if inDocs != table {
		t.Errorf("the table in %s is not what was found (go test ./server -run FieldSelectors -update):\n%s", docs, table)
	}
}

func createFieldObjects(admin api) {
	admin.t.Helper()
	admin.namespace("fields")
	eventually(admin.t, func() error { // the API server creates four by itself
		list, err := admin.Resource(namespaces).List(admin.t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) < 5 {
			err = fmt.Errorf("%d namespaces", len(list.Items))
		}
		return err
	})
	pod := func(name, spec string) {
		admin.create(podsGVR, "fields", fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},
			"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, name, spec))
	}
	pod("plain", "")
	pod("wanted", "")
	pod("full", `,"nodeName":"n1","hostNetwork":true,"restartPolicy":"Never","schedulerName":"mine","serviceAccountName":"robot"`)
	for name, status := range map[string]string{
		"full":   `{"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}`,
		"wanted": `{"status":{"nominatedNodeName":"n2"}}`,
	} {
		_, err := admin.Resource(podsGVR).Namespace("fields").Patch(admin.t.Context(), name, types.MergePatchType,
			[]byte(status), metav1.PatchOptions{}, "status")
		if err != nil {
			admin.t.Fatal(err)
		}
	}
	admin.create(nodesGVR, "", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`)
	admin.create(nodesGVR, "", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"spec":{"unschedulable":true}}`)
	admin.create(secretsGVR, "fields", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"plain"}}`)
	admin.create(secretsGVR, "fields", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"own"},"type":"example.com/own"}`)
	event := func(name, more string) {
		admin.create(eventsGVR, "fields", fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q},
			"involvedObject":{"namespace":"fields"%s}`, name, more))
	}
	event("e1", `,"kind":"Pod","name":"plain","uid":"u1","apiVersion":"v1","resourceVersion":"7","fieldPath":"spec.x"},
		"reason":"Started","type":"Normal","source":{"component":"kubelet"},"reportingComponent":"reporter","reportingInstance":"r",
		"action":"start","eventTime":"2026-01-01T00:00:00.000000Z"`)
	event("e2", `},"type":"Warning"`)
	event("e3", `},"reportingComponent":"reporter","reportingInstance":"r","action":"a","reason":"Started","type":"Normal","eventTime":"2026-01-01T00:00:00.000000Z"`)
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	admin.create(jobsGVR, "fields", job)
	admin.create(servicesGVR, "fields", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless"},"spec":{"clusterIP":"None","ports":[{"port":1}]}}`)
	admin.create(servicesGVR, "fields", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"outside"},"spec":{"type":"ExternalName","externalName":"example.com"}}`)
	admin.create(crds, "", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"paints.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"paints","singular":"paint","kind":"Paint"},
			"versions":[{"name":"v1","served":true,"storage":true,
				"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.coats"},{"jsonPath":".spec.glossy"}],
				"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
					"color":{"type":"string"},"coats":{"type":"integer","format":"int64"},"glossy":{"type":"boolean"}}}}}}}]}}`)
	eventually(admin.t, func() error {
		_, err := admin.Resource(paintsGVR).List(admin.t.Context(), metav1.ListOptions{})
		return err
	})
	admin.create(paintsGVR, "fields", `{"apiVersion":"example.com/v1","kind":"Paint","metadata":{"name":"red"},"spec":{"color":"red","coats":3,"glossy":true}}`)
	admin.create(paintsGVR, "fields", `{"apiVersion":"example.com/v1","kind":"Paint","metadata":{"name":"plain"},"spec":{}}`)
	admin.create(paintsGVR, "fields", `{"apiVersion":"example.com/v1","kind":"Paint","metadata":{"name":"thick"},"spec":{"coats":9007199254740993,"glossy":false,"color":""}}`)
}
