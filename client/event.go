package client

import runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"

// EventType says how a Replica changed.
type EventType string

// The types of events, relative to what the Replica held before.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)

// DeletionReason says why an object is Deleted.
type DeletionReason string

const (
	// Gone says that it was deleted from the cluster.
	Gone DeletionReason = "gone"
	// LeftView says that it may still exist, but no longer matches the selector.
	LeftView DeletionReason = "left-view"
	// FinalStateUnknown says that it was missing in a snapshot or a difference, or that
	// another object has its name; how it ended was not seen.
	FinalStateUnknown DeletionReason = "final-state-unknown"
)

// Event is one real change of a Replica.
type Event struct {
	// Type is how the Replica changed.
	Type EventType
	// Resource is the index into SubscribeRequest.resources.
	Resource int
	// Namespace and Name name the object; Namespace is empty for cluster-scoped ones.
	Namespace, Name string
	// UID tells it from others that had its name before: a re-created object is
	// Deleted with the old UID, then Added with the new one (D5).
	UID string
	// ResourceVersion is that of Object. On Deleted it is the one of the deletion or
	// an upper bound, as far as the server said it.
	ResourceVersion string
	// Reason is why the object is Deleted, empty on other types.
	Reason DeletionReason
	// Object is the state as JSON, on Deleted the last one that the Replica held. It
	// is shared with the Replica and must not be modified.
	Object []byte
	// Previous is the state that Object replaces, on Modified. It must not be modified
	// either.
	Previous []byte
	// Initial says that the event stems from a snapshot: the server is telling what
	// exists rather than what happens. What happened while there was no stream, and
	// comes after Resumed, is not initial.
	Initial bool
}

func deletionReason(r runnelv1.DeletionReason) DeletionReason {
	switch r {
	case runnelv1.DeletionReason_DELETION_REASON_GONE:
		return Gone
	case runnelv1.DeletionReason_DELETION_REASON_LEFT_VIEW:
		return LeftView
	}
	return FinalStateUnknown
}
