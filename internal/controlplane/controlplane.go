// Package controlplane runs a real Kubernetes control plane for tests, demos and
// benchmarks: kube-apiserver over etcd, on loopback, in a folder of its own.
//
//	cp, err := controlplane.Start(ctx, controlplane.Config{
//		Users: map[string][]string{"alice": {"developers"}},
//	})
//	...
//	defer cp.Stop()
//	admin, alice := cp.RESTConfig(controlplane.Admin), cp.RESTConfig("alice")
//
// There are no nodes, no scheduler and no controllers, unless StartWorkers starts
// them: objects are what a test writes, and nothing changes them behind its back.
// Authorization is RBAC, so
// that permissions are tested against the real rules. (A controller would also
// have filled the roles view, edit and admin. Here they allow nothing: bind
// system:aggregate-to-view and its like.)
//
// What holds:
//   - Nothing is fixed or shared. Ports, keys, tokens and folders are made anew
//     by every Start, so any number of control planes run side by side.
//   - Either server may be stopped, started and paused while clients look on. It
//     comes back with the same address, keys and data.
//   - Etcd may be killed, and its data put back to an earlier Snapshot, while
//     clients look on. Addresses and keys stay.
//   - Stop leaves neither a process nor a file. On Linux the servers also die
//     with a parent that is killed; only the folder is left then.
//
// Start runs child processes and one goroutine for each, which Stop ends. All
// methods may be called from any goroutine. It works on Linux and macOS.
//
// Start reading at Start, then server.go. Assets finds or builds the binaries;
// snapshot.go rewrites history; workers.go is what benchmarks need besides.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Admin is the user who may do anything: a member of system:masters.
const Admin = "admin"

// Config says what Start starts. The zero value is ready to use.
type Config struct {
	// Assets is the folder that holds kube-apiserver and etcd. Empty means what
	// Find finds.
	Assets string
	// Users are the users besides Admin, each with its groups. They may do what
	// RBAC objects, yet to be created, allow; at first nearly nothing.
	Users map[string][]string
}

// ControlPlane is a kube-apiserver with its etcd.
type ControlPlane struct {
	dir    string
	ca     []byte            // PEM
	tokens map[string]string // by user; not changed after Start

	etcdPort, apiPort *port
	etcd, apiServer   *server
	workers           workers
	tearDown          func() error // runs once

	// copying is held by Snapshot and Restore, so that one copy does not see
	// another begin, and by Stop while it removes the folder that they work in.
	copying sync.Mutex
}

// Start starts a control plane and returns when it serves: /readyz is ok, the
// default roles and the namespace "default" exist. That takes a few seconds. It
// never builds anything; without binaries the error is ErrNoAssets.
//
// The context bounds the start only. If the start fails, nothing is left behind,
// and the error ends with the last lines that the failing server logged.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	cp, err := prepare(config)
	if err != nil {
		return nil, fmt.Errorf("preparing a control plane: %w", err)
	}
	for _, start := range []func(context.Context) error{cp.etcd.start, cp.apiServer.start} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, cp.Stop())
		}
	}
	return cp, nil
}

// Stop ends the servers, and the workers if there are any, and removes their folder. It returns when they are gone;
// its error is about the folder. Calls after the first do nothing.
func (cp *ControlPlane) Stop() error { return cp.tearDown() }

// Dir is the folder of this control plane, readable by its user alone. Etcd's
// data is all of its subfolder "etcd"; the logs are etcd.log and
// kube-apiserver.log. It is gone after Stop.
func (cp *ControlPlane) Dir() string { return cp.dir }

// StopAPIServer ends kube-apiserver as a node's shutdown would: it ends its
// watches, and its clients meet a refused connection afterwards.
func (cp *ControlPlane) StopAPIServer() { cp.apiServer.stop() }

// StartAPIServer starts kube-apiserver again, at the same address and with the
// same keys, and returns when it serves.
func (cp *ControlPlane) StartAPIServer(ctx context.Context) error { return cp.apiServer.start(ctx) }

// PauseAPIServer freezes kube-apiserver: connections stay open and nothing is
// answered, like a server that the network has lost.
func (cp *ControlPlane) PauseAPIServer() { cp.apiServer.signal(syscall.SIGSTOP) }

// ResumeAPIServer ends a pause.
func (cp *ControlPlane) ResumeAPIServer() { cp.apiServer.signal(syscall.SIGCONT) }

// StopEtcd ends etcd. Kube-apiserver keeps running, but is not ready. The data
// may be copied or replaced meanwhile.
func (cp *ControlPlane) StopEtcd() { cp.etcd.stop() }

// KillEtcd ends etcd as a crash does, without a chance to finish anything, and
// returns when it is gone. For clients it is like StopEtcd: kube-apiserver keeps
// their connections and answers requests that need etcd with errors. StartEtcd
// brings it back with all that it had acknowledged.
func (cp *ControlPlane) KillEtcd() { cp.etcd.kill() }

// StartEtcd starts etcd again on the data in its folder and returns when it
// serves. Kube-apiserver finds it by itself, a little later.
func (cp *ControlPlane) StartEtcd(ctx context.Context) error { return cp.etcd.start(ctx) }

// prepare does everything but start the servers.
func prepare(config Config) (_ *ControlPlane, err error) {
	assets := config.Assets
	if assets == "" {
		assets, err = locate()
	} else {
		err = missing(assets)
	}
	if err != nil {
		return nil, err
	}

	cp := &ControlPlane{}
	cp.tearDown = sync.OnceValue(cp.removeAll)
	defer func() {
		if err != nil {
			err = errors.Join(err, cp.Stop())
		}
	}()
	if cp.dir, err = os.MkdirTemp("", "runnel-controlplane-"); err != nil {
		return nil, err
	}
	if cp.etcdPort, err = reservePort(); err != nil {
		return nil, err
	}
	if cp.apiPort, err = reservePort(); err != nil {
		return nil, err
	}
	if err = cp.writeCredentials(config.Users); err != nil {
		return nil, err
	}
	cp.etcd = &server{
		path:  filepath.Join(assets, "etcd"),
		args:  cp.etcdFlags(),
		log:   cp.file("etcd.log"),
		ready: cp.etcdProbe().check,
		// Etcd would wait for kube-apiserver's watches to end. A kill loses nothing:
		// what it has acknowledged is in the kernel's hands.
		grace: time.Second,
	}
	cp.apiServer = &server{
		path:  filepath.Join(assets, "kube-apiserver"),
		args:  cp.apiServerFlags(),
		log:   cp.file("kube-apiserver.log"),
		ready: cp.apiServerProbe().check,
		grace: 5 * time.Second, // it takes one
	}
	return cp, nil
}

// removeAll undoes what prepare and the servers have done, as far as they got.
func (cp *ControlPlane) removeAll() error {
	cp.workers.close() // first, so that they see no API server go
	for _, server := range []*server{cp.apiServer, cp.etcd} {
		if server != nil {
			server.close()
		}
	}
	for _, port := range []*port{cp.apiPort, cp.etcdPort} {
		if port != nil {
			port.release()
		}
	}
	cp.copying.Lock() // whoever copies is done soon: nothing can be started any more
	defer cp.copying.Unlock()
	return os.RemoveAll(cp.dir)
}

// file names a file in the control plane's folder.
func (cp *ControlPlane) file(name string) string { return filepath.Join(cp.dir, name) }
