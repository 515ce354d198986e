package client

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// world is the history of a few objects, as replicas of a server see it one after the
// other, and the tokens that they have issued.
type world struct {
	t *rapid.T
	// calm says that nothing happens any more, and nothing breaks.
	calm   bool
	states []worldState
	// epochBegin is the first state since history was rewritten.
	epochBegin int
	// left are objects that are not selected now, by name.
	left map[string]*runnelv1.Event
	// uids are all objects that ever were, by hash; bodies all contents, by version.
	uids   map[uint64]*runnelv1.Event
	bodies map[uint64]string
	tokens map[string]issued
}

// worldState is what exists at a resourceVersion.
type worldState struct {
	epoch, resourceVersion int
	objects                map[string]*runnelv1.Event // by name
}

// issued is what a token says.
type issued struct {
	epoch, last int
	// exact says that its owner held just the objects of the state.
	exact bool
	state int
}

func newWorld(t *rapid.T) *world {
	return &world{
		t: t, states: []worldState{{resourceVersion: 100, objects: map[string]*runnelv1.Event{}}}, left: map[string]*runnelv1.Event{},
		uids: map[uint64]*runnelv1.Event{}, bodies: map[uint64]string{}, tokens: map[string]issued{},
	}
}

func (s worldState) string() string { return strconv.Itoa(s.resourceVersion) }

func (s worldState) digest() (d Digest) {
	for _, e := range s.objects {
		d.add(e.GetUid(), e.GetVersion())
	}
	return d
}

// advance lets something happen.
func (w *world) advance() {
	last := w.states[len(w.states)-1]
	next := worldState{epoch: last.epoch, resourceVersion: last.resourceVersion + 1, objects: maps.Clone(last.objects)}
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.t, "name")
	held := last.objects[name]
	switch what := rapid.SampledFrom([]string{"create", "create", "modify", "modify", "delete", "leave", "bump", "restore"}).Draw(w.t, "what"); {
	case what == "restore" && rapid.IntRange(0, 4).Draw(w.t, "restored") == 0:
		backup := w.states[rapid.IntRange(w.epochBegin, len(w.states)-1).Draw(w.t, "backup")]
		next = worldState{epoch: last.epoch + 1, resourceVersion: backup.resourceVersion, objects: maps.Clone(backup.objects)}
		w.left, w.epochBegin = map[string]*runnelv1.Event{}, len(w.states)
	case what == "create": // or re-create, or come back
		uid := fmt.Sprint("uid-", len(w.uids))
		if e := w.left[name]; e != nil && held == nil {
			uid = e.GetUid()
		}
		w.put(next, name, uid, "")
	case held == nil:
	case what == "modify":
		w.put(next, name, held.GetUid(), "")
	case what == "bump": // of what is not in the projection
		w.put(next, name, held.GetUid(), w.bodies[held.GetVersion()])
	case what == "delete":
		delete(next.objects, name)
	case what == "leave":
		delete(next.objects, name)
		w.left[name] = held
	}
	w.states = append(w.states, next)
}

// put makes a state of an object; an empty body is one that was never there.
func (w *world) put(s worldState, name, uid, body string) {
	if body == "" {
		body = fmt.Sprint(len(w.bodies))
	}
	e := added(name, uid, s.string(), body)
	s.objects[name], w.uids[uidHash(uid)], w.bodies[e.GetVersion()] = e, e, body
	delete(w.left, name)
}

func (w *world) issue(token issued) string {
	text := fmt.Sprint(len(w.tokens))
	w.tokens[text] = token
	return text
}

// parse is what a subscriber says it holds, by UID.
func (w *world) parse(known []byte) map[string]*runnelv1.Event {
	all := map[string]*runnelv1.Event{}
	for pair := range slices.Chunk(known, 16) {
		e := w.uids[binary.LittleEndian.Uint64(pair)]
		version := binary.LittleEndian.Uint64(pair[8:])
		all[e.GetUid()] = added(e.GetName(), e.GetUid(), "", w.bodies[version])
	}
	return all
}
