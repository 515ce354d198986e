package printer

import "github.com/runnel-dev/runnel/client"

// colour is an ANSI code.
type colour string

const (
	plain  colour = ""
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

func colourOf(event client.EventType) colour {
	switch event {
	case client.Added:
		return green
	case client.Modified:
		return yellow
	case client.Deleted:
		return red
	}
	return plain
}

func (t *table) paint(c colour, text string) string {
	if !t.options.Colour || c == plain {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
