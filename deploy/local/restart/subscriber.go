package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/runnel-dev/runnel/client"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// subscriber keeps what it takes to come back, and to tell that all is right: a Replica
// would keep the objects, which a thousand of them in one process cannot.
type subscriber struct {
	token []byte
	// held is the version of each object, by the hash of its UID.
	held map[uint64]uint64
	// fresh is what a snapshot that is under way has brought.
	fresh map[uint64]uint64
}

// errLevel ends a visit.
var errLevel = errors.New("level")

// visit subscribes until the subscriber holds what the server does.
func (s *subscriber) visit(ctx context.Context, address string) error {
	c, err := client.New(address, client.WithInsecure())
	if err != nil {
		return err
	}
	err = c.Subscribe(ctx, &runnelv1.SubscribeRequest{Resources: []*runnelv1.ResourceSubscription{{
		Resource: "configmaps", Namespaces: []string{namespace}, ResumeToken: s.token,
	}}}, client.Handler{Frame: s.take, Known: s.known})
	if errors.Is(err, errLevel) {
		err = nil
	}
	return errors.Join(err, c.Close())
}

func (s *subscriber) take(frame *runnelv1.SubscribeResponse) error {
	switch f := frame.GetFrame().(type) {
	case *runnelv1.SubscribeResponse_Reset_:
		s.fresh = make(map[uint64]uint64, len(s.held))
	case *runnelv1.SubscribeResponse_Batch:
		s.apply(f.Batch)
	case *runnelv1.SubscribeResponse_Synced:
		if f.Synced.Resource == nil {
			return errLevel
		}
		if s.fresh != nil {
			s.held, s.fresh = s.fresh, nil
		}
		s.keep(f.Synced.GetResumeToken())
		return s.verify(f.Synced.GetDigest())
	}
	return nil
}

func (s *subscriber) apply(b *runnelv1.Batch) {
	held := s.held
	if s.fresh != nil {
		held = s.fresh
	}
	for _, e := range b.GetEvents() {
		uid := e.GetUidHash()
		if uid == 0 {
			uid = xxhash.Sum64String(e.GetUid())
		}
		if delete(held, uid); e.GetType() != runnelv1.EventType_EVENT_TYPE_DELETED {
			held[uid] = e.GetVersion()
		}
	}
	s.keep(b.GetResumeToken())
}

func (s *subscriber) keep(token []byte) {
	if len(token) > 0 {
		s.token = token
	}
}

// verify compares what is held with the server's digest.
func (s *subscriber) verify(want *runnelv1.Digest) error {
	var hash uint64
	var b [16]byte
	for uid, version := range s.held {
		binary.LittleEndian.PutUint64(b[:8], uid)
		binary.LittleEndian.PutUint64(b[8:], version)
		hash ^= xxhash.Sum64(b[:])
	}
	if want.GetHash() != hash || want.GetCount() != uint64(len(s.held)) {
		return fmt.Errorf("the server says %d objects, %x; held are %d, %x", want.GetCount(), want.GetHash(), len(s.held), hash)
	}
	return nil
}

func (s *subscriber) known(int) []byte {
	b := make([]byte, 0, 16*len(s.held))
	for uid, version := range s.held {
		b = binary.LittleEndian.AppendUint64(b, uid)
		b = binary.LittleEndian.AppendUint64(b, version)
	}
	return b
}
