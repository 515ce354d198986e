package printer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
)

// JSONPath writes what kubectl's -o jsonpath makes of each event's object, on a line
// of its own. A template without braces is taken for one path: ".spec.nodeName" and
// "spec.nodeName" are "{.spec.nodeName}".
func JSONPath(w io.Writer, template string) (Printer, error) {
	if !strings.Contains(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	p := &byTemplate{out: bufio.NewWriter(w), template: jsonpath.New("out").AllowMissingKeys(true)}
	if err := p.template.Parse(template); err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", template, err)
	}
	return p, nil
}

type byTemplate struct {
	out      *bufio.Writer
	template *jsonpath.JSONPath
	err      error // the first
}

func (p *byTemplate) Event(e Event) {
	if len(e.Object) == 0 || p.err != nil {
		return
	}
	object, err := columns.Decode(e.Object)
	if err != nil {
		p.err = err
		return
	}
	var line bytes.Buffer
	if err := p.template.Execute(&line, map[string]any(object)); err != nil {
		p.err = fmt.Errorf("jsonpath: %s/%s: %w", e.Namespace, e.Name, err)
		return
	}
	if !bytes.HasSuffix(line.Bytes(), []byte("\n")) {
		line.WriteByte('\n')
	}
	_, _ = p.out.Write(line.Bytes()) // Flush has the error
}

func (p *byTemplate) Control(Control) {}

func (p *byTemplate) Flush() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	return p.err
}
