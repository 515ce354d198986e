package controlplane

import "strings"

// kubernetesWorkerFlags are the arguments that Kubernetes' own workers share. What
// is not here has the default of a real cluster, the limits of their requests
// included.
func (cp *ControlPlane) kubernetesWorkerFlags(kubeconfig string, p *port) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + p.String(),
		"--permit-port-sharing=true", // see port
		"--tls-cert-file=" + cp.file(servingCertFile),
		"--tls-private-key-file=" + cp.file(servingKeyFile),
		"--leader-elect=false", // there is one of each
	}
}

// controllerManagerFlags choose the controllers that Pods need, and none that
// would need more than there is, such as keys for signing.
func controllerManagerFlags() []string {
	return []string{"--controllers=" + strings.Join([]string{
		"deployment-controller",
		"replicaset-controller",
		"endpointslice-controller",
		"garbage-collector-controller",
		"namespace-controller",
		"node-lifecycle-controller", // takes the taint not-ready from Nodes
	}, ",")}
}

// kwokFlags are kwok's arguments. It serves nothing, for it could not share a
// port.
func kwokFlags(kubeconfig string, stages []string) []string {
	flags := []string{"--kubeconfig=" + kubeconfig, "--manage-all-nodes"}
	for _, path := range stages {
		flags = append(flags, "--config="+path)
	}
	return flags
}
