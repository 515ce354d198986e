// Package columns says which columns a table of objects has and what stands in them,
// like those of kubectl get: for well-known resources (For), for custom resources by
// their printer columns (Custom), and for parts of objects by their paths (Paths).
//
// Cells are functions of an object's decoded JSON and the time, and of nothing else.
// Whatever an object looks like, a cell is a text; what is missing leaves it empty or
// says <none>, as kubectl has it. Columns are never changed, but the cells of Custom and
// Paths must not be asked for concurrently: client-go's jsonpath has state.
//
// Start reading at Column and For.
package columns

import (
	"strings"
	"time"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

// Column is a column of a table.
type Column struct {
	Name string
	// Wide says that the column is only for tables with room.
	Wide bool
	// Cell is what stands in it; nil for the object's name, which the table knows how
	// to write.
	Cell func(o Object, now time.Time) string
}

const none = "<none>"

// For returns the columns of a resource; those of any object if it is not known.
func For(r resources.Resource) []Column {
	if known := wellKnown(r.String()); known != nil {
		return known
	}
	return Default()
}

// Default are the columns that suit any object.
func Default() []Column { return []Column{name, age} }

func wellKnown(resource string) []Column {
	switch resource {
	case "pods":
		return pods()
	case "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps":
		return workloads(resource)
	case "jobs.batch":
		return jobs()
	case "cronjobs.batch":
		return cronJobs()
	case "services":
		return services()
	case "ingresses.networking.k8s.io":
		return ingresses()
	case "endpointslices.discovery.k8s.io":
		return endpointSlices()
	case "nodes":
		return nodes()
	case "namespaces":
		return []Column{name, field("STATUS", "status.phase"), age}
	case "configmaps":
		return []Column{name, count("DATA", "data", "binaryData"), age}
	case "secrets":
		return []Column{name, field("TYPE", "type"), count("DATA", "data"), age}
	case "events", "events.events.k8s.io":
		return events()
	case "persistentvolumeclaims":
		return claims()
	case "persistentvolumes":
		return volumes()
	case "leases.coordination.k8s.io":
		return []Column{name, field("HOLDER", "spec.holderIdentity"), age}
	case "horizontalpodautoscalers.autoscaling":
		return autoscalers()
	case "poddisruptionbudgets.policy":
		return disruptionBudgets()
	}
	return nil
}

var (
	name = Column{Name: "NAME"}
	age  = since("AGE", "metadata.creationTimestamp")
)

// Label returns a column of one label, like kubectl get -L.
func Label(key string) Column {
	return cell(strings.ToUpper(key[strings.LastIndex(key, "/")+1:]), func(o Object) string {
		return text(o.object("metadata.labels")[key])
	})
}

// Labels returns a column of all labels, like kubectl get --show-labels.
func Labels() Column {
	return cell("LABELS", func(o Object) string { return or(o.pairs("metadata.labels"), none) })
}

func cell(name string, f func(o Object) string) Column {
	return Column{Name: name, Cell: func(o Object, _ time.Time) string { return f(o) }}
}

// field shows the scalar at a path.
func field(name, path string) Column {
	return cell(name, func(o Object) string { return o.text(path) })
}

// fieldOr shows the scalar at a path, or else a text.
func fieldOr(name, path, otherwise string) Column {
	return cell(name, func(o Object) string { return or(o.text(path), otherwise) })
}

// number shows the number at a path, which API types leave out where it is 0.
func number(name, path string) Column { return fieldOr(name, path, "0") }

// ofTotal shows two numbers as "1/3".
func ofTotal(name, path, total string) Column {
	return cell(name, func(o Object) string { return or(o.text(path), "0") + "/" + or(o.text(total), "0") })
}

// count shows how many members objects have.
func count(name string, paths ...string) Column {
	return cell(name, func(o Object) string {
		n := 0
		for _, path := range paths {
			n += len(o.object(path))
		}
		return text(int64(n))
	})
}

// since shows how long ago the time at a path was.
func since(name, path string) Column {
	return Column{Name: name, Cell: func(o Object, now time.Time) string { return ago(o.text(path), now) }}
}

func wide(columns ...Column) []Column {
	for i := range columns {
		columns[i].Wide = true
	}
	return columns
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
