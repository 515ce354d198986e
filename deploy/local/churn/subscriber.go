package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/runnel-dev/runnel/client"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// subscriber is one stream on a connection of its own, and the copy that it keeps.
type subscriber struct {
	way
	tally
	// synced is closed when the snapshot is complete, and so is the connection's set-up.
	synced chan struct{}
	// replica verifies each object and digest. It may be read once run has returned.
	replica  *client.Replica
	meter    meter
	complete bool // the overall Synced came
	ended    bool // the marker's deletion came
}

func newSubscriber(w way) (*subscriber, error) {
	replica, err := client.NewReplica(w.request, nil)
	if err != nil {
		return nil, err
	}
	return &subscriber{way: w, synced: make(chan struct{}), replica: replica}, nil
}

// run subscribes and returns when the churn has ended and the copy was verified
// after that. It does not subscribe twice: a stream that breaks spoils the measurement.
func (s *subscriber) run(ctx context.Context, address string) error {
	if err := s.stream(ctx, address); err != nil {
		return fmt.Errorf("%s of %s: %w", s.name, s.request.GetResources()[0].GetResource(), err)
	}
	return nil
}

func (s *subscriber) stream(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithStatsHandler(&s.meter),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20), // as the SDK does
	)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := runnelv1.NewEventServiceClient(conn).Subscribe(ctx, s.request, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		frame, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := s.take(frame); err != nil {
			return err
		}
		if s.ended && frame.GetBookmark() != nil {
			return nil
		}
	}
}

// take counts the frame and gives it to the copy.
func (s *subscriber) take(frame *runnelv1.SubscribeResponse) error {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Batch:
		if s.complete && !s.ended {
			s.count(f.Batch, s.meter.last)
			s.ended = endsChurn(f.Batch)
		}
	case *runnelv1.SubscribeResponse_Reset_:
		if s.complete {
			return errors.New("the server reset the stream")
		}
	}
	if !s.complete {
		s.snapshot += s.meter.last
	}
	if err := s.replica.Apply(frame); err != nil {
		return err
	}
	if synced := frame.GetSynced(); synced != nil && synced.Resource == nil {
		s.complete = true
		close(s.synced)
	}
	return nil
}

// endsChurn tells whether the batch has the marker's deletion.
func endsChurn(b *runnelv1.Batch) bool {
	for _, e := range b.GetEvents() {
		if e.GetName() == marker && e.GetType() == runnelv1.EventType_EVENT_TYPE_DELETED {
			return true
		}
	}
	return false
}
