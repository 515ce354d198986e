package main

import (
	"bufio"
	"encoding/json"

	"github.com/runnel-dev/runnel/client"
)

// jsonPrinter writes one JSON object per line: events, and control frames under
// their own types.
type jsonPrinter struct {
	out     *bufio.Writer
	encoder *json.Encoder
	err     error // the first
}

// jsonEvent is an event's line. The object is the server's bytes: numbers and
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
}

func newJSONPrinter(out *bufio.Writer) *jsonPrinter {
	p := &jsonPrinter{out: out, encoder: json.NewEncoder(out)}
	p.encoder.SetEscapeHTML(false)
	return p
}

func (p *jsonPrinter) event(resource string, e client.Event) {
	p.encode(jsonEvent{
		Type: e.Type, Resource: resource, Namespace: e.Namespace, Name: e.Name, UID: e.UID,
		ResourceVersion: e.ResourceVersion, Reason: e.Reason, Initial: e.Initial, Object: e.Object,
	})
}

func (p *jsonPrinter) control(c control) { p.encode(c) }

func (p *jsonPrinter) encode(line any) {
	if err := p.encoder.Encode(line); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *jsonPrinter) flush() error {
	if p.err != nil {
		return p.err
	}
	return p.out.Flush()
}
