package source

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/view"
)

// Times are those of a synctest bubble, in which the API server is spoken to
// through memory: backoffs pass at once, and synctest.Wait waits until all that was
// sent has been taken in.

// pass lets time pass in a bubble, and waits until all that happens in it has been
// taken in.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // only so does a bubble's clock move
	synctest.Wait()
}

// answer is what the scripted API server does on one request.
type answer struct {
	// request is what must be asked: "list", "watch 7", "watchlist", "at 7 name" for an
	// object as it was, or "identities" for who is there.
	request string
	// after is how long the answer takes.
	after time.Duration
	// status is not 200 for a refusal, whose Status is of the reason.
	status int
	reason string
	// body is a list, or the events of a watch; "after 1m" is a pause.
	body []string
	// end says that a watch ends with its events, and lasts when it does; others stay
	// open.
	end   bool
	lasts time.Duration
}

// apiServer answers requests by a script.
type apiServer struct {
	t       *testing.T
	answers chan answer
	asked   int
	// current is the newest resourceVersion. It may be asked for at any time; that
	// counts as nothing.
	current atomic.Int64
	// open is the number of requests under way.
	open atomic.Int32
}

// newAPIServer returns the way to an API server, and where to add to its script.
func newAPIServer(t *testing.T) (*rest.Config, *apiServer) {
	api := &apiServer{t: t, answers: make(chan answer, 100)}
	api.current.Store(1_000_000)
	listener := newMemoryListener()
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		if len(api.answers) > 0 {
			t.Errorf("not asked: %s", (<-api.answers).request)
		}
	})
	t.Cleanup(func() { _ = server.Close() })
	return &rest.Config{
		Host: "http://api",
		Dial: listener.dial,
	}, api
}

// memoryListener connects through net.Pipe, whose deadlines are exact: the HTTP
// server interrupts reads by them.
type memoryListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the other end of what was dialed.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close makes dialing fail.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is of no use.
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// will adds to the script.
func (a *apiServer) will(answers ...answer) {
	for _, an := range answers {
		a.answers <- an
	}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("limit") == "1" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, list(strconv.FormatInt(a.current.Load(), 10))[0])
		return
	}
	a.asked++
	a.open.Add(1)
	defer a.open.Add(-1)
	request, path := "list", "/apis/example.com/v1/things"
	switch {
	case q.Get("resourceVersionMatch") == "Exact":
		request = "at " + q.Get("resourceVersion") + " " + q.Get("fieldSelector")[strings.LastIndex(q.Get("fieldSelector"), "=")+1:]
		path = "/apis/example.com/v1/namespaces/ns/things"
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		request = "identities" + q.Get("continue")
	case q.Get("sendInitialEvents") == "true":
		request = "watchlist"
	case q.Get("watch") != "":
		request = "watch " + q.Get("resourceVersion")
	}
	var an answer
	select {
	case an = <-a.answers:
	default: // the script is at its end
		<-r.Context().Done()
		return
	}
	if an.request != request || r.URL.Path != path {
		a.t.Errorf("asked %s of %s, not %s", request, r.URL.Path, an.request)
	}
	<-time.After(an.after)
	w.Header().Set("Content-Type", "application/json")
	if an.status != 0 {
		w.WriteHeader(an.status)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
			"no: "+an.reason, an.reason, an.status)
		return
	}
	for _, line := range an.body {
		if pause, ok := strings.CutPrefix(line, "after "); ok {
			w.(http.Flusher).Flush()
			d, err := time.ParseDuration(pause)
			if err != nil {
				a.t.Error(err)
			}
			select {
			case <-time.After(d):
			case <-r.Context().Done():
				return
			}
			continue
		}
		_, _ = io.WriteString(w, line+"\n")
	}
	w.(http.Flusher).Flush()
	if strings.HasPrefix(request, "watch") && !an.end {
		var over <-chan time.Time
		if an.lasts > 0 {
			over = time.After(an.lasts)
		}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}
}

// event is a watch event; the object is written "name uid@resourceVersion".
func event(typ, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`, typ, thing(`"apiVersion":"example.com/v1","kind":"Thing",`, object))
}

func thing(typeMeta, object string) string {
	name, rest, _ := strings.Cut(object, " ")
	uid, rv, _ := strings.Cut(rest, "@")
	return fmt.Sprintf(`{%s"metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":%q}}`, typeMeta, name, uid, rv)
}

func bookmark(resourceVersion string, initialEventsEnd bool) string {
	annotations := ""
	if initialEventsEnd {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"resourceVersion":%q%s}}}`,
		resourceVersion, annotations)
}

func list(resourceVersion string, objects ...string) []string {
	var items []string
	for _, o := range objects {
		items = append(items, thing("", o))
	}
	return []string{fmt.Sprintf(`{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":%q},"items":[%s]}`,
		resourceVersion, strings.Join(items, ","))}
}

const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}`

// noWatchList makes client-go list, as it does where the API server is old.
var noWatchList = answer{request: "watchlist", status: http.StatusUnprocessableEntity, reason: "Invalid"}

var things = resource.Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
	Kind:                 "Thing",
	Namespaced:           true,
}

// watched is a source that a pool feeds from a scripted API server.
type watched struct {
	t    *testing.T
	api  *apiServer
	pool *Pool
	// installed tells what the API server serves.
	installed *discovery
	source    *Source
	release   func()
}

// inBubble runs a test of a source; its script begins with the answers.
func inBubble(t *testing.T, f func(w *watched), answers ...answer) {
	inBubbleWith(t, Limits{}, f, answers...)
}

func inBubbleWith(t *testing.T, limits Limits, f func(w *watched), answers ...answer) {
	synctest.Test(t, func(t *testing.T) {
		cfg, api := newAPIServer(t)
		api.will(answers...)
		installed := &discovery{installed: true}
		pool, err := NewPool(PoolConfig{REST: cfg, Limits: limits, IdleStop: time.Hour, Resolver: installed, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- pool.Run(ctx) }()
		w := &watched{t: t, api: api, pool: pool, installed: installed}
		w.source, w.release = pool.Open(things)
		defer func() {
			w.release()
			stop()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		f(w)
	})
}

// open returns a cursor over everything.
func (w *watched) open() *view.Cursor {
	w.t.Helper()
	v, release, err := want{}.open(w.source)
	if err != nil {
		w.t.Fatal(err)
	}
	c := v.NewCursor(make(chan struct{}, 1), false)
	w.t.Cleanup(func() { c.Close(); release() })
	return c
}
