package subscriber

import (
	"time"

	"github.com/runnel-dev/runnel/internal/source"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// Control frames differ from subscriber to subscriber and are encoded by grpc-go;
// batches are not (see package wire).

func resetFrame(resource int, reason runnelv1.ResetReason) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Reset_{Reset_: &runnelv1.Reset{
		Resource: uint32(resource), Reason: reason,
	}}}
}

func resumedFrame(resource int) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Resumed{Resumed: &runnelv1.Resumed{
		Resource: uint32(resource),
	}}}
}

func syncedFrame(resource int, digest *runnelv1.Digest, token []byte) *runnelv1.SubscribeResponse {
	index := uint32(resource)
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{
		Resource: &index, Digest: digest, ResumeToken: token,
	}}}
}

func allSyncedFrame() *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Synced{Synced: &runnelv1.Synced{}}}
}

func bookmarkFrame(resource int, resourceVersion string, digest *runnelv1.Digest, token []byte) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Bookmark{Bookmark: &runnelv1.Bookmark{
		Resource: uint32(resource), ResourceVersion: resourceVersion, Digest: digest, ResumeToken: token,
	}}}
}

func statusFrame(resource int, state source.State) *runnelv1.SubscribeResponse {
	s := &runnelv1.SourceStatus{Resource: uint32(resource), State: state.Source, Message: state.Message}
	if state.Ready() {
		s.DataAsOf = state.AsOf.UTC().Format(time.RFC3339)
	}
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Status{Status: s}}
}

func goodbyeFrame(reason runnelv1.GoodbyeReason, retryAfter time.Duration) *runnelv1.SubscribeResponse {
	return &runnelv1.SubscribeResponse{Frame: &runnelv1.SubscribeResponse_Goodbye{Goodbye: &runnelv1.Goodbye{
		Reason: reason, RetryAfterMs: uint32(retryAfter.Milliseconds()),
	}}}
}

func digestMessage(d view.Digest) *runnelv1.Digest {
	return &runnelv1.Digest{Count: d.Count, Hash: d.Hash}
}
