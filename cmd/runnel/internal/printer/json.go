package printer

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/runnel-dev/runnel/client"
)

// JSON writes one JSON object per line: events, and control frames under their own
// types.
func JSON(w io.Writer, all []Resource) Printer {
	out := bufio.NewWriter(w)
	p := &jsonLines{out: out, encoder: json.NewEncoder(out), all: all}
	p.encoder.SetEscapeHTML(false)
	return p
}

type jsonLines struct {
	out     *bufio.Writer
	encoder *json.Encoder
	all     []Resource
	err     error // the first
}

// jsonEvent is an event's line. Object and patch are the server's text: numbers and
// unknown fields are untouched (D14).
type jsonEvent struct {
	Type            client.EventType      `json:"type"`
	Resource        string                `json:"resource"`
	Namespace       string                `json:"namespace,omitempty"`
	Name            string                `json:"name"`
	UID             string                `json:"uid,omitempty"`
	ResourceVersion string                `json:"resourceVersion,omitempty"`
	Reason          client.DeletionReason `json:"reason,omitempty"`
	Initial         bool                  `json:"initial,omitempty"`
	Object          json.RawMessage       `json:"object,omitempty"`
	Patch           json.RawMessage       `json:"patch,omitempty"`
}

func (p *jsonLines) Event(e Event) {
	p.encode(jsonEvent{
		Type: e.Type, Resource: name(p.all, e.Resource), Namespace: e.Namespace, Name: e.Name, UID: e.UID,
		ResourceVersion: e.ResourceVersion, Reason: e.Reason, Initial: e.Initial,
		Object: e.Object, Patch: json.RawMessage(e.Patch),
	})
}

func (p *jsonLines) Control(c Control) { p.encode(c) }

func (p *jsonLines) encode(line any) {
	if err := p.encoder.Encode(line); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *jsonLines) Flush() error {
	if p.err != nil {
		return p.err
	}
	return p.out.Flush()
}
