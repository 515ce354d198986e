package main

import "fmt"

// markerNode takes no Pods.
const markerNode = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + marker + `"},"spec":{"unschedulable":true}}`

// markerPod asks for a scheduler that is not there.
const markerPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + marker + `"},
	"spec":{"schedulerName":"nobody","containers":[{"name":"main","image":"example"}]}}`

// name is that of a Deployment.
func name(i int) string { return fmt.Sprintf("shop-%d", i+1) }

// deploymentJSON is a Deployment of an ordinary web service. Its Pods' size sets the
// ratio between whole objects and patches more than anything else, so it has what
// most have (labels, ports, environment, resources, probes) and no more.
func deploymentJSON(name string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%[1]q},"spec":{
		"replicas":%[2]d,
		"selector":{"matchLabels":{"app.kubernetes.io/name":%[1]q}},
		"template":{
			"metadata":{"labels":{"app.kubernetes.io/name":%[1]q,"app.kubernetes.io/part-of":"shop"}},
			"spec":{"containers":[{
				"name":"web",
				"image":"registry.example/shop/web:1.4.2",
				"ports":[{"name":"http","containerPort":8080}],
				"env":[
					{"name":"LOG_LEVEL","value":"info"},
					{"name":"POD_NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
				"resources":{"requests":{"cpu":"50m","memory":"64Mi"},"limits":{"memory":"128Mi"}},
				"readinessProbe":{"httpGet":{"path":"/readyz","port":"http"}},
				"livenessProbe":{"httpGet":{"path":"/livez","port":"http"}}
			}]}}}}`, name, replicas)
}
