package source

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/runnel-dev/runnel/internal/record"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// A watch may lose events, and nobody is told: bugs of that kind were found in API
// servers, in etcd and in what stands between. An audit lists the identities of all objects
// now and then and compares them with what is held. What it finds is put right by listing
// anew, so that the informer's own store is right, too.

// audited is what an audit listed, and what was watched meanwhile.
type audited struct {
	objects map[string]identity
	// touched are the keys of what changed since it began.
	touched map[string]struct{}
}

type identity struct{ uid, resourceVersion string }

// auditPatience is how long an audit waits for the watch to be as far as its list: an idle
// watch is told once in a minute.
const auditPatience = 3 * time.Minute

// audit compares what is held with what the API server lists, once in an interval, until ctx
// ends.
func (u *upstream) audit(ctx context.Context, interval time.Duration) {
	for {
		select {
		case <-time.After(interval - rand.N(interval/4+1)): // replicas and resources take turns
		case <-ctx.Done():
			return
		}
		if u.source.State().Source != runnelv1.SourceState_SOURCE_STATE_SYNCED {
			continue
		}
		lost, err := u.source.audit(ctx, u.api.identities)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			u.log.Warn("audit failed", "error", err)
		case lost > 0:
			u.log.Warn("audit found objects that are not what was watched", "objects", lost)
			// An event was lost, unless it happened in another history; but history ends
			// watches when it is rewritten, so that who cannot know takes it for lost.
			if err := u.verify(ctx, u.position()); err != nil && !apierrors.IsResourceExpired(err) {
				u.log.Warn("audit failed", "error", err)
				continue
			}
			u.source.Relist(fmt.Sprintf("an audit found %d objects of which an event was lost", lost), true)
		}
	}
}

// audit counts the objects of which an event was lost. It blocks until the source is as far
// as list.
func (s *Source) audit(ctx context.Context, list func(context.Context, func(*record.Record)) (string, error)) (lost int, err error) {
	a := &audited{objects: map[string]identity{}, touched: map[string]struct{}{}}
	s.mu.Lock()
	s.audited = a
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.audited = nil
	}()
	resourceVersion, err := list(ctx, func(r *record.Record) { a.objects[r.Key()] = identity{r.UID, r.ResourceVersion} })
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	if !s.Await(ctx, resourceVersion) {
		return 0, fmt.Errorf("the watch is behind resourceVersion %s after %v", resourceVersion, auditPatience)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audits.Audits++
	_, ordered := record.CompareResourceVersions(s.watermark, resourceVersion)
	if !ordered || s.heldBackLocked() || s.State().Source != runnelv1.SourceState_SOURCE_STATE_SYNCED {
		return 0, nil // nobody knows how far the watch is, or it is about to be listed anyway
	}
	lost = a.lostLocked(s)
	s.audits.Lost += uint64(lost)
	return lost, nil
}

// lostLocked counts what differs: of what did not change meanwhile, everything that was
// listed was watched before.
func (a *audited) lostLocked(s *Source) (lost int) {
	same := 0
	for r := range s.inNamespaceLocked("") {
		if _, ok := a.touched[r.Key()]; ok {
			continue
		}
		if a.objects[r.Key()] == (identity{r.UID, r.ResourceVersion}) {
			same++
		} else if _, ok := a.objects[r.Key()]; !ok {
			lost++ // a deletion
		}
	}
	for key := range a.objects {
		if _, ok := a.touched[key]; !ok {
			lost++
		}
	}
	return lost - same
}

// Audits are what audits found since the source started.
type Audits struct {
	// Audits is how often all objects were compared.
	Audits uint64
	// Lost is of how many objects an event had been lost.
	Lost uint64
}
