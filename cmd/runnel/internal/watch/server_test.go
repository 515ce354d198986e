package watch

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/controlplane"
	"github.com/runnel-dev/runnel/server"
)

// The whole way, with nothing made up: API server, Runnel server, command.
func TestWatchWithARealServer(t *testing.T) {
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
	api, err := dynamic.NewForConfig(cp.RESTConfig(controlplane.Admin))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNNEL_SERVER", serve(t, cp.RESTConfig(controlplane.Admin)))

	create(t, api.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}), definition)
	create(t, api.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}),
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":9007199254740993}}`)
	code, stdout, stderr := run(t, "wi,ns", "-n", "default", "--insecure", "--until-synced", "--verify")
	for _, want := range []string{
		"EVENT          NAME                   SIZE\nADDED          widget.example.com/w   9007199254740993\n",
		"namespace/default ", "# synced widgets.example.com: 1 object, verified\n", "# synced: all resources\n",
	} {
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Fatalf("exit code %d, stderr %q, stdout without %q:\n%s", code, stderr, want, stdout)
		}
	}

	configMaps := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	create(t, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"web"}},"data":{"x":"1"}}`)
	create(t, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","labels":{"app":"web"}}}`)
	lines := live(t, "cm", "-n", "default", "-l", "app=web", "--field", "metadata.name!=b", "--show-patch", "--ignore", "metadata.annotations", "--insecure")
	expect(t, lines,
		`EVENT               NAME   DATA   AGE`,
		`ADDED               a      1      \d+s`,
		`# synced configmaps: 1 object`)
	for _, change := range []struct {
		patch string
		lines []string
	}{
		// The annotation is not worth a row, the resourceVersion is.
		{`{"metadata":{"annotations":{"noise":"1"}}}`, []string{`MODIFIED            a      1      \d+s`, `    metadata.resourceVersion: "\d+" → "\d+"`}},
		{`{"data":{"x":"2","y":"1"}}`, []string{`MODIFIED            a      2      \d+s`, `    data.x: "1" → "2"`, `    data.y: \(none\) → "1"`}},
		{`{"metadata":{"labels":{"app":"canary"}}}`, []string{`DELETED left-view   a      2      \d+s`}},
	} {
		if _, err := configMaps.Patch(t.Context(), "a", types.MergePatchType, []byte(change.patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(t, lines, change.lines...)
	}

	// The server is away while something happens. The one that takes its place knows
	// nothing of the past, and tells the difference.
	address, stop := serveAt(t, cp.RESTConfig(controlplane.Admin), "127.0.0.1:0")
	var notes strings.Builder
	lines, end := start(t, &notes, "cm", "-n", "default", "-l", "app", "--field", "metadata.name!=b", "--insecure", "--server", address)
	expect(t, lines,
		`EVENT               NAME   DATA   AGE`,
		`ADDED               a      2      \d+s`,
		`# synced configmaps: 1 object`)
	stop()
	if err := configMaps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"app":"web"}}}`)
	serveAt(t, cp.RESTConfig(controlplane.Admin), address)
	expect(t, lines,
		`# goodbye: DRAINING, again after .+`,
		`DELETED final-state-unknown   a      2      \d+s`,
		`ADDED                         c      0      \d+s`)
	if code := end(); code != 0 || !strings.HasSuffix(notes.String(), "runnel: connected\nrunnel: resumed configmaps\n") {
		t.Errorf("exit code %d, stderr %q", code, notes.String())
	}
}

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wi"]},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Far","type":"string","jsonPath":".spec.far","priority":1}]}]}}`

// serve runs a Runnel server until the test ends.
func serve(t *testing.T, api *rest.Config) (address string) {
	t.Helper()
	address, _ = serveAt(t, api, "127.0.0.1:0")
	return address
}

// serveAt runs a Runnel server until stop is called, or the test ends.
func serveAt(t *testing.T, api *rest.Config, at string) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Listener: listener, REST: api, Insecure: true, Drain: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// create creates an object; that of a custom resource once it is served.
func create(t *testing.T, resource dynamic.ResourceInterface, text string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(30 * time.Second)
	for {
		_, err := resource.Create(t.Context(), u, metav1.CreateOptions{})
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// live runs the command until the test ends, and returns the lines of its output.
func live(t *testing.T, args ...string) <-chan string {
	t.Helper()
	var stderr strings.Builder
	lines, end := start(t, &stderr, args...)
	t.Cleanup(func() {
		if code := end(); code != 0 || stderr.String() != "" {
			t.Errorf("exit code %d, stderr %q", code, stderr.String())
		}
	})
	return lines
}

// start runs the command until end is called, or the test ends. Stderr may be read after
// that.
func start(t *testing.T, stderr io.Writer, args ...string) (lines <-chan string, end func() (code int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := runTo(ctx, writer, stderr, args...)
		writer.Close()
		done <- code
	}()
	all := make(chan string, 100)
	go func() {
		defer close(all)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			all <- scanner.Text()
		}
	}()
	end = sync.OnceValue(func() int {
		cancel()
		return <-done
	})
	t.Cleanup(func() { end() })
	return all, end
}

// expect reads lines and compares each with a pattern.
func expect(t *testing.T, lines <-chan string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		select {
		case line := <-lines:
			if strings.HasPrefix(line, "# status") { // the source starts
				line = <-lines
			}
			if !regexp.MustCompile("^" + pattern + "$").MatchString(line) {
				t.Fatalf("line %q, want %q", line, pattern)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no line, want %q", pattern)
		}
	}
}
