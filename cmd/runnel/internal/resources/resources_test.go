package resources

import (
	"slices"
	"strings"
	"testing"
)

func TestParseReadsNamesOfAnyForm(t *testing.T) {
	for in, want := range map[string]Name{
		"pods":                          {Resource: "pods"},
		"Pod":                           {Resource: "pod"},
		"PODS":                          {Resource: "pods"},
		"pods.v1":                       {Resource: "pods", Version: "v1", HasGroup: true},
		"pods.v1.":                      {Resource: "pods", Version: "v1", HasGroup: true},
		"deployments.apps":              {Resource: "deployments", Group: "apps", HasGroup: true},
		"deployments.v1.apps":           {Resource: "deployments", Version: "v1", Group: "apps", HasGroup: true},
		"leases.coordination.k8s.io":    {Resource: "leases", Group: "coordination.k8s.io", HasGroup: true},
		"leases.v1.coordination.k8s.io": {Resource: "leases", Version: "v1", Group: "coordination.k8s.io", HasGroup: true},
		"things.v2beta10.example.com":   {Resource: "things", Version: "v2beta10", Group: "example.com", HasGroup: true},
		"things.v2gamma1.example.com":   {Resource: "things", Group: "v2gamma1.example.com", HasGroup: true},
		"things.vienna.at":              {Resource: "things", Group: "vienna.at", HasGroup: true},
	} {
		if got, err := Parse(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "pods.", ".apps", "pods/status", "pods..apps", "a.apps.", "a.v1..", "po ds", "-a", "a.b-", "pods.v1.Apps", "pöds"} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q was read as %+v", in, got)
		}
	}
}

// What is read as a name is read as the same from its own text, and consists of
// nothing but what names may contain.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"pods", "pods.v1", "deployments.v1.apps", "pods.v1.", "a..b", "x.v1beta1.y.z", "A", ".", "Kind.g"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(n.String()); err != nil || again != n {
			t.Errorf("%q is %+v, but %q is %+v, %v", s, n, n.String(), again, err)
		}
		if !strings.EqualFold(n.String(), strings.TrimSuffix(s, ".")) {
			t.Errorf("%q became %q", s, n.String())
		}
	})
}

func TestFindResolvesNamesAsKubectlDoes(t *testing.T) {
	all := append(Builtin(),
		Resource{Group: "example.com", Plural: "widgets", Singular: "widget", Kind: "WidgetKind", Short: []string{"wi", "po"}},
		Resource{Group: "example.com", Plural: "deploy", Singular: "deploy", Kind: "Deploy"},
		Resource{Group: "serving.knative.dev", Plural: "services", Singular: "service", Kind: "Service", Short: []string{"kservice"}},
		Resource{Group: "example.com.au", Plural: "gadgets", Kind: "Gadget"},
	)
	for name, want := range map[string]string{
		"pods": "pods", "pod": "pods", "Pod": "pods", "po": "pods", "pods.v1": "pods", "po.v1.": "pods",
		"deployments.apps": "deployments.apps", "Deployment": "deployments.apps", "deploy.v1.apps": "deployments.apps", "deploy.v7.apps": "deployments.apps",
		"svc": "services", "service": "services", "services.serving.knative.dev": "services.serving.knative.dev", "kservice": "services.serving.knative.dev",
		"events": "events", "ev": "events", "events.events.k8s.io": "events.events.k8s.io", "ev.v1.": "events",
		"crd": "customresourcedefinitions.apiextensions.k8s.io", "no": "nodes", "sts": "statefulsets.apps",
		"endpoints": "endpoints", "ep": "endpoints", "hpa": "horizontalpodautoscalers.autoscaling",
		"ing.networking": "ingresses.networking.k8s.io", // the beginning of a group will do
		"widgetkind":     "widgets.example.com", "wi": "widgets.example.com", "widgets.example.com": "widgets.example.com",
		"po.example.com": "widgets.example.com", "gadget": "gadgets.example.com.au", "gadgets.example.com": "gadgets.example.com.au",
		"widgets.example.com.au": "", "widgets.v1": "", "widget.apps": "", "nothing": "", "pod.apps": "",
	} {
		n, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Find(all, n)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q is %v, %v; want %q", name, got, ok, want)
		}
	}
	// A plural comes before a short name, even of a built-in.
	if got, _ := Find(all, Name{Resource: "deploy"}); got.Group != "example.com" {
		t.Errorf("deploy is %v", got)
	}
}

func TestObjectsAreNamedAsKubectlNamesThem(t *testing.T) {
	for want, r := range map[string]Resource{
		"pod/a":             {Plural: "pods", Singular: "pod", Kind: "Pod"},
		"deployment.apps/a": {Group: "apps", Plural: "deployments", Singular: "deployment"},
		"thing.x/a":         {Group: "x", Plural: "things", Kind: "Thing"},
		"things.x/a":        {Group: "x", Plural: "things"},
	} {
		if got := r.Object("a"); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

func TestCompleteOffersEachResourceOnce(t *testing.T) {
	got := Complete(Builtin(), "e")
	want := []string{"endpoints", "endpointslices", "events", "events.events.k8s.io"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if all := Complete(Builtin(), ""); len(all) != len(Builtin()) {
		t.Errorf("%d names of %d resources", len(all), len(Builtin()))
	}
}

const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wi"],"categories":["all"]},
"scope":"Namespaced","versions":[
{"name":"v1alpha1","served":true,"storage":false},
{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[
{"name":"Size","type":"integer","jsonPath":".spec.size","description":"how large"},
{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","priority":1}]},
{"name":"v2","served":false},
{"name":"v2beta1","served":true}]}}`

func TestDefinitionsTellNamesAndColumns(t *testing.T) {
	d, err := FromDefinition([]byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	if d.String() != "widgets.example.com" || d.Object("a") != "widget.example.com/a" || !d.Namespaced || !slices.Equal(d.Short, []string{"wi"}) || d.Kind != "Widget" {
		t.Errorf("%+v", d.Resource)
	}
	var versions []string
	for _, v := range d.Versions {
		versions = append(versions, v.Name)
	}
	if want := []string{"v1", "v2beta1", "v1alpha1"}; !slices.Equal(versions, want) {
		t.Errorf("versions %q, want those served, the preferred one first: %q", versions, want)
	}
	want := []PrinterColumn{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}, {Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Priority: 1}}
	for version, want := range map[string][]PrinterColumn{"": want, "v1": want, "v1alpha1": nil, "v2": nil} {
		if got := d.Columns(version); !slices.Equal(got, want) {
			t.Errorf("columns of %q: %+v, want %+v", version, got, want)
		}
	}
	if _, err := FromDefinition([]byte(`{"spec":[]}`)); err == nil {
		t.Error("no error for what is no definition")
	}
}
