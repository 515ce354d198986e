package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/columns"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// discoverLimit is how long a server that answers may take to list the definitions. A
// server that has watched them before takes milliseconds.
const discoverLimit = 10 * time.Second

var errDiscoverLimit = fmt.Errorf("not listed within %v", discoverLimit)

// discover finds out what the names of custom resources mean, from their definitions.
// Where those cannot be read it says so and leaves the names as they are. The error
// is that of the context.
func (o *options) discover(ctx context.Context, c *client.Client, targets []target, say *reporter) error {
	if !slices.ContainsFunc(targets, func(t target) bool { return !t.found }) {
		return nil
	}
	definitions, err := readDefinitions(ctx, c, say)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		say.note("custom resource definitions cannot be read, so names must be plurals: " + describe(err))
		return nil
	}
	var custom []resources.Resource
	for _, d := range definitions {
		custom = append(custom, d.Resource)
	}
	for i := range targets {
		t := &targets[i]
		r, ok := resources.Find(custom, t.name)
		if t.found || !ok {
			continue // of an aggregated API, perhaps: the server knows
		}
		d := definitions[slices.IndexFunc(definitions, func(d resources.Definition) bool { return d.String() == r.String() })]
		t.resource, t.columns, t.found = r, columns.Custom(d.Columns(t.name.Version)), true
	}
	return nil
}

// readDefinitions lists the custom resource definitions, sorted by group and plural.
// While no server is reached it goes on trying, as the subscription itself would.
func readDefinitions(ctx context.Context, c *client.Client, say *reporter) ([]resources.Definition, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(discoverLimit, func() { cancel(errDiscoverLimit) })
	defer limit.Stop()
	request := &runnelv1.SubscribeRequest{FailFast: true, Resources: []*runnelv1.ResourceSubscription{{
		Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
		Projection: &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: resources.DefinitionPaths()}}},
	}}}
	definitions := map[string]resources.Definition{}
	replica, err := client.NewReplica(request, func(e client.Event) error {
		if e.Type == client.Deleted {
			delete(definitions, e.Name)
			return nil
		}
		d, err := resources.FromDefinition(e.Object)
		if err != nil {
			return err
		}
		definitions[e.Name] = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	frame := func(frame *runnelv1.SubscribeResponse) error {
		if err := replica.Apply(frame); err != nil {
			return err
		}
		if frame.GetSynced() != nil && frame.GetSynced().Resource == nil {
			return errDone
		}
		return nil
	}
	err = c.Subscribe(ctx, request, client.Handler{
		Frame:     frame,
		Connected: say.connected,
		Interrupted: func(i client.Interruption) {
			if _, unreachable := connectionError(i.Err); !unreachable {
				cancel(i.Err)
				return
			}
			say.interrupted(i)
			limit.Reset(i.RetryIn + discoverLimit)
		},
	})
	if !errors.Is(err, errDone) {
		return nil, err
	}
	var all []resources.Definition
	for _, d := range definitions {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b resources.Definition) int {
		return strings.Compare(a.Group+"/"+a.Plural, b.Group+"/"+b.Plural)
	})
	return all, nil
}
