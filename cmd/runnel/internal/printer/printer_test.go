package printer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands at 2030-01-02 03:04:05.006 UTC.
func clock() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC) }

func resource(t *testing.T, plural string, allNamespaces bool) Resource {
	t.Helper()
	r, ok := resources.Find(resources.Builtin(), resources.Name{Resource: plural})
	if !ok {
		t.Fatal(plural)
	}
	return Resource{Name: r.String(), Resource: r, Columns: columns.For(r), AllNamespaces: allNamespaces}
}

func event(kind client.EventType, resource int, name, object string) Event {
	return Event{Event: client.Event{Type: kind, Resource: resource, Namespace: "web", Name: name, ResourceVersion: "7", Object: []byte(object)}}
}

// render tells a fresh table and returns what it wrote.
func render(t *testing.T, options TableOptions, all []Resource, tell func(p Printer, flush func())) string {
	t.Helper()
	var out strings.Builder
	options.Now = clock
	p := Table(&out, all, options)
	flush := func() {
		t.Helper()
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	tell(p, flush)
	flush()
	return out.String()
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want[1:] {
		t.Errorf("got\n%s\nwant\n%s", got, want[1:])
	}
}

const hourOld = `{"metadata":{"creationTimestamp":"2030-01-02T02:04:05Z"}}`

func TestTableMeasuresWhatComesTogetherAndNeverShrinks(t *testing.T) {
	got := render(t, TableOptions{}, []Resource{resource(t, "cm", true)}, func(p Printer, flush func()) {
		p.Control(Control{Type: "RESET", Resource: "configmaps", Reason: "NEW"})
		p.Event(event(client.Added, 0, "a", hourOld))
		p.Event(event(client.Added, 0, "long-name", hourOld))
		p.Control(Control{Type: "SYNCED", Resource: "configmaps"})
		p.Control(Control{Type: "SYNCED"})
		flush()
		p.Event(event(client.Modified, 0, "a", hourOld))
		flush()
		p.Event(event(client.Deleted, 0, "even-longer-name", hourOld))
		flush()
		p.Event(event(client.Modified, 0, "ä", hourOld))
	})
	want(t, got, `
EVENT          NAMESPACE   NAME        DATA   AGE
ADDED          web         a           0      60m
ADDED          web         long-name   0      60m
# synced configmaps
MODIFIED       web         a           0      60m
DELETED        web         even-longer-name   0      60m
MODIFIED       web         ä                  0      60m
`)
}

func TestTableOfOneNamespaceDoesWithoutIts(t *testing.T) {
	got := render(t, TableOptions{Wide: true, Timestamps: true}, []Resource{resource(t, "cm", false)}, func(p Printer, _ func()) {
		p.Event(event(client.Added, 0, "a", `{}`))
	})
	want(t, got, `
TIME           EVENT          NAME   DATA   AGE         RV
03:04:05.006   ADDED          a      0      <unknown>   7
`)
}

func TestTableNamesTheResourceWhereThereAreSeveral(t *testing.T) {
	all := []Resource{resource(t, "ns", false), resource(t, "deploy", true), resource(t, "ev", true)}
	got := render(t, TableOptions{}, all, func(p Printer, flush func()) {
		p.Control(Control{Type: "RESET", Resource: "namespaces", Reason: "HISTORY_REWRITTEN"})
		p.Event(event(client.Added, 0, "web", `{"status":{"phase":"Active"}}`))
		p.Event(event(client.Added, 1, "shop", `{"spec":{"replicas":2},"status":{"readyReplicas":1}}`))
		p.Event(event(client.Modified, 0, "web", `{"status":{"phase":"Terminating"}}`))
		p.Event(event(client.Added, 2, "shop.17", `{"type":"Normal","reason":"Created","message":"two\nlines \u001b[31m","involvedObject":{"kind":"Pod","name":"shop-1"}}`))
		p.Control(Control{Type: "SYNCED"})
	})
	want(t, got, `
# reset namespaces: HISTORY_REWRITTEN
EVENT          NAME            STATUS        AGE
ADDED          namespace/web   Active        <unknown>
EVENT          NAMESPACE   NAME                   READY   UP-TO-DATE   AVAILABLE   AGE
ADDED          web         deployment.apps/shop   1/2     0            0           <unknown>
MODIFIED       namespace/web   Terminating   <unknown>
EVENT          NAMESPACE   LAST SEEN   TYPE     REASON    OBJECT       MESSAGE          NAME
ADDED          web         <unknown>   Normal   Created   pod/shop-1   two lines [31m   event/shop.17
# synced: all resources
`)
}

func TestTableRepeatsHeadersAPageLater(t *testing.T) {
	all := []Resource{resource(t, "ns", false), resource(t, "cm", false)}
	got := render(t, TableOptions{}, all, func(p Printer, _ func()) {
		p.Event(event(client.Added, 0, "web", `{}`))
		for i := range page {
			p.Event(event(client.Added, 1, fmt.Sprint(i), `{}`))
		}
		p.Event(event(client.Modified, 0, "web", `{}`))
		p.Event(event(client.Modified, 1, "1", `{}`))
	})
	if n := strings.Count(got, "STATUS"); n != 2 {
		t.Errorf("%d headers of namespaces, want 2:\n%s", n, got)
	}
	if n := strings.Count(got, "DATA"); n != 2 {
		t.Errorf("%d headers of configmaps, want 2:\n%s", n, got)
	}
	alone := render(t, TableOptions{}, all[:1], func(p Printer, _ func()) {
		for range 3 * page {
			p.Event(event(client.Added, 0, "web", `{}`))
		}
	})
	if n := strings.Count(alone, "STATUS"); n != 1 {
		t.Errorf("%d headers of a resource alone, want 1", n)
	}
}

func TestTableSaysWhatIsUnusualOfASource(t *testing.T) {
	got := render(t, TableOptions{}, []Resource{resource(t, "cm", false)}, func(p Printer, _ func()) {
		for _, state := range []string{"STARTING", "SYNCED", "STALE", "SYNCED"} {
			p.Control(Control{Type: "STATUS", Resource: "configmaps", State: state})
		}
	})
	want(t, got, `
# status configmaps: STARTING
# status configmaps: STALE
# status configmaps: SYNCED
`)
}

func TestTableSaysOnceThatAResourceIsSynced(t *testing.T) {
	all := []Resource{resource(t, "cm", false), resource(t, "ns", false)}
	got := render(t, TableOptions{}, all, func(p Printer, _ func()) {
		for _, c := range []Control{
			{Type: "RESET", Resource: "configmaps", Reason: "NEW"}, {Type: "SYNCED", Resource: "configmaps"},
			{Type: "RESUMED", Resource: "configmaps"}, {Type: "SYNCED", Resource: "configmaps"}, {Type: "SYNCED", Resource: "namespaces"}, {Type: "SYNCED"},
			{Type: "RESUMED", Resource: "configmaps"}, {Type: "RESUMED", Resource: "namespaces"},
			{Type: "SYNCED", Resource: "configmaps"}, {Type: "SYNCED", Resource: "namespaces"}, {Type: "SYNCED"},
			{Type: "RESUMED", Resource: "configmaps"}, {Type: "RESET", Resource: "namespaces", Reason: "TOKEN_EXPIRED"},
			{Type: "SYNCED", Resource: "configmaps"}, {Type: "SYNCED", Resource: "namespaces"}, {Type: "SYNCED"},
		} {
			p.Control(c)
		}
	})
	want(t, got, `
# synced configmaps
# synced namespaces
# synced: all resources
# reset namespaces: TOKEN_EXPIRED
# synced namespaces
# synced: all resources
`)
}

func TestTableHasRoomForWhatMayLeave(t *testing.T) {
	got := render(t, TableOptions{MayLeave: true}, []Resource{resource(t, "cm", false)}, func(p Printer, flush func()) {
		p.Event(event(client.Added, 0, "a", `{}`))
		flush()
		e := event(client.Deleted, 0, "a", `{}`)
		e.Reason = client.LeftView
		p.Event(e)
	})
	want(t, got, `
EVENT               NAME   DATA   AGE
ADDED               a      0      <unknown>
DELETED left-view   a      0      <unknown>
`)
}

func TestTableColoursWhatHappenedAndNoMore(t *testing.T) {
	got := render(t, TableOptions{Colour: true, Changes: true}, []Resource{resource(t, "cm", false)}, func(p Printer, _ func()) {
		p.Event(event(client.Added, 0, "a", `{}`))
		e := event(client.Modified, 0, "a", `{"data":{"x":"1"}}`)
		e.Previous = []byte(`{}`)
		p.Event(e)
		d := event(client.Deleted, 0, "a", `{}`)
		d.Reason = client.Gone
		p.Event(d)
	})
	want(t, got, `
EVENT          NAME   DATA   AGE
`+"\x1b[32mADDED\x1b[0m          a      0      <unknown>\n"+
		"\x1b[33mMODIFIED\x1b[0m       a      1      <unknown>\n"+
		"\x1b[2m    data: (none) → {\"x\":\"1\"}\x1b[0m\n"+
		"\x1b[31mDELETED gone\x1b[0m   a      0      <unknown>\n")
}

func TestTableShowsSomeChangesOfMany(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":1,`, i)
	}
	got := render(t, TableOptions{Changes: true}, []Resource{resource(t, "cm", false)}, func(p Printer, _ func()) {
		e := event(client.Modified, 0, "a", `{`+strings.TrimSuffix(many.String(), ",")+`}`)
		e.Previous = []byte(`{}`)
		p.Event(e)
	})
	if n := strings.Count(got, "→"); n != mostChanges || !strings.HasSuffix(got, "    …\n") {
		t.Errorf("%d changes are shown:\n%s", n, got)
	}
}

func TestOneLineKeepsControlCharactersOffTheTerminal(t *testing.T) {
	if got, want := OneLine("a\n\tb\x1b[31m  c\r"), "a b [31m c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSONPathSaysWhatItCannotDo(t *testing.T) {
	var out strings.Builder
	p, err := JSONPath(&out, `{.spec[0]}`)
	if err != nil {
		t.Fatal(err)
	}
	p.Event(event(client.Added, 0, "a", `{"spec":"text"}`))
	if err := p.Flush(); err == nil || !strings.Contains(err.Error(), "web/a") {
		t.Errorf("got %v", err)
	}
	if _, err := JSONPath(&out, `{.a`); err == nil {
		t.Error("half a template was taken")
	}
}
