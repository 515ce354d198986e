package source

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/internal/record"
)

const (
	worldNamespaces = 2
	worldNames      = 9
	worldKeys       = worldNamespaces * worldNames
)

// object is one version of one object of the world. It is never changed.
type object struct {
	key             int
	uid             string
	resourceVersion int
	label           string // of key "app"; empty for none
	spec, status    int

	// whole and metadata are the JSON that subscribers must get; identity is the
	// beginning of both, without an end.
	whole, metadata, identity string
}

func namespaceOf(key int) string { return "n" + strconv.Itoa(key/worldNames) }
func nameOf(key int) string      { return "o" + strconv.Itoa(key%worldNames) }

// state is what exists at one instant, by key.
type state [worldKeys]*object

// write is one entry of the world's history.
type write struct {
	resourceVersion int
	key             int
	old, new        *object
}

// world is an API server's truth: the history of one resource, in which other
// resources take resourceVersions too.
type world struct {
	// bare says that the objects' JSON holds no resourceVersion, as if a
	// projection had taken it out: changes may then leave the projected object
	// equal.
	bare bool

	resourceVersion int
	uids            int
	writes          []write
	states          []state // states[i] is after writes[:i]
	decoder         *record.Decoder
}

func newWorld(bare bool) *world {
	return &world{
		bare:    bare,
		states:  make([]state, 1),
		decoder: record.NewDecoder(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}),
	}
}

func (w *world) now() state { return w.states[len(w.states)-1] }

// at is the state at a resourceVersion.
func (w *world) at(resourceVersion int) state { return w.states[w.firstAfter(resourceVersion)] }

// firstAfter is the index of the first write after the resourceVersion.
func (w *world) firstAfter(resourceVersion int) int {
	return sort.Search(len(w.writes), func(i int) bool { return w.writes[i].resourceVersion > resourceVersion })
}

// put creates or updates the object of the key; skip are the resourceVersions
// that other resources took meanwhile.
func (w *world) put(key, skip int, change func(o *object)) {
	w.resourceVersion += 1 + skip
	old := w.now()[key]
	o := &object{key: key}
	if old != nil {
		*o = *old
	} else {
		w.uids++
		o.uid = fmt.Sprintf("u%d", w.uids)
	}
	change(o)
	o.resourceVersion = w.resourceVersion
	w.render(o)
	w.append(write{w.resourceVersion, key, old, o})
}

func (w *world) remove(key, skip int) {
	old := w.now()[key]
	if old == nil {
		return
	}
	w.resourceVersion += 1 + skip
	w.append(write{w.resourceVersion, key, old, nil})
}

func (w *world) append(c write) {
	s := w.now()
	s[c.key] = c.new
	w.writes = append(w.writes, c)
	w.states = append(w.states, s)
}

func (w *world) render(o *object) {
	o.metadata = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":` + w.metadataOf(o, "") + `}`
	o.identity = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":` + identityOf(o)
	o.whole = strings.TrimSuffix(o.metadata, "}") + w.restOf(o) + `}`
}

func (w *world) metadataOf(o *object, extra string) string {
	s := identityOf(o)
	if !w.bare {
		s += fmt.Sprintf(`,"resourceVersion":"%d"`, o.resourceVersion)
	}
	if o.label != "" {
		s += fmt.Sprintf(`,"labels":{"app":%q}`, o.label)
	}
	return s + extra + "}"
}

func identityOf(o *object) string {
	return fmt.Sprintf(`{"name":%q,"namespace":%q,"uid":%q`, nameOf(o.key), namespaceOf(o.key), o.uid)
}

func (w *world) restOf(o *object) string {
	return fmt.Sprintf(`,"spec":{"n":%d},"status":{"n":%d}`, o.spec, o.status)
}

// watched is the record of a watch event. The API server sends the managedFields.
func (w *world) watched(o *object) *record.Record {
	r, err := w.decoder.Decode([]byte(`{"kind":"Thing","apiVersion":"example.com/v1","metadata":` +
		w.metadataOf(o, `,"managedFields":[{"manager":"m","time":"`+strconv.Itoa(o.resourceVersion)+`"}]`) + w.restOf(o) + `}`))
	if err != nil {
		panic(err)
	}
	r.ResourceVersion = strconv.Itoa(o.resourceVersion) // says nothing new, unless the world is bare
	return r
}

// listed are the records of a list. Its items have no TypeMeta.
func (w *world) listed(objects []*object) []*record.Record {
	var items []string
	for _, o := range objects {
		items = append(items, `{"metadata":`+w.metadataOf(o, "")+w.restOf(o)+`}`)
	}
	list, err := w.decoder.DecodeList([]byte(`{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{},"items":[` +
		strings.Join(items, ",") + `]}`))
	if err != nil {
		panic(err)
	}
	for i, r := range list.Items {
		r.ResourceVersion = strconv.Itoa(objects[i].resourceVersion)
	}
	return list.Items
}
