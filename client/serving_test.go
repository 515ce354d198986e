package client

import (
	"io"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// serving is one stream, told what differs between what its subscriber is believed to hold
// and the state of its replica of the server.
type serving struct {
	*world
	deliver func(*runnelv1.SubscribeResponse) error
	patches bool
	// at is the replica's state, by index.
	at int
	// believed is what the subscriber holds, by UID.
	believed map[string]*runnelv1.Event
	// initial says that a snapshot is under way; unsynced, that Synced is to come, once
	// the objects of pending were sent.
	initial, unsynced bool
	pending           map[string]bool
	// byHash says that deletions are told by hash.
	byHash bool

	sent, synced bool
}

var errBehind = status.Error(codes.Unavailable, "behind the token")

// serve returns why the stream broke, or the subscriber's error.
func (s *serving) serve(request *runnelv1.SubscribeRequest) error {
	s.at = len(s.states) - 1
	if !s.calm {
		s.at = rapid.IntRange(s.epochBegin, s.at).Draw(s.t, "replica's state")
	}
	if err := s.answer(request); err != nil {
		return err
	}
	for {
		if len(s.differing()) == 0 && s.unsynced {
			if err := s.sync(true); err != nil {
				return err
			}
		}
		if s.calm && len(s.differing()) == 0 {
			return io.EOF
		}
		if err := s.step(); err != nil {
			return err
		}
	}
}

// answer says RESUMED or RESET.
func (s *serving) answer(request *runnelv1.SubscribeRequest) error {
	r := request.GetResources()[0]
	token, offered := s.tokens[string(r.GetResumeToken())]
	current := s.states[s.at]
	forgotten := !s.calm && rapid.IntRange(0, 2).Draw(s.t, "token is forgotten") == 0
	switch {
	case offered && token.epoch != current.epoch:
		return s.reset(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN)
	case offered && token.last > current.resourceVersion:
		return errBehind
	case len(r.GetKnown()) > 0: // whatever the token says: the copy may be wrong
		s.believed, s.unsynced = s.parse(r.GetKnown()), true
		s.byHash = rapid.Bool().Draw(s.t, "by hash")
		return s.send(resumed())
	case offered && token.exact && !forgotten:
		s.believed, s.unsynced = map[string]*runnelv1.Event{}, true
		for _, e := range s.states[token.state].objects {
			s.believed[e.GetUid()] = e
		}
		return s.send(resumed())
	case offered && request.GetOnExpired() == runnelv1.OnExpired_ON_EXPIRED_FAIL:
		return expired()
	case offered:
		return s.reset(runnelv1.ResetReason_RESET_REASON_TOKEN_EXPIRED)
	}
	return s.reset(runnelv1.ResetReason_RESET_REASON_NEW)
}

func (s *serving) reset(reason runnelv1.ResetReason) error {
	s.believed, s.initial, s.unsynced, s.pending = map[string]*runnelv1.Event{}, true, true, map[string]bool{}
	for name := range s.states[s.at].objects {
		s.pending[name] = true
	}
	return s.send(resetFrame(reason))
}

// step does one thing.
func (s *serving) step() error {
	if s.calm {
		return s.read()
	}
	switch rapid.SampledFrom([]string{"read", "read", "read", "move", "move", "bookmark", "sync", "break", "reset"}).Draw(s.t, "step") {
	case "read":
		return s.read()
	case "move": // the replica catches up, or the world goes on
		if s.at == len(s.states)-1 {
			s.advance()
		}
		s.at++
		if s.states[s.at].epoch != s.states[s.at-1].epoch {
			return s.reset(runnelv1.ResetReason_RESET_REASON_HISTORY_REWRITTEN)
		}
	case "bookmark":
		if len(s.differing()) == 0 {
			return s.send(s.withToken(bookmark(slices.Collect(maps.Values(s.states[s.at].objects))...)))
		}
	case "sync":
		if s.unsynced && s.initial && len(s.pending) == 0 {
			return s.sync(len(s.differing()) == 0)
		}
	case "break":
		return io.EOF
	case "reset":
		if rapid.IntRange(0, 9).Draw(s.t, "overtaken") == 0 {
			return s.reset(runnelv1.ResetReason_RESET_REASON_OVERTAKEN)
		}
	}
	return nil
}

// read sends some of what differs.
func (s *serving) read() error {
	names := s.differing()
	if !s.calm && len(names) > 0 {
		names = rapid.Permutation(names).Draw(s.t, "order")[:rapid.IntRange(1, len(names)).Draw(s.t, "batch")]
	}
	var events []*runnelv1.Event
	for _, name := range names {
		events = append(events, s.events(name)...)
	}
	if len(events) == 0 {
		return nil
	}
	return s.send(s.withToken(batch(s.initial, events...)))
}

// events tell the difference of a name, which the subscriber then is believed to hold.
func (s *serving) events(name string) (events []*runnelv1.Event) {
	delete(s.pending, name)
	live := s.states[s.at].objects[name]
	var state, gone []*runnelv1.Event
	for uid, e := range s.believed {
		if e.GetName() != name || live != nil && uid == live.GetUid() {
			continue
		}
		delete(s.believed, uid)
		at := s.states[s.at].string()
		if s.byHash && rapid.Bool().Draw(s.t, "without resourceVersion") {
			at = ""
		}
		if s.byHash {
			gone = append(gone, forgotten(uid, at))
		} else {
			gone = append(gone, deleted(name, uid, at))
		}
	}
	if live != nil {
		e := added(name, live.GetUid(), live.GetResourceVersion(), s.bodies[live.GetVersion()])
		if held := s.believed[live.GetUid()]; held != nil {
			e.Type = runnelv1.EventType_EVENT_TYPE_MODIFIED
			if s.patches {
				e = patched(held, live, e.GetObjectJson())
			}
		}
		if held := s.believed[live.GetUid()]; held == nil || held.GetVersion() != live.GetVersion() {
			state = append(state, e)
		}
		s.believed[live.GetUid()] = live
	}
	if !s.calm && rapid.IntRange(0, 3).Draw(s.t, "wrong order") == 0 {
		return append(state, gone...)
	}
	return append(gone, state...)
}

// differing are the names of which the subscriber does not hold what is live.
func (s *serving) differing() (names []string) {
	objects := s.states[s.at].objects
	for _, e := range s.believed {
		if live := objects[e.GetName()]; live == nil || live.GetUid() != e.GetUid() || live.GetVersion() != e.GetVersion() {
			names = append(names, e.GetName())
		}
	}
	for name, live := range objects {
		if s.believed[live.GetUid()] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *serving) sync(level bool) error {
	frame := synced(slices.Collect(maps.Values(s.states[s.at].objects))...)
	if !level {
		frame.GetSynced().Digest = nil
	}
	s.initial, s.unsynced = false, false
	if err := s.send(s.withToken(frame)); err != nil {
		return err
	}
	s.synced = true
	return s.send(allSynced())
}

// withToken puts the token of what was sent on a frame, or none.
func (s *serving) withToken(frame *runnelv1.SubscribeResponse) *runnelv1.SubscribeResponse {
	if !s.calm && rapid.IntRange(0, 3).Draw(s.t, "no token") == 0 {
		return frame
	}
	current := s.states[s.at]
	return with(s.issue(issued{epoch: current.epoch, last: current.resourceVersion, exact: len(s.differing()) == 0, state: s.at}), frame)
}

func (s *serving) send(frame *runnelv1.SubscribeResponse) error {
	s.sent = true
	return s.deliver(frame)
}
