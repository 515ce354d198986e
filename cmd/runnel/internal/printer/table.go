package printer

import (
	"bufio"
	"cmp"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/changes"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
)

// TableOptions say how a table looks.
type TableOptions struct {
	// Wide adds the wide columns, and the resourceVersion.
	Wide bool
	// Colour marks what happened by colours.
	Colour bool
	// Changes writes what changed under each MODIFIED row.
	Changes bool
	// MayLeave makes room for objects that leave the selection.
	MayLeave bool
	// Timestamps begins each row with the time.
	Timestamps bool
	// Now is the clock, for ages and timestamps.
	Now func() time.Time
}

// Table writes rows of aligned columns, and control frames as lines that begin with "#".
//
// Each resource has its own columns. With several resources, their rows mix, names
// tell the resource, and a header stands again where its resource had none for a
// page. A stream has no last row to measure: rows wait until Flush, what is flushed
// together is measured together, and columns never shrink.
func Table(w io.Writer, all []Resource, options TableOptions) Printer {
	t := &table{out: bufio.NewWriter(w), options: options, several: len(all) > 1, starting: map[string]bool{}, synced: map[string]bool{}, current: -1}
	for _, r := range all {
		t.parts = append(t.parts, newPart(r, options, t.several))
	}
	return t
}

// page is after how many lines of others a resource's header stands again.
const page = 20

type table struct {
	out     *bufio.Writer
	options TableOptions
	parts   []*part
	several bool
	pending []line
	// starting are the resources, by name, of which it was said last that they start.
	starting map[string]bool
	// synced are those of which it was said that they are synced, since their last
	// snapshot began; all of them are "".
	synced map[string]bool
	// current is the resource of the last row, by index; written counts lines.
	current int
	written int
}

// part is the table of one resource.
type part struct {
	Resource
	columns []columns.Column
	// event is the index of the column that says what happened.
	event  int
	widths []int
	// headed is the line after the last header; 0 before the first.
	headed int
}

// line is a row of a resource, or a text if there are no cells.
type line struct {
	resource int
	cells    []string
	event    client.EventType
	text     string
}

func newPart(r Resource, options TableOptions, several bool) *part {
	p := &part{Resource: r}
	if options.Timestamps {
		p.columns = append(p.columns, columns.Column{Name: "TIME"})
	}
	p.event = len(p.columns)
	p.columns = append(p.columns, columns.Column{Name: "EVENT"})
	if r.AllNamespaces {
		p.columns = append(p.columns, columns.Column{Name: "NAMESPACE"})
	}
	for _, c := range r.Columns {
		// Where names alone tell resources apart, each row needs one.
		if options.Wide || !c.Wide || several && c.Name == "NAME" {
			p.columns = append(p.columns, c)
		}
	}
	if options.Wide {
		p.columns = append(p.columns, columns.Column{Name: "RV"})
	}
	for _, c := range p.columns {
		p.widths = append(p.widths, utf8.RuneCountInString(c.Name))
	}
	p.widths[p.event] = len("DELETED gone") // sooner or later one comes
	if options.MayLeave {
		p.widths[p.event] = len("DELETED left-view")
	}
	return p
}

func (t *table) Event(e Event) {
	if e.Resource < 0 || e.Resource >= len(t.parts) {
		return // the replica has refused it before
	}
	p := t.parts[e.Resource]
	object, err := columns.Decode(e.Object)
	if err != nil {
		object = columns.Object{} // a row without its object says more than none
	}
	now := t.options.Now()
	row := line{resource: e.Resource, event: e.Type}
	for _, c := range p.columns {
		text := ""
		switch {
		case c.Cell != nil:
			text = c.Cell(object, now)
		case c.Name == "TIME":
			text = now.Format("15:04:05.000")
		case c.Name == "EVENT":
			text = strings.TrimSpace(string(e.Type) + " " + string(e.Reason))
		case c.Name == "NAMESPACE":
			text = e.Namespace
		case c.Name == "RV":
			text = e.ResourceVersion
		case t.several:
			text = p.Object(e.Name)
		default:
			text = e.Name
		}
		row.cells = append(row.cells, cmp.Or(OneLine(text), "-"))
	}
	t.pending = append(t.pending, row)
	if t.options.Changes && e.Type == client.Modified {
		t.changes(e)
	}
}

// mostChanges is how many changes of an object are shown.
const mostChanges = 20

func (t *table) changes(e Event) {
	lines, err := changes.Between(e.Previous, e.Object)
	if err != nil {
		lines = []string{err.Error()}
	}
	for i, text := range lines {
		if i == mostChanges {
			t.pending = append(t.pending, line{text: "    …"})
			return
		}
		t.pending = append(t.pending, line{text: "    " + OneLine(text)})
	}
}

func (t *table) Control(c Control) {
	switch {
	case c.Type == "RESET" && c.Reason == "NEW": // every stream begins so
	case c.Type == "RESUMED": // the table goes on
	case c.Type == "SYNCED" && t.synced[c.Resource]: // and resumed since
	case c.Type == "SYNCED" && c.Resource == "" && !t.several: // was said of the one resource
	case c.Type == "STATUS" && c.State == "SYNCED" && t.starting[c.Resource]: // as expected; its own "# synced" follows
	default:
		t.pending = append(t.pending, line{text: "# " + c.String()})
	}
	switch c.Type {
	case "STATUS":
		t.starting[c.Resource] = c.State == "STARTING"
	case "SYNCED":
		t.synced[c.Resource] = true
	case "RESET":
		t.synced[c.Resource], t.synced[""] = false, false
	}
}

func (t *table) Flush() error {
	for _, l := range t.pending {
		for i, cell := range l.cells {
			widths := t.parts[l.resource].widths
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, l := range t.pending {
		if l.cells == nil {
			t.write(t.paint(faint, l.text))
			continue
		}
		t.head(l.resource)
		t.row(t.parts[l.resource], l.cells, l.event)
	}
	t.pending = t.pending[:0]
	return t.out.Flush()
}

// head writes the header of a resource where one is due.
func (t *table) head(resource int) {
	p := t.parts[resource]
	switched := t.current != resource
	t.current = resource
	if p.headed != 0 && (!switched || t.written-p.headed < page) {
		return
	}
	var header []string
	for _, c := range p.columns {
		header = append(header, c.Name)
	}
	t.row(p, header, "")
	p.headed = t.written
}

func (t *table) row(p *part, cells []string, event client.EventType) {
	var b strings.Builder
	for i, cell := range cells {
		text := cell
		if i == p.event {
			text = t.paint(colourOf(event), cell)
		}
		b.WriteString(text)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", p.widths[i]-utf8.RuneCountInString(cell)+3))
		}
	}
	t.write(b.String())
}

func (t *table) write(text string) {
	t.written++
	_, _ = t.out.WriteString(text + "\n") // Flush has the error
}
