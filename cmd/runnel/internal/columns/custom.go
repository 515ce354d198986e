package columns

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
	"github.com/runnel-dev/runnel/internal/fieldpath"
)

// Custom returns the columns that a custom resource's definition asks for, after the
// name. Without any they are the Default ones.
func Custom(printer []resources.PrinterColumn) []Column {
	if len(printer) == 0 {
		return Default()
	}
	columns := []Column{name}
	for _, p := range printer {
		path, err := parsePath("{" + p.JSONPath + "}")
		if err != nil {
			continue // the API server has accepted it, but nobody can show it
		}
		c := path.column(strings.ToUpper(p.Name), " ")
		c.Wide = p.Priority > 0
		if p.Type == "date" {
			scalar := c.Cell
			c.Cell = func(o Object, now time.Time) string {
				if at := scalar(o, now); at != "" {
					return ago(at, now)
				}
				return ""
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// Paths returns a column for each path in Runnel's grammar, after the name:
// "spec.nodeName", "metadata.labels['a.b/c']", "status.conditions[*].type".
func Paths(paths []string) ([]Column, error) {
	columns := []Column{name}
	for _, text := range paths {
		valid, err := fieldpath.Parse(text)
		if err != nil {
			return nil, err
		}
		path, err := parsePath("{" + fromRunnel(valid.String()) + "}")
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		columns = append(columns, path.column(text, ","))
	}
	return columns, nil
}

// Spec returns the columns of a kubectl -o custom-columns specification, such as
// "NAME:.metadata.name,NODE:.spec.nodeName".
func Spec(spec string) ([]Column, error) {
	var columns []Column
	for part := range strings.SplitSeq(spec, ",") {
		header, template, ok := strings.Cut(part, ":")
		if !ok || header == "" || template == "" {
			return nil, fmt.Errorf("column %q: want a form like NODE:.spec.nodeName", part)
		}
		template = strings.TrimSuffix(strings.TrimPrefix(template, "{"), "}")
		path, err := parsePath("{." + strings.TrimPrefix(template, ".") + "}")
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", part, err)
		}
		c := path.column(header, ",")
		found := c.Cell
		c.Cell = func(o Object, now time.Time) string { return or(found(o, now), none) }
		columns = append(columns, c)
	}
	return columns, nil
}

// fromRunnel writes a path, which is in canonical form, as kubectl's jsonpath does: there
// a quoted name cannot contain dots, but they can be escaped.
func fromRunnel(path string) string {
	var b strings.Builder
	if !strings.HasPrefix(path, "[") {
		b.WriteByte('.')
	}
	quoted, escaped := false, false
	for i, r := range path {
		switch {
		case escaped:
			b.WriteString(`\` + string(r))
			escaped = false
		case r == '\\' && quoted:
			escaped = true
		case r == '\'': // begins and ends a name, with a bracket before and after it
			quoted = !quoted
		case quoted && strings.ContainsRune(".,[]$@{} \t\r\n", r), !quoted && strings.ContainsRune("$@{}", r):
			b.WriteString(`\` + string(r))
		case r == '[' && !quoted && path[i+1] == '\'':
			b.WriteByte('.')
		case r == ']' && !quoted && path[i-1] == '\'':
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// path finds values in objects.
type path struct{ parsed *jsonpath.JSONPath }

func parsePath(template string) (path, error) {
	p := jsonpath.New("path").AllowMissingKeys(true)
	return path{p}, p.Parse(template)
}

// column shows the values at the path.
func (p path) column(name, separator string) Column {
	return cell(name, func(o Object) string {
		found, err := p.parsed.FindResults(map[string]any(o))
		if err != nil {
			return "" // it leads through something else in this object
		}
		var texts []string
		for _, values := range found {
			for _, value := range values {
				texts = append(texts, text(value.Interface()))
			}
		}
		return strings.Join(texts, separator)
	})
}
