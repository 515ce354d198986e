package source

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// take applies one event to what the subscriber holds.
func (r *reader) take(t *rapid.T, e *runnelv1.Event) {
	key := keyOf(e.GetNamespace(), e.GetName())
	rv, err := strconv.Atoi(e.GetResourceVersion())
	if err != nil {
		t.Fatalf("D4: resourceVersion of %v: %v", e, err)
	}
	if floor := r.floors[e.GetUid()]; rv < floor {
		t.Fatalf("D2: resourceVersion %d after %d: %v", rv, floor, e)
	}
	r.floors[e.GetUid()] = rv
	held, holds := r.held[key]

	if e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
		if !holds || held.uid != e.GetUid() {
			t.Fatalf("D4: DELETED of what is not held: %v", e)
		}
		last, ok := r.oracle.lastEnding(r.want, key, held.uid, held.moment)
		switch {
		case !ok:
			t.Fatalf("D4: DELETED, but it never went: %v", e)
		case last.reason != e.GetReason():
			t.Fatalf("D4: it went by %v: %v", last.reason, e)
		case rv != last.resourceVersion:
			t.Fatalf("D4: it went at %d: %v", last.resourceVersion, e)
		case e.GetVersion() != 0 || e.GetPayload() != nil:
			t.Fatalf("D4: DELETED with a state: %v", e)
		}
		delete(r.held, key)
		return
	}

	switch {
	case e.GetType() == runnelv1.EventType_EVENT_TYPE_ADDED && holds && held.uid != e.GetUid():
		t.Fatalf("D5: ADDED while %s is held: %v", held.uid, e)
	case e.GetType() == runnelv1.EventType_EVENT_TYPE_ADDED && holds:
		t.Fatalf("D4: ADDED of what is held: %v", e)
	case e.GetType() == runnelv1.EventType_EVENT_TYPE_MODIFIED && holds && held.uid != e.GetUid():
		t.Fatalf("D5: MODIFIED from %s: %v", held.uid, e)
	case e.GetType() == runnelv1.EventType_EVENT_TYPE_MODIFIED && !holds:
		t.Fatalf("D4: MODIFIED of what is not held: %v", e)
	}
	now := r.oracle.now()[key]
	json := r.want.of(now)
	switch {
	case json == "":
		t.Fatalf("D4: not in the view: %v", e)
	case e.GetUid() != now.uid:
		t.Fatalf("D5: it is now %s: %v", now.uid, e)
	case rv != now.resourceVersion:
		t.Fatalf("D2: it is now at %d: %v", now.resourceVersion, e)
	case e.GetMergePatchJson() != "":
		r.takePatch(t, e, held, holds, json)
	case e.GetObjectJson() != json:
		t.Fatalf("D14: it is now %s: %v", json, e)
	case e.GetBaseVersion() != 0:
		t.Fatalf("D14: a base, but no patch: %v", e)
	}
	switch {
	case e.GetVersion() != xxhash.Sum64String(json):
		t.Fatalf("D15: version of %v", e)
	case e.GetReason() != runnelv1.DeletionReason_DELETION_REASON_UNSPECIFIED:
		t.Fatalf("D4: a reason on %v", e)
	}
	if holds && held.json == json && !r.oracle.otherwise(r.want, key, json, held.moment) {
		t.Fatalf("D6: equal to what is held: %v", e)
	}
	delete(r.stale, key)
	r.held[key] = heldObject{now.uid, rv, json, r.oracle.visible}
}

// takePatch checks that a patch applies to what the subscriber holds, and yields
// what it must.
func (r *reader) takePatch(t *rapid.T, e *runnelv1.Event, held heldObject, holds bool, json string) {
	switch {
	case !r.patches:
		t.Fatalf("D14: a patch that was not asked for: %v", e)
	case !holds || e.GetType() != runnelv1.EventType_EVENT_TYPE_MODIFIED:
		t.Fatalf("D4: a patch of what is not held: %v", e)
	case e.GetBaseVersion() != xxhash.Sum64String(held.json):
		t.Fatalf("D14: a patch of something else than %s: %v", held.json, e)
	case len(e.GetMergePatchJson()) >= len(json):
		t.Fatalf("D14: a patch that is no shorter than %s: %v", json, e)
	}
	patched := mergePatch(decodeJSON(t, held.json), decodeJSON(t, e.GetMergePatchJson()))
	if !reflect.DeepEqual(patched, decodeJSON(t, json)) {
		t.Fatalf("D14: patched it is %v: %v", patched, e)
	}
	tally.add("patch", 1)
}

func decodeJSON(t *rapid.T, text string) (value any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("D14: %s: %v", text, err)
	}
	return value
}

// mergePatch is the algorithm of RFC 7386.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}

func keyOf(namespace, name string) int {
	for key := range worldKeys {
		if namespaceOf(key) == namespace && nameOf(key) == name {
			return key
		}
	}
	return -1
}
