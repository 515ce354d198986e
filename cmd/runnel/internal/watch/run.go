package watch

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/client"
)

var (
	// errDone ends a subscription that has told what it was to tell.
	errDone = errors.New("done")
	// errTimeIsUp ends a watch after --for.
	errTimeIsUp = errors.New("the time of --for is up")
)

// run watches until it is done, or has failed.
func (o *options) run(ctx context.Context, args []string) error {
	targets, err := parseTargets(args, o.names)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	c, err := client.New(o.server, o.client()...)
	if err != nil {
		return err
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.duration, errTimeIsUp)
		defer cancel()
	}
	return errors.Join(o.watch(ctx, c, targets), c.Close())
}

func (o *options) watch(ctx context.Context, c *client.Client, targets []target) error {
	say := &reporter{stderr: o.stderr, server: o.server}
	if err := o.discover(ctx, c, targets, say); err != nil {
		return o.result(ctx, err)
	}
	targets = merge(targets)
	all, err := o.printed(targets)
	if err != nil {
		return err
	}
	out, err := o.printer(all)
	if err != nil {
		return err
	}
	request := o.request(targets)
	s := &stream{options: o, resources: all, printer: out, reporter: say, verified: make([]bool, len(targets))}
	handler := client.Handler{
		Frame: s.frame,
		Connected: func() {
			say.connected()
			s.begin()
		},
		Interrupted: say.interrupted,
	}
	if o.needsReplica() {
		if s.replica, err = client.NewReplica(request, s.change); err != nil {
			return err
		}
		handler.Known = s.replica.Known
	}
	err = o.result(ctx, c.Subscribe(ctx, request, handler))
	if o.verify && s.replica.Mismatches() > 0 {
		err = errors.Join(fmt.Errorf("what the server sent proved wrong (%d)", s.replica.Mismatches()), err)
	}
	return err
}

// result turns the end of a subscription into the command's error. The context is the
// one that the subscription had.
func (o *options) result(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errDone), errors.Is(err, syscall.EPIPE):
		return nil
	case ctx.Err() != nil && o.untilSynced:
		return fmt.Errorf("not synced: %w", context.Cause(ctx))
	case ctx.Err() != nil:
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return errors.New(describe(err))
	}
	return err
}
