package client

import (
	"cmp"
	"fmt"
	"slices"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// objects is what a Replica holds of one resource. It tells each change when it has
// made it, and stops where telling fails.
type objects struct {
	resource int
	// patches says that merge patches were asked for.
	patches bool
	tell    func(Event) error
	byName  map[objectName]*object
	// byHash finds objects by the hash of their UID. Should two have the same, it finds
	// one of them; a copy that is wrong for that shows in its digest.
	byHash map[uint64]*object
	digest Digest

	// snapshot counts the snapshots begun; open says that the last may still be
	// completed, synced that the copy was complete once.
	snapshot     uint64
	open, synced bool

	// refused counts the states since the stream reset or resumed that were older than
	// what was held. The server is behind, and its digest will not match.
	refused int
	// outvoted counts the mismatches in a row for which refused is the reason.
	outvoted int
	// history counts how often it was rewritten. What is held from before is not newer
	// than what the server sends, whatever the resourceVersions say (D9).
	history uint64
}

type objectName struct{ namespace, name string }

type object struct {
	objectName
	uid             string
	resourceVersion string
	version         uint64
	json            []byte
	// seen is the last snapshot, by number, that has the object; later live events
	// count as its part.
	seen uint64
	// history is the one that resourceVersion is of, by number.
	history uint64
}

// maxOutvoted is how often a server may disagree because it is behind before its
// state is taken to be the truth. A replica that lags catches up within the delays
// between the attempts (3 s at most, by default); a history that was rewritten
// while there was no stream never does, and must not leave the copy wrong for ever.
const maxOutvoted = 5

func newObjects(resource int, tell func(Event) error) *objects {
	return &objects{resource: resource, tell: tell, byName: map[objectName]*object{}, byHash: map[uint64]*object{}}
}

// reset begins a snapshot. What is held stays until the snapshot says otherwise.
func (o *objects) reset(reason runnelv1.ResetReason) {
	o.snapshot++
	o.open = true
	o.refused = 0
	if reason == runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN || o.outvoted >= maxOutvoted {
		o.history++
	}
}

// resume goes on from what is held, also from a mixture that a snapshot left which
// broke off: what that did not get to stays.
func (o *objects) resume() {
	o.open = false
	o.refused = 0
}

// find returns the object of a UID, or nil.
func (o *objects) find(uid string) *object {
	if held := o.byHash[uidHash(uid)]; held != nil && held.uid == uid {
		return held
	}
	return nil
}

// apply takes in an event of the server.
func (o *objects) apply(e *runnelv1.Event, initial bool) error {
	switch e.GetType() {
	case runnelv1.EventType_EVENT_TYPE_ADDED, runnelv1.EventType_EVENT_TYPE_MODIFIED:
		if err := o.wellFormed(e); err != nil {
			return fmt.Errorf("%s/%s: %w", e.GetNamespace(), e.GetName(), err)
		}
		return o.set(e, initial)
	case runnelv1.EventType_EVENT_TYPE_DELETED:
		return o.drop(e, initial)
	}
	return fmt.Errorf("%w: event type %v", ErrProtocol, e.GetType())
}

// set takes in a state. Whether it is Added or Modified is seen from what is held:
// the server does not know what an earlier stream left here.
func (o *objects) set(e *runnelv1.Event, initial bool) error {
	name := objectName{e.GetNamespace(), e.GetName()}
	if other := o.find(e.GetUid()); other != nil && other.objectName != name {
		return fmt.Errorf("%w: UID %s has two names", ErrProtocol, e.GetUid())
	}
	held := o.byName[name]
	switch {
	case held != nil && o.isOlder(e, held):
		o.refused++
		held.seen = o.snapshot
		return nil
	case held != nil && held.uid == e.GetUid() && held.version == e.GetVersion():
		held.stamp(o, e)
		return nil
	}
	json, err := content(e, held)
	if err != nil {
		return err
	}
	switch {
	case held != nil && held.uid == e.GetUid():
		held.stamp(o, e)
		o.digest.remove(held.uid, held.version)
		previous := held.json
		held.version, held.json = e.GetVersion(), json
		o.digest.add(held.uid, held.version)
		told := o.event(Modified, held, initial)
		told.Previous = previous
		return o.tell(told)
	case held != nil: // re-created, and how the old one ended was not seen (D5)
		if err := o.remove(held, FinalStateUnknown, "", initial); err != nil {
			return err
		}
	}
	held = &object{objectName: name, uid: e.GetUid(), version: e.GetVersion(), json: json}
	held.stamp(o, e)
	o.byName[name], o.byHash[uidHash(held.uid)] = held, held
	o.digest.add(held.uid, held.version)
	return o.tell(o.event(Added, held, initial))
}

// stamp notes when the server said that this is an object's state.
func (held *object) stamp(o *objects, e *runnelv1.Event) {
	held.resourceVersion, held.history, held.seen = e.GetResourceVersion(), o.history, o.snapshot
}

// drop takes in a deletion. One of an object that is not held says nothing new. Of what
// was deleted while nobody looked, the server may know no more than the UID's hash.
func (o *objects) drop(e *runnelv1.Event, initial bool) error {
	held := o.find(e.GetUid())
	if e.GetUid() == "" {
		held = o.byHash[e.GetUidHash()]
	}
	switch {
	case held == nil:
		return nil
	case o.isOlder(e, held):
		o.refused++
		return nil
	}
	return o.remove(held, deletionReason(e.GetReason()), e.GetResourceVersion(), initial)
}

// isOlder says that the event is from before the state held, of the same object or
// of another that has its name: then it must not be applied (D2).
func (o *objects) isOlder(e *runnelv1.Event, held *object) bool {
	return held.history == o.history && older(e.GetResourceVersion(), held.resourceVersion)
}

// complete says that the copy is complete. What a snapshot did not contain is dropped.
func (o *objects) complete() error {
	var vanished []*object
	for _, held := range o.byName {
		if o.open && held.seen != o.snapshot {
			vanished = append(vanished, held)
		}
	}
	slices.SortFunc(vanished, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	for _, held := range vanished {
		if err := o.remove(held, FinalStateUnknown, "", true); err != nil {
			return err
		}
	}
	o.open, o.synced = false, true
	return nil
}

// check compares the digest with the server's, which may be absent. In the middle
// of a snapshot there is nothing to compare.
func (o *objects) check(want *runnelv1.Digest) error {
	if want == nil || o.open {
		return nil
	}
	if digestOf(want) == o.digest {
		o.outvoted = 0
		return nil
	}
	if o.refused > 0 {
		o.outvoted++
		return fmt.Errorf("%w: resource %d: the server says %v; the copy holds %v, having refused %d older states",
			ErrDigestMismatch, o.resource, digestOf(want), o.digest, o.refused)
	}
	return fmt.Errorf("%w: resource %d: the server says %v; the copy holds %v",
		ErrDigestMismatch, o.resource, digestOf(want), o.digest)
}

// remove drops an object. The resourceVersion is the deletion's, if that is known.
func (o *objects) remove(held *object, reason DeletionReason, resourceVersion string, initial bool) error {
	delete(o.byName, held.objectName)
	if hash := uidHash(held.uid); o.byHash[hash] == held {
		delete(o.byHash, hash)
	}
	o.digest.remove(held.uid, held.version)
	e := o.event(Deleted, held, initial)
	e.Reason = reason
	e.ResourceVersion = cmp.Or(resourceVersion, e.ResourceVersion)
	return o.tell(e)
}

func (o *objects) event(t EventType, held *object, initial bool) Event {
	return Event{
		Type: t, Resource: o.resource, Namespace: held.namespace, Name: held.name,
		UID: held.uid, ResourceVersion: held.resourceVersion, Object: held.json, Initial: initial,
	}
}
