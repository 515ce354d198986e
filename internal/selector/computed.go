package selector

import (
	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/rawjson"
)

// computedField returns the text that a field compares as, given the JSON at its
// path, or nil, and that of the whole object.
type computedField func(value, object []byte) string

type groupResource struct{ group, resource string }

// computed are the fields for which the API server's own field selectors do not
// compare just what is in the object. A test compares them with its answers.
var computed = map[groupResource]map[string]computedField{
	{"", "pods"}:                {"spec.hostNetwork": orElse("false")},
	{"", "nodes"}:               {"spec.unschedulable": orElse("false")},
	{"", "events"}:              {"source": eventSource("source.component", "reportingComponent")},
	{"events.k8s.io", "events"}: {"source": eventSource("deprecatedSource.component", "reportingController")},
	{"batch", "jobs"}:           {"status.successful": at("status.succeeded", "0")},
}

// orElse is the field, or the fallback where it is absent.
func orElse(fallback string) computedField {
	return func(value, _ []byte) string { return textOr(value, fallback) }
}

// at is another field than the one that is named.
func at(path, fallback string) computedField {
	p := mustParse(path)
	return func(_, object []byte) string {
		value, _ := p.Lookup(object)
		return textOr(value, fallback)
	}
}

// eventSource is the component of an Event's source, or else its reporter.
func eventSource(component, reporter string) computedField {
	first, second := mustParse(component), mustParse(reporter)
	return func(_, object []byte) string {
		value, _ := first.Lookup(object)
		if text := textOr(value, ""); text != "" {
			return text
		}
		value, _ = second.Lookup(object)
		return textOr(value, "")
	}
}

func textOr(value []byte, fallback string) string {
	if text, ok := rawjson.Text(value); ok && !rawjson.IsNull(value) {
		return text
	}
	return fallback
}

func mustParse(text string) fieldpath.Path {
	p, err := fieldpath.Parse(text)
	if err != nil {
		panic(err) // a constant of this package is wrong
	}
	return p
}
