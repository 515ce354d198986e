package watch

import (
	"fmt"
	"io"
	"time"

	"github.com/runnel-dev/runnel/client"
)

// reporter says on stderr how the connection is.
type reporter struct {
	stderr io.Writer
	server string
	// interruption is what was told last, less the delay; empty while connected.
	interruption string
}

func (r *reporter) connected() {
	if r.interruption != "" {
		r.note("connected")
	}
	r.interruption = ""
}

// resumed says that a stream goes on where the last one ended.
func (r *reporter) resumed(resource string) { r.note("resumed " + resource) }

// interrupted says why there is no stream. Quick retries for the same reason are told
// once.
func (r *reporter) interrupted(i client.Interruption) {
	reason := i.Err.Error()
	if reason == r.interruption && i.RetryIn < time.Second {
		return
	}
	r.interruption = reason
	r.note(describeInterruption(i, r.server))
}

func (r *reporter) note(text string) { fmt.Fprintln(r.stderr, "runnel:", text) }
