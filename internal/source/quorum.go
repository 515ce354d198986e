package source

import (
	"context"
	"fmt"
	"time"

	"github.com/runnel-dev/runnel/internal/record"
)

// quorum asks the API server for a resource's newest resourceVersion, once for all who
// want to know at a time. Who asks while a question is under way waits for the next:
// the answer to that one may be older than what the caller knows.
type quorum struct {
	waiting chan chan<- quorumAnswer
}

type quorumAnswer struct {
	resourceVersion string
	err             error
}

func newQuorum() *quorum { return &quorum{waiting: make(chan chan<- quorumAnswer)} }

// The API server is asked at most once in an interval, however many callers there are.
const (
	quorumInterval = 200 * time.Millisecond
	quorumTimeout  = 10 * time.Second
)

// Current is the newest resourceVersion that the API server tells of, by a read that
// began after the call.
func (s *Source) Current(ctx context.Context) (string, error) {
	mine := make(chan quorumAnswer, 1)
	select {
	case s.quorum.waiting <- mine:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	select {
	case a := <-mine:
		return a.resourceVersion, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// AnswerCurrent answers Current by read until ctx ends.
func (s *Source) AnswerCurrent(ctx context.Context, read func(context.Context) (string, error)) {
	s.quorum.run(ctx, s.checked(read))
}

// checked is read, whose answers tell whether history was rewritten.
func (s *Source) checked(read func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		complete := s.complete()
		current, err := read(ctx)
		if err == nil && record.OlderResourceVersion(current, complete) {
			s.Rewritten(fmt.Sprintf("resourceVersion %s, after %s", current, complete))
		}
		return current, err
	}
}

// run answers by read until ctx ends.
func (q *quorum) run(ctx context.Context, read func(context.Context) (string, error)) {
	for {
		var callers []chan<- quorumAnswer
		select {
		case first := <-q.waiting:
			callers = append(callers, first)
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			select {
			case caller := <-q.waiting:
				callers = append(callers, caller)
			default:
				more = false
			}
		}
		readCtx, cancel := context.WithTimeout(ctx, quorumTimeout)
		var a quorumAnswer
		a.resourceVersion, a.err = read(readCtx)
		cancel()
		for _, caller := range callers {
			caller <- a // has room
		}
		select {
		case <-time.After(quorumInterval):
		case <-ctx.Done():
			return
		}
	}
}
