package columns

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func nodes() []Column {
	return append([]Column{
		name,
		cell("STATUS", func(o Object) string {
			status := "Unknown"
			switch o.condition("Ready") {
			case "":
			case "True":
				status = "Ready"
			default:
				status = "NotReady"
			}
			if o.text("spec.unschedulable") == "true" {
				status += ",SchedulingDisabled"
			}
			return status
		}),
		cell("ROLES", nodeRoles),
		age,
		field("VERSION", "status.nodeInfo.kubeletVersion"),
	}, wide(
		nodeAddress("INTERNAL-IP", "InternalIP"),
		nodeAddress("EXTERNAL-IP", "ExternalIP"),
		fieldOr("OS-IMAGE", "status.nodeInfo.osImage", "<unknown>"),
		fieldOr("KERNEL-VERSION", "status.nodeInfo.kernelVersion", "<unknown>"),
		fieldOr("CONTAINER-RUNTIME", "status.nodeInfo.containerRuntimeVersion", "<unknown>"),
	)...)
}

func nodeRoles(o Object) string {
	var roles []string
	for label, value := range o.object("metadata.labels") {
		switch role, isRole := strings.CutPrefix(label, "node-role.kubernetes.io/"); {
		case isRole && role != "":
			roles = append(roles, role)
		case label == "kubernetes.io/role" && text(value) != "":
			roles = append(roles, text(value))
		}
	}
	slices.Sort(roles)
	return or(strings.Join(slices.Compact(roles), ","), none)
}

func nodeAddress(name, kind string) Column {
	return cell(name, func(o Object) string {
		for _, a := range o.list("status.addresses") {
			if a.text("type") == kind {
				return a.text("address")
			}
		}
		return none
	})
}

