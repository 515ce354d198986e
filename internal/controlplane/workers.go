package controlplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// workers are the programs that StartWorkers has started, and their ports.
type workers struct {
	mu      sync.Mutex // guards what follows; never held while waiting
	servers []*server
	ports   []*port
	started bool
	closed  bool // nothing may be added
}

// StartWorkers starts what makes Deployments, ReplicaSets, Services and Pods live:
// kube-controller-manager, kube-scheduler, and kwok, which plays the kubelets of
// as many Nodes as asked for. It returns when these Nodes are ready for Pods.
//
// From then on objects change by themselves: Pods are made, bound, become ready at
// once and end when they are deleted; Nodes report their status. No container
// runs. The workers act as Admin.
//
// It may be called once. Stop ends the workers, also if StartWorkers failed half-way.
// The context bounds the start only.
func (cp *ControlPlane) StartWorkers(ctx context.Context, assets Workers, nodes int) error {
	if err := kubernetesWorkerTools.missing(assets.kubernetes); err != nil {
		return err
	}
	if err := kwokTools.missing(assets.kwok); err != nil {
		return err
	}
	if err := cp.workers.begin(); err != nil {
		return err
	}
	kubeconfig := cp.file("workers.kubeconfig")
	if err := cp.WriteKubeconfig(kubeconfig, Admin); err != nil {
		return err
	}
	client, done, err := cp.nodes()
	if err != nil {
		return err
	}
	defer done()
	if err := createNodes(ctx, client, nodes); err != nil {
		return err
	}
	for _, worker := range []struct {
		name  string
		flags []string
	}{
		{"kube-controller-manager", controllerManagerFlags()},
		{"kube-scheduler", nil},
	} {
		err := cp.startKubernetesWorker(ctx, filepath.Join(assets.kubernetes, worker.name), kubeconfig, worker.flags)
		if err != nil {
			return err
		}
	}
	return cp.startWorker(ctx, &server{
		path: filepath.Join(assets.kwok, "kwok"),
		args: kwokFlags(kubeconfig, assets.stages()),
		// It serves nothing. What it is there for tells that it works; this takes the
		// controllers, too.
		ready: func(ctx context.Context) error { return nodesReady(ctx, client, nodes) },
	})
}

// startKubernetesWorker starts a program that serves /healthz as Kubernetes' own do.
func (cp *ControlPlane) startKubernetesWorker(ctx context.Context, path, kubeconfig string, flags []string) error {
	p, err := cp.workers.reservePort()
	if err != nil {
		return err
	}
	health := &probe{client: probeClient(cp.ca), url: "https://" + p.address(), paths: []string{"/healthz"}}
	return cp.startWorker(ctx, &server{
		path:  path,
		args:  append(cp.kubernetesWorkerFlags(kubeconfig, p), flags...),
		ready: health.check,
	})
}

func (cp *ControlPlane) startWorker(ctx context.Context, s *server) error {
	s.log = cp.file(s.name() + ".log")
	s.grace = time.Second // there is nothing to save
	if err := cp.workers.add(s); err != nil {
		return err
	}
	return s.start(ctx)
}

func (w *workers) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("the control plane is stopped")
	}
	if w.started {
		return errors.New("the workers were started before")
	}
	w.started = true
	return nil
}

func (w *workers) add(s *server) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("starting %s: the control plane is stopped", s.name())
	}
	w.servers = append(w.servers, s)
	return nil
}

func (w *workers) reservePort() (*port, error) {
	p, err := reservePort()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		p.release()
		return nil, errors.New("the control plane is stopped")
	}
	w.ports = append(w.ports, p)
	return p, nil
}

// close ends the workers, for good, and returns when they are gone.
func (w *workers) close() {
	w.mu.Lock()
	w.closed = true
	servers, ports := w.servers, w.ports
	w.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range servers {
		ending.Go(s.close)
	}
	ending.Wait()
	for _, p := range ports {
		p.release()
	}
}
