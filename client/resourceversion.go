package client

import (
	"cmp"
	"strings"
)

// older says that the resourceVersion a is known to be before b. Both must be of
// one resource. They compare as unsigned integers of any length; where one is not
// a number there is no order (D9).
func older(a, b string) bool {
	if !numeric(a) || !numeric(b) {
		return false
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}

func numeric(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
