package controlplane

// etcdFlags are etcd's arguments. It speaks plain HTTP: what it holds is thrown
// away, and only this machine can reach it.
func (cp *ControlPlane) etcdFlags() []string {
	const peers = "http://127.0.0.1:0" // there are none: any port, and nobody needs to know it
	return []string{
		"--name=etcd",
		"--data-dir=" + cp.dataDir(),
		"--listen-client-urls=" + cp.etcdURL(),
		"--advertise-client-urls=" + cp.etcdURL(),
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=etcd=" + peers,
		"--socket-reuse-port=true",         // see port
		"--unsafe-no-fsync=true",           // data need not survive a power cut
		"--quota-backend-bytes=1073741824", // a runaway test meets an error before it fills the disk
		"--log-level=warn",
	}
}

func (cp *ControlPlane) etcdURL() string { return "http://" + cp.etcdPort.address() }

// apiServerFlags are kube-apiserver's arguments. What is not here has the default
// of a real cluster, the watch cache above all.
func (cp *ControlPlane) apiServerFlags() []string {
	return []string{
		"--etcd-servers=" + cp.etcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", // or it looks for a default route, and a sandbox may have none
		"--secure-port=" + cp.apiPort.String(),
		"--permit-port-sharing=true", // see port
		"--tls-cert-file=" + cp.file(servingCertFile),
		"--tls-private-key-file=" + cp.file(servingKeyFile),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + cp.file(accountKeyFile),
		"--service-account-signing-key-file=" + cp.file(accountKeyFile),
		"--token-auth-file=" + cp.file(tokenFile),
		"--authorization-mode=RBAC",
		// Pods may be created although no controller makes service accounts.
		"--disable-admission-plugins=ServiceAccount",
		// There is no network of nodes in which the service "kubernetes" would need
		// endpoints, and loopback addresses are refused for it.
		"--endpoint-reconciler-type=none",
		// Ends the watches at once when the server is stopped; the default waits a
		// minute for them to end by themselves.
		"--shutdown-watch-termination-grace-period=1s",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--allow-privileged=true", // the Pods of node agents are privileged
	}
}
