package columns

import (
	"fmt"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

// samples are objects whose tables tell the rules apart. What has a deletionTimestamp
// is deleted after it was created, and stays by its finalizer.
func samples() []string {
	all := []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"data"},"data":{"a":"1","b":"2"},"binaryData":{"c":"AA=="}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"empty"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"type":"example.com/t","data":{"a":"AA=="}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}`,
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"held"},"spec":{"holderIdentity":"me"}}`,
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"free"}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"min"},"spec":{"minAvailable":"50%","selector":{}},"status":{"disruptionsAllowed":2,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"max"},"spec":{"maxUnavailable":0,"selector":{}}}`,
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":9,"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`,
		node("plain", `{}`, `{}`, `{}`),
		node("full", `{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"old"}`, `{"unschedulable":true}`,
			`{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"fd00::1"},{"type":"ExternalIP","address":"1.2.3.4"}],
			"nodeInfo":{"kubeletVersion":"v1.37.2","osImage":"An OS","kernelVersion":"6.1","containerRuntimeVersion":"containerd://2","architecture":"","bootID":"","kubeProxyVersion":"","machineID":"","operatingSystem":"","systemUUID":""}}`),
		node("down", `{}`, `{}`, `{"conditions":[{"type":"Ready","status":"Unknown"}]}`),
		event("core", `"lastTimestamp":"2024-01-01T00:00:00Z","firstTimestamp":"2023-01-01T00:00:00Z","count":7,"source":{"component":"kubelet","host":"n1"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default","fieldPath":"spec.containers{a}"}`),
		event("series", `"eventTime":"2023-01-01T00:00:00.000000Z","series":{"count":3,"lastObservedTime":"2024-01-01T00:00:00.000000Z"},"reportingComponent":"c","reportingInstance":"i","action":"a","involvedObject":{"kind":"Pod","name":"web","namespace":"default"}`),
		event("bare", `"involvedObject":{"namespace":"default"}`),
		service("cluster", `{"ports":[{"name":"a","port":80},{"name":"b","port":53,"protocol":"UDP"}],"selector":{"b":"2","a":"1"}}`, `{}`),
		service("headless", `{"clusterIP":"None","externalIPs":["1.1.1.1","2.2.2.2"]}`, `{}`),
		service("node", `{"type":"NodePort","ports":[{"port":80,"nodePort":30080}]}`, `{}`),
		service("pending", `{"type":"LoadBalancer","ports":[{"port":80}]}`, `{}`),
		service("balanced", `{"type":"LoadBalancer","externalIPs":["1.1.1.1"],"ports":[{"port":80}]}`, `{"loadBalancer":{"ingress":[{"ip":"9.9.9.9"},{"hostname":"lb.example.com"}]}}`),
		service("external", `{"type":"ExternalName","externalName":"example.com"}`, `{}`),
		`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"any"},"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":80}}}}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"hosts"},"spec":{"ingressClassName":"nginx","tls":[{"hosts":["a.b"]}],"rules":[
			{"host":"a.b","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}},{"host":"c.d"},{"host":"e.f"},{"host":"g.h"}]},
			"status":{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"},{"hostname":"h"}]}}}`,
		`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"four"},"addressType":"IPv4","ports":[{"name":"a","port":80},{"name":"b","port":81},{"name":"c","port":82},{"name":"d","port":83}],
			"endpoints":[{"addresses":["10.0.0.1"]},{"addresses":["10.0.0.2"]},{"addresses":["10.0.0.3"]},{"addresses":["10.0.0.4"]}]}`,
		`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"none"},"addressType":"FQDN","endpoints":[]}`,
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"bound"},"spec":{"volumeName":"v","storageClassName":"fast","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},
			"status":{"phase":"Bound","capacity":{"storage":"2Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce"]}}`,
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"pending"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteMany","ReadOnlyMany","ReadWriteOnce"],"claimRef":{"namespace":"default","name":"bound"},
			"storageClassName":"fast","hostPath":{"path":"/x"}},"status":{"phase":"Bound","reason":"Because"}}`,
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"going","finalizers":["example.com/x"],"deletionTimestamp":"2024-01-01T00:00:00Z"},"spec":{"capacity":{"storage":"2Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`,
		job("running", `"parallelism":3`, `{}`),
		job("one", `"completions":1`, `{"startTime":"2024-01-01T00:00:00Z","active":1}`),
		job("done", `"completions":2`, `{"startTime":"2024-01-01T00:00:00Z","completionTime":"2024-01-01T00:01:30Z","succeeded":2,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`),
		job("failed", `"completions":2`, `{"startTime":"2024-01-01T00:00:00Z","failed":1,"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}`),
		job("suspended", `"suspend":true`, `{"conditions":[{"type":"Suspended","status":"True"}]}`),
		`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"cron"},"spec":{"schedule":"* * * * *","timeZone":"Etc/UTC","suspend":true,"jobTemplate":{"spec":{"template":{"spec":` + podSpec + `}}}},
			"status":{"lastScheduleTime":"2024-01-01T00:00:00Z","active":[{"name":"a"},{"name":"b"}]}}`,
		`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"new"},"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":` + podSpec + `}}}}}`,
		workload("Deployment", "full", `"replicas":3`, `{"replicas":3,"updatedReplicas":2,"readyReplicas":1,"availableReplicas":1}`),
		workload("Deployment", "new", `"replicas":0`, `{}`),
		workload("ReplicaSet", "full", `"replicas":3`, `{"replicas":2,"readyReplicas":1,"fullyLabeledReplicas":2,"availableReplicas":1}`),
		workload("StatefulSet", "full", `"replicas":3,"serviceName":"s"`, `{"replicas":3,"readyReplicas":1,"availableReplicas":1}`),
		workload("DaemonSet", "full", ``, `{"desiredNumberScheduled":5,"currentNumberScheduled":4,"numberReady":3,"updatedNumberScheduled":2,"numberAvailable":1,"numberMisscheduled":0}`),
	}
	return append(all, podSamples()...)
}

