// Package client is the Go SDK: it subscribes to a Runnel server and keeps the
// subscription going.
//
// A Client is made once per server and shared; it is safe for concurrent use.
// Subscribe blocks: it opens a stream, hands its frames to a Handler, and
// subscribes again, after a delay, whenever the stream ends for a reason that can
// pass. The next stream goes on where the last one ended, at any replica, and brings
// what has changed since (D8). All callbacks of one Subscribe run on the goroutine that called it, and
// the next frame is read only when the callback has returned, so that a slow
// handler slows its own stream through gRPC's flow control and nothing else (D10).
//
// On top of frames stands Replica, a copy of what the stream describes. It tells
// the real changes only, across reconnects too, and proves by digest that it
// holds what the server says (D15). It also makes whole objects of merge patches, where
// the request asks for those.
//
//	c, err := client.New("runnel.runnel-system:7443", client.WithCAFile("ca.crt"))
//	…
//	replica, err := client.NewReplica(request, func(e client.Event) error { … })
//	…
//	err = c.Subscribe(ctx, request, client.Handler{Frame: replica.Apply, Known: replica.Known})
//
// Known lets the server send the difference where a resume token has expired, or where the
// copy proved wrong; without it a snapshot comes then, of which a Replica tells the
// difference too.
//
// Start reading at subscribe.go; resume.go says what each request offers, retry.go which
// errors end a subscription, objects.go holds the rules of a Replica, mergepatch.go those
// of patches.
package client
