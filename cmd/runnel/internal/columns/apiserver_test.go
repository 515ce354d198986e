package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
	"github.com/runnel-dev/runnel/internal/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kubectl get prints what the API server says when it is asked for a table. So do we,
// without asking it: for the same objects both tables must be the same.
func TestColumnsAreThoseOfTheAPIServersTables(t *testing.T) {
	assets, ok := controlplane.Find()
	if !ok {
		t.Fatal(controlplane.ErrNoAssets)
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Config{Assets: assets})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	}()
	api := newAPI(t, cp.RESTConfig(controlplane.Admin))
	for _, sample := range samples() {
		api.create(t, sample)
	}
	for _, r := range resources.Builtin() {
		if wellKnown(r.String()) == nil {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			table := api.table(t, r)
			if len(table.Rows) == 0 {
				t.Error("no sample")
			}
			compare(t, table, For(r), omitted[r.String()])
		})
	}
	t.Run("custom", func(t *testing.T) {
		crd := api.create(t, widgetDefinition)
		text, err := crd.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		d, err := resources.FromDefinition(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range widgets {
			api.create(t, sample)
		}
		compare(t, api.table(t, d.Resource), Custom(d.Columns("")), nil)
	})
}

// omitted are columns that we do without: they say little or take a page of code.
var omitted = map[string][]string{
	"horizontalpodautoscalers.autoscaling": {"TARGETS"},
}

func compare(t *testing.T, table *table, columns []Column, omitted []string) {
	t.Helper()
	var definitions []metav1.TableColumnDefinition
	var cells []int
	for i, d := range table.ColumnDefinitions {
		if !slices.Contains(omitted, strings.ToUpper(d.Name)) {
			definitions, cells = append(definitions, d), append(cells, i)
		}
	}
	var got, want []string
	for _, c := range columns {
		got = append(got, fmt.Sprintf("%s %v", c.Name, c.Wide))
	}
	for _, d := range definitions {
		want = append(want, fmt.Sprintf("%s %v", strings.ToUpper(d.Name), d.Priority > 0))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("columns\n%q, want\n%q", got, want)
	}
	now := time.Now()
	for _, row := range table.Rows {
		o, err := Decode(row.Object)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range columns {
			want := ""
			if cell := row.Cells[cells[i]]; cell != nil {
				want = fmt.Sprint(cell)
			}
			switch {
			case c.Cell == nil:
				if want != o.text("metadata.name") {
					t.Errorf("%s: the name is in another column", want)
				}
			case c.Name == "AGE": // of a second or two
				if c.Cell(o, now) == "" {
					t.Errorf("%s: no age", o.text("metadata.name"))
				}
			default:
				if got := c.Cell(o, now); got != want {
					t.Errorf("%s: %s is %q, want %q", o.text("metadata.name"), c.Name, got, want)
				}
			}
		}
	}
}

// table is a metav1.Table in which numbers keep their digits.
type table struct {
	ColumnDefinitions []metav1.TableColumnDefinition `json:"columnDefinitions"`
	Rows              []struct {
		Cells  []any           `json:"cells"`
		Object json.RawMessage `json:"object"`
	} `json:"rows"`
}

type api struct {
	dynamic.Interface
	raw *rest.RESTClient
}

func newAPI(t *testing.T, cfg *rest.Config) api {
	t.Helper()
	cfg.QPS = -1                                      // without a limit
	cfg.WarningHandlerWithContext = rest.NoWarnings{} // some samples are old-fashioned
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(cfg))
	if err != nil {
		t.Fatal(err)
	}
	return api{client, raw}
}

// create creates an object and sets its status. A custom resource takes a moment to be
// served.
func (a api) create(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	gvk := u.GroupVersionKind()
	r, ok := resources.Find(append(resources.Builtin(), widgetResource), resources.Name{
		Resource: strings.ToLower(gvk.Kind), Group: gvk.Group, HasGroup: true,
	})
	if !ok {
		t.Fatalf("%v is no resource", gvk)
	}
	var client dynamic.ResourceInterface = a.Resource(gvk.GroupVersion().WithResource(r.Plural))
	if r.Namespaced {
		client = client.(dynamic.NamespaceableResourceInterface).Namespace("default")
	}
	var created *unstructured.Unstructured
	deadline := time.After(30 * time.Second)
	for {
		var err error
		if created, err = client.Create(t.Context(), u, metav1.CreateOptions{}); err == nil {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", u.GetName(), err)
		case <-time.After(50 * time.Millisecond):
			if gvk.Group != widgetResource.Group {
				t.Fatalf("%s: %v", u.GetName(), err)
			}
		}
	}
	if u.Object["status"] != nil && gvk.Group != widgetResource.Group {
		created.Object["status"] = u.Object["status"]
		if _, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
			t.Errorf("status of %s: %v", u.GetName(), err)
		}
	}
	if u.GetDeletionTimestamp() != nil {
		if err := client.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return created
}

// table lists a resource as kubectl get does, each row with its whole object.
func (a api) table(t *testing.T, r resources.Resource) *table {
	t.Helper()
	version := map[string]string{"autoscaling": "v2"}[r.Group]
	if version == "" {
		version = "v1"
	}
	path := "/api/v1"
	if r.Group != "" {
		path = "/apis/" + schema.GroupVersion{Group: r.Group, Version: version}.String()
	}
	text, err := a.raw.Get().AbsPath(path, r.Plural).Param("includeObject", "Object").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := &table{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(got); err != nil {
		t.Fatal(err)
	}
	return got
}
