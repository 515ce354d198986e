package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/runnel-dev/runnel/client"
)

func TestParseResource(t *testing.T) {
	for in, want := range map[string]resourceName{
		"pods":                          {resource: "pods"},
		"pods.v1":                       {resource: "pods", version: "v1"},
		"pods.v1.":                      {resource: "pods", version: "v1"},
		"deployments.apps":              {resource: "deployments", group: "apps"},
		"deployments.v1.apps":           {resource: "deployments", version: "v1", group: "apps"},
		"leases.coordination.k8s.io":    {resource: "leases", group: "coordination.k8s.io"},
		"leases.v1.coordination.k8s.io": {resource: "leases", version: "v1", group: "coordination.k8s.io"},
		"things.v2beta10.example.com":   {resource: "things", version: "v2beta10", group: "example.com"},
		"things.v2gamma1.example.com":   {resource: "things", group: "v2gamma1.example.com"},
		"things.vienna.at":              {resource: "things", group: "vienna.at"},
	} {
		if got, err := parseResource(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", ".", "pods.", ".apps", "Pods", "pods/status", "pods..apps", "a.apps.", "a.v1..", "po ds", "-a", "a.b-", "pods.v1.Apps", "pöds"} {
		if got, err := parseResource(in); err == nil {
			t.Errorf("%q was read as %+v", in, got)
		}
	}
	if list, err := parseResources("pods,deployments.apps"); err != nil || len(list) != 2 {
		t.Errorf("a list of two: %v, %v", list, err)
	}
	for _, in := range []string{",", "pods,", ",pods", "pods, services"} {
		if list, err := parseResources(in); err == nil {
			t.Errorf("%q was read as %v", in, list)
		}
	}
}

// What is read as a resource is read as the same from its own text, and consists of
// nothing but what names may contain.
func FuzzParseResource(f *testing.F) {
	for _, seed := range []string{"pods", "pods.v1", "deployments.v1.apps", "pods.v1.", "a..b", "x.v1beta1.y.z", "A", "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseResource(s)
		if err != nil {
			return
		}
		if again, err := parseResource(r.String()); err != nil || again != r {
			t.Errorf("%q is %+v, but %q is %+v, %v", s, r, r.String(), again, err)
		}
		if r.String() != strings.TrimSuffix(s, ".") {
			t.Errorf("%q became %q", s, r.String())
		}
	})
}

func TestTableColumnsGrowAndStayAligned(t *testing.T) {
	var out strings.Builder
	p := newTablePrinter(bufio.NewWriter(&out), true, []resourceName{{resource: "pods"}})
	p.now = func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC) }
	long := strings.Repeat("n", 40)
	p.event("pods", client.Event{Type: client.Added, Name: long, ResourceVersion: "1", UID: "u1"})
	p.event("pods", client.Event{Type: client.Deleted, Name: "short", ResourceVersion: "2", UID: "u2", Reason: client.FinalStateUnknown})
	p.event("pods", client.Event{Type: client.Modified, Name: "short", ResourceVersion: "3", UID: "u3"})
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	want := `
TIME          RESOURCE  NAMESPACE     NAME                              EVENT     REASON     RV        UID
03:04:05.006  pods      -             nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn  ADDED     -          1         u1
03:04:05.006  pods      -             short                                     DELETED   final-state-unknown  2         u2
03:04:05.006  pods      -             short                                     MODIFIED  -                    3         u3
`
	if got := out.String(); got != want[1:] {
		t.Errorf("table\n%s\nwant\n%s", got, want[1:])
	}
}

func TestOneLineKeepsControlCharactersOffTheTerminal(t *testing.T) {
	if got, want := oneLine("a\n\tb\x1b[31m  c\r"), "a b [31m c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
