package client

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// wellFormed says whether a state can be taken in.
func (o *objects) wellFormed(e *runnelv1.Event) error {
	if e.GetUid() == "" {
		return fmt.Errorf("%w: state without a UID", ErrProtocol)
	}
	switch payload := e.GetPayload().(type) {
	case *runnelv1.Event_ObjectJson:
		if xxhash.Sum64String(payload.ObjectJson) != e.GetVersion() {
			return fmt.Errorf("%w: not %016x", ErrVersionMismatch, e.GetVersion())
		}
		return nil
	case *runnelv1.Event_MergePatchJson:
		switch {
		case !o.patches:
			return fmt.Errorf("%w: whole objects were asked for", ErrProtocol)
		case e.GetType() != runnelv1.EventType_EVENT_TYPE_MODIFIED:
			return fmt.Errorf("%w: a patch of what is not held", ErrProtocol)
		}
		return nil
	}
	return fmt.Errorf("%w: a state without content", ErrProtocol)
}

// content is the state that the event brings about: what it carries, or its patch
// applied to what is held, which may be nil.
func content(e *runnelv1.Event, held *object) ([]byte, error) {
	payload, patch := e.GetPayload().(*runnelv1.Event_MergePatchJson)
	switch {
	case !patch:
		return []byte(e.GetObjectJson()), nil
	case held == nil || held.uid != e.GetUid():
		return nil, fmt.Errorf("%s/%s: %w: nothing is", e.GetNamespace(), e.GetName(), ErrBaseMismatch)
	case held.version != e.GetBaseVersion():
		return nil, fmt.Errorf("%s/%s: %w: %016x is, the patch is for %016x",
			e.GetNamespace(), e.GetName(), ErrBaseMismatch, held.version, e.GetBaseVersion())
	}
	json, err := mergePatch(held.json, []byte(payload.MergePatchJson))
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w: %w", e.GetNamespace(), e.GetName(), ErrProtocol, err)
	}
	return json, nil
}
