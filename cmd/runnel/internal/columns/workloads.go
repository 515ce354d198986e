package columns

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

func workloads(resource string) []Column {
	var columns []Column
	switch resource {
	case "deployments.apps":
		columns = []Column{
			ofTotal("READY", "status.readyReplicas", "spec.replicas"),
			number("UP-TO-DATE", "status.updatedReplicas"), number("AVAILABLE", "status.availableReplicas"), age,
		}
	case "replicasets.apps":
		columns = []Column{number("DESIRED", "spec.replicas"), number("CURRENT", "status.replicas"), number("READY", "status.readyReplicas"), age}
	case "statefulsets.apps":
		columns = []Column{ofTotal("READY", "status.readyReplicas", "spec.replicas"), age}
	case "daemonsets.apps":
		columns = []Column{
			number("DESIRED", "status.desiredNumberScheduled"), number("CURRENT", "status.currentNumberScheduled"),
			number("READY", "status.numberReady"), number("UP-TO-DATE", "status.updatedNumberScheduled"),
			number("AVAILABLE", "status.numberAvailable"),
			cell("NODE SELECTOR", func(o Object) string { return or(o.pairs("spec.template.spec.nodeSelector"), none) }), age,
		}
	}
	more := []Column{containers("CONTAINERS", "spec.template.spec.containers", "name"), containers("IMAGES", "spec.template.spec.containers", "image")}
	if resource != "statefulsets.apps" {
		more = append(more, selector("SELECTOR", "spec.selector"))
	}
	return slices.Concat([]Column{name}, columns, wide(more...))
}

func jobs() []Column {
	return append([]Column{
		name,
		cell("STATUS", jobStatus),
		cell("COMPLETIONS", jobCompletions),
		{Name: "DURATION", Cell: jobDuration},
		age,
	}, wide(
		containers("CONTAINERS", "spec.template.spec.containers", "name"),
		containers("IMAGES", "spec.template.spec.containers", "image"),
		selector("SELECTOR", "spec.selector"),
	)...)
}

func jobStatus(o Object) string {
	for _, s := range []struct{ condition, text string }{
		{"Complete", "Complete"}, {"Failed", "Failed"},
	} {
		if o.condition(s.condition) == "True" {
			return s.text
		}
	}
	switch {
	case o.text("metadata.deletionTimestamp") != "":
		return "Terminating"
	case o.condition("Suspended") == "True":
		return "Suspended"
	case o.condition("FailureTarget") == "True":
		return "FailureTarget"
	case o.condition("SuccessCriteriaMet") == "True":
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func jobCompletions(o Object) string {
	succeeded := or(o.text("status.succeeded"), "0")
	if completions := o.text("spec.completions"); completions != "" {
		return succeeded + "/" + completions
	}
	if parallelism := o.int("spec.parallelism"); parallelism > 1 {
		return fmt.Sprintf("%s/1 of %d", succeeded, parallelism)
	}
	return succeeded + "/1"
}

func jobDuration(o Object, now time.Time) string {
	start, err := time.Parse(time.RFC3339, o.text("status.startTime"))
	if err != nil {
		return ""
	}
	if end, err := time.Parse(time.RFC3339, o.text("status.completionTime")); err == nil {
		now = end
	}
	return duration.HumanDuration(now.Sub(start))
}

func cronJobs() []Column {
	return append([]Column{
		name,
		field("SCHEDULE", "spec.schedule"),
		fieldOr("TIMEZONE", "spec.timeZone", none),
		cell("SUSPEND", func(o Object) string {
			if o.text("spec.suspend") == "true" {
				return "True"
			}
			return "False"
		}),
		cell("ACTIVE", func(o Object) string { return text(int64(len(o.list("status.active")))) }),
		{Name: "LAST SCHEDULE", Cell: func(o Object, now time.Time) string {
			if last := o.text("status.lastScheduleTime"); last != "" {
				return ago(last, now)
			}
			return none
		}},
		age,
	}, wide(
		containers("CONTAINERS", "spec.jobTemplate.spec.template.spec.containers", "name"),
		containers("IMAGES", "spec.jobTemplate.spec.template.spec.containers", "image"),
		selector("SELECTOR", "spec.jobTemplate.spec.selector"),
	)...)
}

func autoscalers() []Column {
	return []Column{
		name,
		cell("REFERENCE", func(o Object) string {
			return o.text("spec.scaleTargetRef.kind") + "/" + o.text("spec.scaleTargetRef.name")
		}),
		fieldOr("MINPODS", "spec.minReplicas", "<unset>"),
		field("MAXPODS", "spec.maxReplicas"),
		number("REPLICAS", "status.currentReplicas"),
		age,
	}
}

func disruptionBudgets() []Column {
	return []Column{
		name,
		fieldOr("MIN AVAILABLE", "spec.minAvailable", "N/A"),
		fieldOr("MAX UNAVAILABLE", "spec.maxUnavailable", "N/A"),
		number("ALLOWED DISRUPTIONS", "status.disruptionsAllowed"),
		age,
	}
}

// containers shows one field of each container.
func containers(name, path, field string) Column {
	return cell(name, func(o Object) string {
		var texts []string
		for _, c := range o.list(path) {
			texts = append(texts, c.text(field))
		}
		return strings.Join(texts, ",")
	})
}

// selector shows a label selector as one would write it, sorted by key.
func selector(name, path string) Column {
	return cell(name, func(o Object) string {
		s := o.object(path)
		requirements := map[string]string{}
		for key, value := range s.object("matchLabels") {
			requirements[key] = key + "=" + text(value)
		}
		for _, e := range s.list("matchExpressions") {
			key, values := e.text("key"), e.texts("values")
			slices.Sort(values)
			set := " (" + strings.Join(values, ",") + ")"
			switch e.text("operator") {
			case "In":
				requirements[key] = key + " in" + set
			case "NotIn":
				requirements[key] = key + " notin" + set
			case "Exists":
				requirements[key] = key
			case "DoesNotExist":
				requirements[key] = "!" + key
			}
		}
		var sorted []string
		for _, key := range slices.Sorted(maps.Keys(requirements)) {
			sorted = append(sorted, requirements[key])
		}
		return or(strings.Join(sorted, ","), none)
	})
}