// events knows both API groups of events, which name the same things differently.
func events() []Column {
	either := func(o Object, paths ...string) string {
		for _, path := range paths {
			if s := o.text(path); s != "" {
				return s
			}
		}
		return ""
	}
	lastSeen := func(o Object) string {
		return either(o, "series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime")
	}
	return slices.Concat([]Column{
		{Name: "LAST SEEN", Cell: func(o Object, now time.Time) string { return ago(lastSeen(o), now) }},
		field("TYPE", "type"),
		field("REASON", "reason"),
		cell("OBJECT", func(o Object) string {
			kind, of := "involvedObject.kind", "involvedObject.name"
			if o.object("regarding") != nil {
				kind, of = "regarding.kind", "regarding.name"
			}
			if o.text(of) == "" {
				return strings.ToLower(o.text(kind))
			}
			return strings.ToLower(o.text(kind)) + "/" + o.text(of)
		}),
	}, wide(
		cell("SUBOBJECT", func(o Object) string { return either(o, "involvedObject.fieldPath", "regarding.fieldPath") }),
		cell("SOURCE", func(o Object) string {
			component := either(o, "source.component", "deprecatedSource.component", "reportingComponent", "reportingController")
			host := either(o, "source.host", "deprecatedSource.host")
			if either(o, "source.component", "deprecatedSource.component") == "" && host == "" {
				host = o.text("reportingInstance")
			}
			return strings.TrimSuffix(component+", "+host, ", ")
		}),
	), []Column{
		cell("MESSAGE", func(o Object) string { return strings.TrimSpace(either(o, "message", "note")) }),
	}, wide(
		Column{Name: "FIRST SEEN", Cell: func(o Object, now time.Time) string {
			return ago(either(o, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)
		}},
		cell("COUNT", func(o Object) string { return or(either(o, "series.count", "count", "deprecatedCount"), "1") }),
		name,
	))
}

func services() []Column {
	return append([]Column{
		name,
		field("TYPE", "spec.type"),
		fieldOr("CLUSTER-IP", "spec.clusterIP", none),
		cell("EXTERNAL-IP", serviceExternalIP),
		cell("PORT(S)", func(o Object) string {
			var ports []string
			for _, p := range o.list("spec.ports") {
				port := p.text("port")
				if nodePort := p.text("nodePort"); nodePort != "" {
					port += ":" + nodePort
				}
				ports = append(ports, port+"/"+p.text("protocol"))
			}
			return or(strings.Join(ports, ","), none)
		}),
		age,
	}, wide(cell("SELECTOR", func(o Object) string { return or(o.pairs("spec.selector"), none) }))...)
}

func serviceExternalIP(o Object) string {
	external := o.texts("spec.externalIPs")
	switch o.text("spec.type") {
	case "ExternalName":
		return o.text("spec.externalName")
	case "LoadBalancer":
		balancer := balancers(o)
		if balancer == "" && len(external) == 0 {
			return "<pending>"
		}
		if balancer != "" {
			external = append([]string{balancer}, external...)
		}
	}
	return or(strings.Join(external, ","), none)
}

// balancers are the addresses at which a load balancer is reached.
func balancers(o Object) string {
	var addresses []string
	for _, i := range o.list("status.loadBalancer.ingress") {
		addresses = append(addresses, or(i.text("ip"), i.text("hostname")))
	}
	return strings.Join(addresses, ",")
}

func ingresses() []Column {
	return []Column{
		name,
		fieldOr("CLASS", "spec.ingressClassName", none),
		cell("HOSTS", func(o Object) string {
			var hosts []string
			for _, r := range o.list("spec.rules") {
				if host := r.text("host"); host != "" && !slices.Contains(hosts, host) {
					hosts = append(hosts, host)
				}
			}
			return or(few(hosts, 3), "*")
		}),
		cell("ADDRESS", balancers),
		cell("PORTS", func(o Object) string {
			if len(o.list("spec.tls")) > 0 {
				return "80, 443"
			}
			return "80"
		}),
		age,
	}
}

func endpointSlices() []Column {
	return []Column{
		name,
		field("ADDRESSTYPE", "addressType"),
		cell("PORTS", func(o Object) string {
			var ports []string
			for _, p := range o.list("ports") {
				ports = append(ports, or(p.text("port"), "*"))
			}
			return or(few(ports, 3), "<unset>")
		}),
		cell("ENDPOINTS", func(o Object) string {
			var addresses []string
			for _, e := range o.list("endpoints") {
				addresses = append(addresses, e.texts("addresses")...)
			}
			return or(few(addresses, 3), "<unset>")
		}),
		age,
	}
}

// few joins the first n, and says how many more there are.
func few(texts []string, n int) string {
	if len(texts) <= n {
		return strings.Join(texts, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(texts[:n], ","), len(texts)-n)
}

func claims() []Column {
	return append([]Column{
		name,
		cell("STATUS", volumeStatus),
		field("VOLUME", "spec.volumeName"),
		cell("CAPACITY", func(o Object) string {
			if o.text("spec.volumeName") == "" {
				return ""
			}
			return o.text("status.capacity.storage")
		}),
		cell("ACCESS MODES", func(o Object) string {
			if o.text("spec.volumeName") == "" {
				return ""
			}
			return accessModes(o, "status.accessModes")
		}),
		field("STORAGECLASS", "spec.storageClassName"),
		fieldOr("VOLUMEATTRIBUTESCLASS", "spec.volumeAttributesClassName", "<unset>"),
		age,
	}, wide(fieldOr("VOLUMEMODE", "spec.volumeMode", "<unset>"))...)
}

func volumes() []Column {
	return append([]Column{
		name,
		field("CAPACITY", "spec.capacity.storage"),
		cell("ACCESS MODES", func(o Object) string { return accessModes(o, "spec.accessModes") }),
		field("RECLAIM POLICY", "spec.persistentVolumeReclaimPolicy"),
		cell("STATUS", volumeStatus),
		cell("CLAIM", func(o Object) string {
			if o.object("spec.claimRef") == nil {
				return ""
			}
			return o.text("spec.claimRef.namespace") + "/" + o.text("spec.claimRef.name")
		}),
		field("STORAGECLASS", "spec.storageClassName"),
		fieldOr("VOLUMEATTRIBUTESCLASS", "spec.volumeAttributesClassName", "<unset>"),
		field("REASON", "status.reason"),
		age,
	}, wide(fieldOr("VOLUMEMODE", "spec.volumeMode", "<unset>"))...)
}

func volumeStatus(o Object) string {
	if o.text("metadata.deletionTimestamp") != "" {
		return "Terminating"
	}
	return o.text("status.phase")
}

// accessModes are a volume's in their short forms, in the usual order.
func accessModes(o Object, path string) string {
	short := []struct{ mode, text string }{
		{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"},
	}
	modes := o.texts(path)
	var texts []string
	for _, s := range short {
		if slices.Contains(modes, s.mode) {
			texts = append(texts, s.text)
		}
	}
	return strings.Join(texts, ",")
}
