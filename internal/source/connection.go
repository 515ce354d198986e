package source

import (
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Connected takes in that a watch was opened: what data there is, is current
// again, unless it is about to be replaced.
func (s *Source) Connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.State(); state.Ready() && !state.Ended() && !s.history.fresh {
		s.setStateLocked(State{Source: runnelv1.SourceState_SOURCE_STATE_SYNCED, AsOf: time.Now()})
	}
}

// Failed takes in that a list or a watch was refused or not answered.
func (s *Source) Failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.State().Ended() {
		return
	}
	state := State{Message: err.Error(), AsOf: s.State().AsOf}
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		state.Source = runnelv1.SourceState_SOURCE_STATE_FORBIDDEN
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return // a list follows; this is how watches end
	case state.Ready():
		state.Source = runnelv1.SourceState_SOURCE_STATE_STALE
	default:
		state.Source = runnelv1.SourceState_SOURCE_STATE_FAILING
	}
	s.setStateLocked(state)
}

// End takes in that the API server does not serve the resource in its version any more, but
// in the versions; it is the last that the source takes in. Without any version its objects
// are gone, and their views are told (D11); with one they are still there, and whoever wants
// them must turn to that.
func (s *Source) End(versions []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.State()
	if state.Ended() {
		return
	}
	s.stopInformerLocked()
	ended := State{
		Source:  runnelv1.SourceState_SOURCE_STATE_NOT_INSTALLED,
		Message: s.resource.String() + " is not served by the API server",
		AsOf:    state.AsOf,
	}
	if state.Ready() {
		ended.Source = runnelv1.SourceState_SOURCE_STATE_GONE
		ended.Message += " any more"
	}
	if len(versions) > 0 {
		ended.Message += ", but in " + strings.Join(versions, " and ")
	} else {
		all := s.addMissingLocked(pending{})
		for i := range all {
			all[i].ResourceVersion = s.watermark // at the most; it is not known
		}
		s.stepLocked(all, s.watermark, time.Now())
	}
	s.setStateLocked(ended)
}
