package columns

import (
	"fmt"
	"slices"
	"time"
)

func pods() []Column {
	return append([]Column{
		name,
		cell("READY", func(o Object) string {
			s := podSummaryOf(o)
			return fmt.Sprintf("%d/%d", s.ready, s.containers)
		}),
		cell("STATUS", func(o Object) string { return podSummaryOf(o).status }),
		{Name: "RESTARTS", Cell: func(o Object, now time.Time) string {
			s := podSummaryOf(o)
			if s.restarts == 0 || s.restarted == "" {
				return text(s.restarts)
			}
			return fmt.Sprintf("%d (%s ago)", s.restarts, ago(s.restarted, now))
		}},
		age,
	}, wide(
		fieldOr("IP", "status.podIP", none),
		fieldOr("NODE", "spec.nodeName", none),
		fieldOr("NOMINATED NODE", "status.nominatedNodeName", none),
		cell("READINESS GATES", readinessGates),
	)...)
}

// podSummary is what people want to know of a Pod.
type podSummary struct {
	status            string
	ready, containers int
	restarts          int64
	// restarted is when the last restart was.
	restarted string
}

func podSummaryOf(o Object) podSummary {
	s := podSummary{status: or(o.text("status.reason"), o.text("status.phase")), containers: len(o.list("spec.containers"))}
	for _, c := range o.list("status.conditions") {
		if c.text("type") == "PodScheduled" && c.text("reason") == "SchedulingGated" {
			s.status = "SchedulingGated"
		}
	}
	initialising := s.initContainers(o)
	if !initialising || o.condition("Initialized") == "True" {
		s.mainContainers(o)
	}
	if o.text("metadata.deletionTimestamp") != "" {
		switch phase := o.text("status.phase"); {
		case o.text("status.reason") == "NodeLost":
			s.status = "Unknown"
		case phase != "Succeeded" && phase != "Failed":
			s.status = "Terminating"
		}
	}
	return s
}

// initContainers takes in the containers that run before the others, and tells whether
// one of them still does. Of those that go on beside the others, the sidecars, only
// restarts count afterwards.
func (s *podSummary) initContainers(o Object) (initialising bool) {
	specs := o.list("spec.initContainers")
	var sidecars podSummary
	for _, spec := range specs {
		if isSidecar(spec) {
			s.containers++
		}
	}
	for i, c := range o.list("status.initContainerStatuses") {
		sidecar := slices.ContainsFunc(specs, func(spec Object) bool {
			return spec.text("name") == c.text("name") && isSidecar(spec)
		})
		s.restart(c)
		if sidecar {
			sidecars.restart(c)
		}
		terminated := c.object("state.terminated")
		switch {
		case terminated != nil && terminated.int("exitCode") == 0:
			continue
		case sidecar && c.text("started") == "true":
			if c.text("ready") == "true" {
				s.ready++
			}
			continue
		case terminated != nil:
			s.status = "Init:" + exit(terminated)
		case c.text("state.waiting.reason") != "" && c.text("state.waiting.reason") != "PodInitializing":
			s.status = "Init:" + c.text("state.waiting.reason")
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(specs))
		}
		return true
	}
	s.restarts, s.restarted = sidecars.restarts, sidecars.restarted
	return false
}

func (s *podSummary) mainContainers(o Object) {
	running := false
	for _, c := range slices.Backward(o.list("status.containerStatuses")) {
		s.restart(c)
		terminated := c.object("state.terminated")
		switch {
		case c.text("state.waiting.reason") != "":
			s.status = c.text("state.waiting.reason")
		case terminated != nil:
			s.status = exit(terminated)
		case c.text("ready") == "true" && c.object("state.running") != nil:
			running = true
			s.ready++
		}
	}
	if s.status == "Completed" && running {
		s.status = "NotReady"
		if o.condition("Ready") == "True" {
			s.status = "Running"
		}
	}
}

// restart counts the restarts of a container.
func (s *podSummary) restart(c Object) {
	s.restarts += c.int("restartCount")
	// RFC 3339 in UTC: the later one is the greater text.
	s.restarted = max(s.restarted, c.text("lastState.terminated.finishedAt"))
}

// exit is how a container ended.
func exit(terminated Object) string {
	switch signal := terminated.int("signal"); {
	case terminated.text("reason") != "":
		return terminated.text("reason")
	case signal != 0:
		return fmt.Sprintf("Signal:%d", signal)
	}
	return fmt.Sprintf("ExitCode:%d", terminated.int("exitCode"))
}

func isSidecar(spec Object) bool { return spec.text("restartPolicy") == "Always" }

func readinessGates(o Object) string {
	gates := o.list("spec.readinessGates")
	if len(gates) == 0 {
		return none
	}
	ready := 0
	for _, gate := range gates {
		if o.condition(gate.text("conditionType")) == "True" {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(gates))
}
