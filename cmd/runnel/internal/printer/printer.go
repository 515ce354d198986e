// Package printer writes what a subscription tells: as a table that reads like that of
// kubectl get --watch, as JSON lines, as names or by a template.
//
// A Printer belongs to one goroutine. What it was told is out after Flush, which
// returns the first error of any write.
//
// Start reading at Printer, then table.go.
package printer

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

// Printer writes events and control frames.
type Printer interface {
	Event(e Event)
	Control(c Control)
	Flush() error
}

// Event is a change. Patch is how the server told it, if it did so by a merge patch and
// nobody has applied it.
type Event struct {
	client.Event
	Patch string
}

// Resource is one resource of a subscription.
type Resource struct {
	// Name is how the user knows it: "pods".
	Name string
	// Resource names its objects.
	resources.Resource
	// Columns are those of its table.
	Columns []columns.Column
	// AllNamespaces says that objects may be of several namespaces.
	AllNamespaces bool
}

// Names writes resource/namespace/name for each event, and nothing else.
func Names(w io.Writer, all []Resource) Printer { return names{bufio.NewWriter(w), all} }

type names struct {
	out *bufio.Writer
	all []Resource
}

func (p names) Event(e Event) {
	resource := name(p.all, e.Resource)
	if e.Namespace != "" {
		resource += "/" + e.Namespace
	}
	fmt.Fprintf(p.out, "%s/%s\n", resource, e.Name)
}

func (p names) Control(Control) {}

func (p names) Flush() error { return p.out.Flush() }

// name is the resource at an index of the request, as it was asked for.
func name(all []Resource, resource int) string {
	if resource < 0 || resource >= len(all) {
		return fmt.Sprintf("resources[%d]", resource)
	}
	return all[resource].Name
}

// OneLine keeps a text to one line, and control characters of a server off the
// terminal.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || unicode.IsControl(r)
	}), " ")
}
