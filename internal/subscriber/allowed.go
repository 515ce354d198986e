package subscriber

import (
	"github.com/runnel-dev/runnel/internal/resource"
	"github.com/runnel-dev/runnel/internal/status"
)

// allow refuses a request for resources that are not allowed. It does not look
// whether they exist: the answer must not tell (D13).
func allow(selections []selection, allowed resource.Allowed) error {
	var refused []status.Violation
	for _, s := range selections {
		if !allowed.Allows(s.group, s.resource) {
			refused = append(refused, status.Violation{
				Field: s.field + ".resource",
				Err:   &resource.NotAllowedError{Group: s.group, Resource: s.resource},
			})
		}
	}
	if len(refused) > 0 {
		return status.ResourceNotAllowed(refused)
	}
	return nil
}
