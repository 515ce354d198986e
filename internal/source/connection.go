package source

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Connected takes in that a watch was opened: what data there is, is current
// again, unless it is about to be replaced.
func (s *Source) Connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.State().Ready() && !s.history.fresh {
		s.setStateLocked(State{Source: runnelv1.SourceState_SOURCE_STATE_SYNCED, AsOf: time.Now()})
	}
}

// Failed takes in that a list or a watch was refused or not answered.
func (s *Source) Failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Message: err.Error(), AsOf: s.State().AsOf}
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		state.Source = runnelv1.SourceState_SOURCE_STATE_FORBIDDEN
	case apierrors.IsNotFound(err) && state.Ready():
		state.Source = runnelv1.SourceState_SOURCE_STATE_GONE
	case apierrors.IsNotFound(err):
		state.Source = runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return // a list follows; this is how watches end
	case state.Ready():
		state.Source = runnelv1.SourceState_SOURCE_STATE_STALE
	default:
		state.Source = runnelv1.SourceState_SOURCE_STATE_FAILING
	}
	s.setStateLocked(state)
}
