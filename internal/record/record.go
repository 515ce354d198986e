// Package record holds one immutable version of one Kubernetes object.
//
// A Record keeps the object's JSON as the API server sent it and parses only
// what every selector and every frame needs: the identity, the resourceVersion
// and the labels. Nothing is decoded into maps at rest.
//
// Invariants:
//   - A Record and all it refers to are never changed after Decode returned it,
//     so any goroutine may read it without a lock.
//   - Raw starts with apiVersion, kind and metadata, in this order, and holds no
//     metadata.managedFields, whether the object came from a list or a watch. Two
//     replicas therefore get equal bytes, and Version is equal too.
//
// Records are made by the source's list and watch decoders. Start reading at
// Decode.
package record

import (
	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Record is one immutable version of one object. It implements
// runtime.Object and metav1.Object, as far as client-go's informers need them.
type Record struct {
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	// Name is the object's name.
	Name string
	// UID is metadata.uid.
	UID string
	// ResourceVersion is metadata.resourceVersion.
	ResourceVersion string
	// Labels are metadata.labels, sorted by key.
	Labels Labels
	// Raw is the object's JSON, see the package comment. It must not be changed.
	Raw []byte
	// Version is the hash of Raw.
	Version uint64
	// Listed says that the record comes from a list, or from the initial events
	// of a watch, and not from a change that was watched.
	Listed bool

	key              string
	metadataEnd      int
	initialEventsEnd bool
	marker           bool
}

// Key is "namespace/name", or "name" for cluster-scoped objects: what the object
// is called as long as it is there, whatever its UID.
func (r *Record) Key() string { return r.key }

// MetadataJSON appends the object's apiVersion, kind and metadata to dst, as a
// JSON object.
func (r *Record) MetadataJSON(dst []byte) []byte {
	return append(append(dst, r.Raw[:r.metadataEnd]...), '}')
}

// Hash is the hash behind every version and digest: XXH64.
func Hash(b []byte) uint64 { return xxhash.Sum64(b) }

// HashString is Hash of a string.
func HashString(s string) uint64 { return xxhash.Sum64String(s) }

// InitialEventsEnd tells whether r is the bookmark that ends a watch's initial
// events.
func (r *Record) InitialEventsEnd() bool { return r.initialEventsEnd }

// NewReference returns a record of which only the namespace and the key are known.
func NewReference(namespace, key string) *Record { return &Record{Namespace: namespace, key: key} }

// NewMarker returns a record that stands for no object: a list/watch wrapper
// sends it through an informer to learn when everything before it was handled.
// Its key cannot be an object's.
func NewMarker(resourceVersion string) *Record {
	return &Record{Name: markerName, ResourceVersion: resourceVersion, key: markerName, marker: true}
}

// Marker tells whether r was made by NewMarker.
func (r *Record) Marker() bool { return r.marker }

// No object's name holds a space.
const markerName = "runnel marker"

// typeMeta is the beginning of Raw.
func typeMeta(gvk schema.GroupVersionKind) string {
	return `{"apiVersion":"` + gvk.GroupVersion().String() + `","kind":"` + gvk.Kind + `"`
}
