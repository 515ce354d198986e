package main

import (
	"bufio"
	"strings"
	"time"

	"github.com/runnel-dev/runnel/client"
)

// tablePrinter writes aligned columns, and control frames as lines that begin with
// "#". A stream has no last row to measure, so that columns start at a likely width
// and grow with what comes.
type tablePrinter struct {
	out    *bufio.Writer
	wide   bool
	now    func() time.Time
	widths tableWidths
}

// The columns, in their order. TIME and UID are for the wide table only.
const (
	columnTime = iota
	columnResource
	columnNamespace
	columnName
	columnEvent
	columnReason
	columnRV
	columnUID
	columns
)

type (
	tableRow    [columns]string
	tableWidths [columns]int
)

func newTablePrinter(out *bufio.Writer, wide bool, resources []resourceName) *tablePrinter {
	p := &tablePrinter{out: out, wide: wide, now: time.Now, widths: tableWidths{
		columnTime: len("15:04:05.000"), columnNamespace: 12, columnName: 32,
		columnEvent: len(client.Modified), columnReason: len(client.LeftView), columnRV: 8,
	}}
	for _, r := range resources {
		p.widths[columnResource] = max(p.widths[columnResource], len(r.String()))
	}
	p.row(tableRow{"TIME", "RESOURCE", "NAMESPACE", "NAME", "EVENT", "REASON", "RV", "UID"})
	return p
}

func (p *tablePrinter) event(resource string, e client.Event) {
	p.row(tableRow{
		columnTime:      p.now().Format("15:04:05.000"),
		columnResource:  resource,
		columnNamespace: e.Namespace,
		columnName:      e.Name,
		columnEvent:     string(e.Type),
		columnReason:    string(e.Reason),
		columnRV:        e.ResourceVersion,
		columnUID:       e.UID,
	})
}

// row writes a line. Empty cells become "-", so that there are as many words as
// columns.
func (p *tablePrinter) row(row tableRow) {
	var line strings.Builder
	padding := 0
	for i, cell := range row {
		if !p.wide && (i == columnTime || i == columnUID) {
			continue
		}
		if cell == "" {
			cell = "-"
		}
		line.WriteString(strings.Repeat(" ", padding))
		line.WriteString(cell)
		p.widths[i] = max(p.widths[i], len(cell))
		padding = p.widths[i] - len(cell) + 2
	}
	line.WriteByte('\n')
	_, _ = p.out.WriteString(line.String()) // flush has the error
}

func (p *tablePrinter) control(c control) {
	_, _ = p.out.WriteString("# " + c.String() + "\n") // flush has the error
}

func (p *tablePrinter) flush() error { return p.out.Flush() }
