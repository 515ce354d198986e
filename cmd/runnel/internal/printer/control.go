package printer

import (
	"fmt"
	"strings"
	"time"
)

// Control is a frame that is not a batch, as it is printed. Fields that do not belong
// to the type are zero.
type Control struct {
	// Type is RESET, RESUMED, SYNCED, BOOKMARK, STATUS or GOODBYE.
	Type string `json:"type"`
	// Resource is empty where all are meant.
	Resource        string  `json:"resource,omitempty"`
	Reason          string  `json:"reason,omitempty"`
	Objects         *uint64 `json:"objects,omitempty"` // by the server's digest
	Digest          string  `json:"digest,omitempty"`
	Verified        bool    `json:"verified,omitempty"`
	ResourceVersion string  `json:"resourceVersion,omitempty"`
	State           string  `json:"state,omitempty"`
	Message         string  `json:"message,omitempty"`
	DataAsOf        string  `json:"dataAsOf,omitempty"`
	RetryAfterMS    uint32  `json:"retryAfterMs,omitempty"`
}

// String is a control frame for people: "synced pods: 12 objects, verified".
func (c Control) String() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(c.Type))
	if c.Resource != "" {
		b.WriteString(" " + c.Resource)
	} else if c.Type == "SYNCED" {
		b.WriteString(": all resources")
	}
	var facts []string
	for _, text := range []string{c.Reason, c.State, c.Message} {
		if text != "" {
			facts = append(facts, text)
		}
	}
	if c.Objects != nil {
		noun := "objects"
		if *c.Objects == 1 {
			noun = "object"
		}
		facts = append(facts, fmt.Sprintf("%d %s", *c.Objects, noun))
	}
	if c.ResourceVersion != "" {
		facts = append(facts, "at "+c.ResourceVersion)
	}
	if c.DataAsOf != "" {
		facts = append(facts, "data as of "+c.DataAsOf)
	}
	if c.RetryAfterMS > 0 {
		facts = append(facts, "again after "+(time.Duration(c.RetryAfterMS)*time.Millisecond).String())
	}
	if c.Verified {
		facts = append(facts, "verified")
	}
	if len(facts) > 0 {
		b.WriteString(": " + strings.Join(facts, ", "))
	}
	return OneLine(b.String())
}
