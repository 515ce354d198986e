package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

// target is one resource to watch.
type target struct {
	name resources.Name
	// objects are the names of the objects; empty for all.
	objects []string
	// resource is what the name means. Where nobody knows, it is taken for a plural of
	// a namespaced resource.
	resource resources.Resource
	// columns are those of the whole object.
	columns []columns.Column
	found   bool
}

// parseTargets reads the arguments as kubectl does: RESOURCE[,RESOURCE...] [NAME...] or
// RESOURCE/NAME.... Resources of Kubernetes itself are resolved.
func parseTargets(args, objects []string) ([]target, error) {
	if len(args) == 0 {
		return nil, errors.New("which resource? For example: runnel watch pods")
	}
	var targets []target
	add := func(text string, objects []string) error {
		n, err := resources.Parse(text)
		if err != nil {
			return err
		}
		t := target{name: n, objects: objects, resource: resources.Resource{Group: n.Group, Plural: n.Resource, Namespaced: true}, columns: columns.Default()}
		if r, ok := resources.Find(resources.Builtin(), n); ok {
			t.resource, t.columns, t.found = r, columns.For(r), true
		}
		targets = append(targets, t)
		return nil
	}
	if !strings.Contains(args[0], "/") {
		objects = slices.Concat(objects, args[1:])
		for text := range strings.SplitSeq(args[0], ",") {
			if err := add(text, objects); err != nil {
				return nil, err
			}
		}
		return targets, nil
	}
	for _, arg := range args {
		resource, object, ok := strings.Cut(arg, "/")
		if !ok || object == "" || len(objects) > 0 {
			return nil, fmt.Errorf("%q: names follow their resource, or each stands as RESOURCE/NAME", arg)
		}
		if err := add(resource, []string{object}); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// merge joins the targets that are of the same resource, in the place of the first.
func merge(targets []target) []target {
	var merged []target
	for _, t := range targets {
		i := slices.IndexFunc(merged, func(other target) bool {
			return other.resource.String() == t.resource.String() && other.name.Version == t.name.Version
		})
		switch {
		case i < 0:
			merged = append(merged, t)
		case len(t.objects) == 0 || len(merged[i].objects) == 0:
			merged[i].objects = nil
		default:
			merged[i].objects = slices.Concat(merged[i].objects, t.objects)
		}
	}
	return merged
}

// String is the resource in the shortest form that says what is asked for.
func (t target) String() string {
	n := t.name
	n.Resource, n.Group = t.resource.Plural, t.resource.Group
	return n.String()
}

// printed are the targets as the printer is to show them.
func (o *options) printed(targets []target) ([]printer.Resource, error) {
	var all []printer.Resource
	for _, t := range targets {
		shown, err := o.columns(t)
		if err != nil {
			return nil, err
		}
		all = append(all, printer.Resource{
			Name: t.String(), Resource: t.resource, Columns: shown,
			AllNamespaces: t.resource.Namespaced && len(o.namespaces) != 1,
		})
	}
	return all, nil
}

// columns show what is asked for of the objects.
func (o *options) columns(t target) ([]columns.Column, error) {
	var shown []columns.Column
	var err error
	spec, custom := strings.CutPrefix(o.output, "custom-columns=")
	switch {
	case custom:
		if shown, err = columns.Spec(spec); err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
	case len(o.paths) > 0:
		if shown, err = columns.Paths(o.paths); err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
	case o.metadataOnly():
		shown = columns.Default()
	default:
		shown = t.columns
	}
	for _, key := range o.labelColumns {
		shown = append(shown, columns.Label(key))
	}
	if o.showLabels {
		shown = append(shown, columns.Labels())
	}
	return shown, nil
}