const podSpec = `{"restartPolicy":"Never","nodeSelector":{"disk":"ssd"},"containers":[{"name":"a","image":"i:1"},{"name":"b","image":"i:2"}]}`

func node(name, labels, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":%s},"spec":%s,"status":%s}`, name, labels, spec, status)
}

func event(name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q},"type":"Warning","reason":"Why","message":"what happened\n",%s}`, name, fields)
}

func service(name, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q},"spec":%s,"status":%s}`, name, spec, status)
}

func job(name, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q},"spec":{%s,"template":{"spec":%s}},"status":%s}`, name, spec, podSpec, status)
}

func workload(kind, name, spec, status string) string {
	if spec != "" {
		spec += ","
	}
	template := `{"metadata":{"labels":{"app":"web","tier":"x","z":"1"}},"spec":{"nodeSelector":{"disk":"ssd"},"containers":[{"name":"a","image":"i:1"},{"name":"b","image":"i:2"}]}}`
	selector := `{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"In","values":["y","x"]},{"key":"old","operator":"DoesNotExist"},{"key":"z","operator":"Exists"},{"key":"n","operator":"NotIn","values":["m"]}]}`
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":%q,"metadata":{"name":%q},"spec":{%s"selector":%s,"template":%s},"status":%s}`, kind, name, spec, selector, template, status)
}

