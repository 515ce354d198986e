package client

import (
	"bytes"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// offer is what a request says of what the handler holds, so that the stream goes on
// from there (D8).
type offer int

const (
	// offerTokens is the newest token of each resource, and what the handler holds of
	// those that have none.
	offerTokens offer = iota
	// offerKnown is what the handler holds of each resource. The tokens go along: no
	// replica may serve what is older (D2).
	offerKnown
	// offerNothing asks for snapshots.
	offerNothing
)

// String is for the log.
func (f offer) String() string {
	return [...]string{"resume tokens", "known versions", "nothing"}[f]
}

// maxKnownFailures is how many streams in a row that began with known versions may
// fail to put a copy right. A third would hardly tell another difference; a snapshot
// tells everything.
const maxKnownFailures = 2

// resumption decides what each request of a subscription offers.
type resumption struct {
	// known is Handler.Known, which may be nil.
	known func(resource int) []byte
	// tokens are the newest, by resource; empty where there is none.
	tokens [][]byte
	// next is what the next request offers.
	next offer
	// offered says that the last request carried a token or known versions.
	offered bool
	// failures counts streams that began with known versions and diverged, or were
	// refused as expired all the same, since one was right.
	failures int
}

// newResumption begins with the tokens that the request carries.
func newResumption(request *runnelv1.SubscribeRequest, known func(resource int) []byte) resumption {
	r := resumption{known: known, tokens: make([][]byte, len(request.GetResources()))}
	for i, resource := range request.GetResources() {
		r.tokens[i] = resource.GetResumeToken()
	}
	return r
}

// fill puts into the request what is offered next.
func (r *resumption) fill(request *runnelv1.SubscribeRequest) {
	r.offered = false
	request.OnExpired = runnelv1.OnExpired_ON_EXPIRED_UNSPECIFIED
	for i, resource := range request.GetResources() {
		resource.ResumeToken, resource.Known = nil, nil
		if r.next == offerNothing {
			continue
		}
		resource.ResumeToken = r.tokens[i]
		if r.known != nil && (r.next == offerKnown || len(r.tokens[i]) == 0) {
			resource.Known = r.known(i)
		}
		if r.known != nil && r.next == offerTokens && len(r.tokens[i]) > 0 {
			request.OnExpired = runnelv1.OnExpired_ON_EXPIRED_FAIL // known versions cost less than a snapshot
		}
		r.offered = r.offered || len(resource.ResumeToken) > 0 || len(resource.Known) > 0
	}
}

// ended takes in how a stream ended, or that none could be opened. It says whether the
// next request may follow promptly, as it offers what the server has asked for.
func (r *resumption) ended(o *outcome) (promptly bool) {
	switch {
	case o.diverged() || o.expired():
		if r.next == offerKnown {
			r.failures++
		}
		promptly = o.expired() && r.next == offerTokens && r.known != nil
		r.next = offerKnown
		if r.known == nil || r.failures >= maxKnownFailures {
			r.next = offerNothing
		}
	case r.refused(o):
		r.next = offerNothing
	case o.connected():
		r.next = offerTokens
		if o.synced {
			r.failures = 0
		}
	}
	return promptly
}

// refused says that the server refused a request which may be at fault only for what it
// offered: a server from before there was resume, or too many known versions.
func (r *resumption) refused(o *outcome) bool {
	return r.offered && !o.byHandler && refused(o.err)
}

// token is the newest token of a resource.
type token struct {
	resource uint32
	bytes    []byte
}

// tokenOf is the token that a frame carries, if it carries one. A token of a history that
// was rewritten is worth nothing, and no floor either: replicas would never get there (D9).
func tokenOf(frame *runnelv1.SubscribeResponse) (t token, moved bool) {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		t = token{f.Batch.GetResource(), f.Batch.GetResumeToken()}
	case *runnelv1.SubscribeResponse_Bookmark:
		t = token{f.Bookmark.GetResource(), f.Bookmark.GetResumeToken()}
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			return token{}, false
		}
		t = token{f.Synced.GetResource(), f.Synced.GetResumeToken()}
	case *runnelv1.SubscribeResponse_Reset_:
		rewritten := f.Reset_.GetReason() == runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN
		return token{resource: f.Reset_.GetResource()}, rewritten
	}
	t.bytes = bytes.Clone(t.bytes) // the frame becomes the handler's
	return t, len(t.bytes) > 0
}

// commit makes a token the newest, once the handler has taken in the frame.
func (r *resumption) commit(t token) {
	if uint64(t.resource) < uint64(len(r.tokens)) {
		r.tokens[t.resource] = t.bytes
	}
}
