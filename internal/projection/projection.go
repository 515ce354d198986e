// Package projection decides which part of an object a subscriber gets.
//
// A Projection is immutable and comparable. Views call Apply once for every
// version of an object that they hold, on the goroutine of the informer's handler.
package projection

import "github.com/runnel-dev/runnel/internal/record"

// Projection is a part of an object. Its zero value is Whole.
type Projection struct{ part part }

type part uint8

const (
	whole part = iota
	metadataOnly
)

// Whole is the whole object, less managedFields.
func Whole() Projection { return Projection{whole} }

// MetadataOnly is apiVersion, kind and metadata, less managedFields.
func MetadataOnly() Projection { return Projection{metadataOnly} }

// Apply returns the part of the object as JSON, and its version. The JSON may
// alias the record; neither may be changed.
func (p Projection) Apply(r *record.Record) (json []byte, version uint64) {
	if p.part == whole {
		return r.Raw, r.Version
	}
	json = r.MetadataJSON(nil)
	return json, record.Hash(json)
}

// Key is the canonical form, equal for equal projections.
func (p Projection) Key() string {
	if p.part == whole {
		return "whole"
	}
	return "metadata"
}