func podSamples() []string {
	const (
		running    = `{"running":{"startedAt":"2024-01-01T00:00:00Z"}}`
		past       = `"lastState":{"terminated":{"exitCode":1,"finishedAt":"2024-01-01T00:00:00Z"}}`
		later      = `"lastState":{"terminated":{"exitCode":1,"finishedAt":"2024-06-01T00:00:00Z"}}`
		two        = `"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]`
		one        = `"containers":[{"name":"a","image":"i"}]`
		withInit   = one + `,"initContainers":[{"name":"x","image":"i"},{"name":"y","image":"i"}]`
		withHelper = one + `,"initContainers":[{"name":"side","image":"i","restartPolicy":"Always"},{"name":"x","image":"i"}]`
	)
	status := func(name, state string, ready bool, restarts int, more string) string {
		if more != "" {
			more = "," + more
		}
		return fmt.Sprintf(`{"name":%q,"image":"i","imageID":"","ready":%v,"restartCount":%d,"state":%s%s}`, name, ready, restarts, state, more)
	}
	pod := func(name, spec, status string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{%s,"automountServiceAccountToken":false},"status":%s}`, name, spec, status)
	}
	all := func(phase, containers string, more ...string) string {
		s := `{"phase":"` + phase + `","containerStatuses":[` + containers + `]`
		for _, m := range more {
			s += "," + m
		}
		return s + "}"
	}
	ready := `"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"},{"type":"example.com/a","status":"True"}]`
	inits := func(statuses string) string { return `"initContainerStatuses":[` + statuses + `]` }
	exited := func(code int, more string) string {
		return fmt.Sprintf(`{"terminated":{"exitCode":%d%s}}`, code, more)
	}
	return []string{
		pod("pending", one, `{"phase":"Pending"}`),
		pod("gated", one+`,"schedulingGates":[{"name":"example.com/g"}]`, `{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}`),
		pod("running", two+`,"nodeName":"n1","readinessGates":[{"conditionType":"example.com/a"},{"conditionType":"example.com/b"}]`,
			all("Running", status("a", running, true, 2, past)+","+status("b", running, false, 1, later), ready, `"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]`)),
		pod("crash", one, all("Running", status("a", `{"waiting":{"reason":"CrashLoopBackOff"}}`, false, 5, past))),
		pod("restarted", one, all("Running", status("a", running, true, 5, ""))),
		pod("completed", one+`,"restartPolicy":"Never"`, all("Succeeded", status("a", exited(0, `,"reason":"Completed"`), false, 0, ""))),
		pod("half-done", two+`,"restartPolicy":"Never"`, all("Running", status("a", exited(0, `,"reason":"Completed"`), false, 0, "")+","+status("b", running, true, 0, ""))),
		pod("half-done-ready", two+`,"restartPolicy":"Never"`, all("Running", status("a", exited(0, `,"reason":"Completed"`), false, 0, "")+","+status("b", running, true, 0, ""), ready)),
		pod("signal", one, all("Running", status("a", exited(0, `,"signal":9`), false, 0, ""))),
		pod("exit-code", one, all("Running", status("a", exited(3, ""), false, 0, ""))),
		pod("evicted", one, `{"phase":"Failed","reason":"Evicted"}`),
		pod("init-wait", withInit, all("Pending", "", inits(status("x", `{"waiting":{"reason":"PodInitializing"}}`, false, 0, "")))),
		pod("init-second", withInit, all("Pending", "", inits(status("x", exited(0, ""), true, 1, past)+","+status("y", running, false, 2, past)))),
		pod("init-image", withInit, all("Pending", "", inits(status("x", `{"waiting":{"reason":"ImagePullBackOff"}}`, false, 0, "")))),
		pod("init-failed", withInit, all("Pending", "", inits(status("x", exited(2, ""), false, 0, "")))),
		pod("init-signal", withInit, all("Pending", "", inits(status("x", exited(2, `,"signal":15`), false, 0, "")))),
		pod("init-error", withInit, all("Pending", "", inits(status("x", exited(2, `,"reason":"Error"`), false, 0, "")))),
		pod("init-done", withInit, all("Running", status("a", running, true, 1, past), inits(status("x", exited(0, ""), true, 7, later)+","+status("y", exited(0, ""), true, 0, "")))),
		pod("sidecar", withHelper, all("Running", status("a", running, true, 1, past), inits(status("side", running, true, 2, `"started":true,`+later)+","+status("x", exited(0, ""), true, 4, "")))),
		pod("sidecar-starts", withHelper, all("Pending", "", inits(status("side", running, false, 2, `"started":false`)))),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"terminating","finalizers":["example.com/x"],"deletionTimestamp":"2024-01-01T00:00:00Z"},"spec":{%s},"status":%s}`,
			one, all("Running", status("a", running, true, 0, ""))),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"lost","finalizers":["example.com/x"],"deletionTimestamp":"2024-01-01T00:00:00Z"},"spec":{%s},"status":{"phase":"Running","reason":"NodeLost"}}`, one),
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ended","finalizers":["example.com/x"],"deletionTimestamp":"2024-01-01T00:00:00Z"},"spec":{%s},"status":{"phase":"Succeeded"}}`, one),
	}
}

var widgetResource = resources.Resource{Group: "example.com", Plural: "widgets", Singular: "widget", Kind: "Widget", Namespaced: true}

const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","names":{"plural":"widgets","singular":"widget","kind":"Widget"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
"additionalPrinterColumns":[
{"name":"Size","type":"integer","jsonPath":".spec.size"},
{"name":"Ratio","type":"number","jsonPath":".spec.ratio","priority":1},
{"name":"On","type":"boolean","jsonPath":".spec.on"},
{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},
{"name":"Owner","type":"string","jsonPath":".metadata.labels.example\\.com/owner"},
{"name":"Since","type":"date","jsonPath":".spec.since"},
{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]}]}}`

var widgets = []string{
	`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"full","labels":{"example.com/owner":"me"}},
		"spec":{"size":9007199254740993,"ratio":0.5,"on":false,"since":"2024-01-01T00:00:00Z"},"status":{"conditions":[{"type":"A","status":"x"},{"type":"Ready","status":"True"}]}}`,
	`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"empty"}}`,
}
