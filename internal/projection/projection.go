// Package projection decides which part of an object a subscriber gets.
//
// A Projection is the whole object, its metadata, or what lies at a list of paths,
// less what lies at other paths, which it ignores. It is canonical: two that show
// the same by these rules have one Key, and so share a view. It is immutable and
// safe for concurrent use. Views call Apply once for every version of an object
// that they hold, on the goroutine of the informer's handler.
package projection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/record"
)

// Projection is a part of an object. Its zero value is Whole.
type Projection struct {
	metadataOnly bool
	paths        *fieldpath.Tree // nil for all
	ignored      *fieldpath.Tree // nil for none
}

// identity is what every projection holds: without it, an object has no name.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid"}

// ErrIdentity says that a path to be ignored names the object itself.
var ErrIdentity = errors.New("apiVersion, kind and metadata's name, namespace and uid cannot be ignored")

// Whole is the whole object, less managedFields.
func Whole() Projection { return Projection{} }

// MetadataOnly is apiVersion, kind and metadata, less managedFields.
func MetadataOnly() Projection { return Projection{metadataOnly: true} }

// Paths is what lies at the paths, beside the object's identity.
func Paths(paths []fieldpath.Path) Projection {
	all := append([]fieldpath.Path(nil), paths...)
	for _, text := range identity {
		all = append(all, mustParse(text))
	}
	return Projection{paths: fieldpath.NewTree(all)}
}

// Ignore returns the projection without what lies at the paths. The error is
// ErrIdentity.
func (p Projection) Ignore(paths []fieldpath.Path) (Projection, error) {
	for _, path := range paths {
		for _, text := range identity {
			if mustParse(text).HasPrefix(path) {
				return Projection{}, fmt.Errorf("%s: %w", path, ErrIdentity)
			}
		}
	}
	p.ignored = fieldpath.NewTree(paths)
	return p, nil
}

func mustParse(text string) fieldpath.Path {
	p, err := fieldpath.Parse(text)
	if err != nil {
		panic(err) // a constant of this package is wrong
	}
	return p
}

// Apply returns the part of the object as JSON, and its version. The JSON may
// alias the record; neither may be changed.
func (p Projection) Apply(r *record.Record) (json []byte, version uint64) {
	if p.Shares() {
		return r.Raw, r.Version
	}
	json = r.Raw
	if p.metadataOnly {
		json = r.MetadataJSON(nil)
	}
	if p.paths != nil {
		json, _ = p.paths.Keep(nil, json)
	}
	if p.ignored != nil {
		json, _ = p.ignored.Drop(nil, json)
	}
	return json, record.Hash(json)
}

// Shares tells whether Apply returns the record's own bytes.
func (p Projection) Shares() bool { return !p.metadataOnly && p.paths == nil && p.ignored == nil }

// Key is the canonical form, equal for equal projections.
func (p Projection) Key() string {
	key := "whole"
	switch {
	case p.metadataOnly:
		key = "metadata"
	case p.paths != nil:
		key = strings.Join(p.paths.Paths(), ",")
	}
	if p.ignored != nil {
		key += " without " + strings.Join(p.ignored.Paths(), ",")
	}
	return key
}
