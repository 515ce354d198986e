package record

import "strings"

// CompareResourceVersions orders two resourceVersions of one resource, as
// unsigned integers of any length (D9). It reports false where they have no
// order: one is not a number, and they are not equal.
func CompareResourceVersions(a, b string) (int, bool) {
	if a == b {
		return 0, true
	}
	if !numeric(a) || !numeric(b) {
		return 0, false
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return compare(len(a), len(b)), true
	}
	return strings.Compare(a, b), true
}

// OlderResourceVersion tells whether a is known to be less than b.
func OlderResourceVersion(a, b string) bool {
	order, ok := CompareResourceVersions(a, b)
	return ok && order < 0
}

// NewerResourceVersion returns the newer of two resourceVersions of one
// resource, and b where they have no order. None, "", is older than any.
func NewerResourceVersion(a, b string) string {
	if b == "" {
		return a
	}
	if c, ok := CompareResourceVersions(a, b); ok && c > 0 {
		return a
	}
	return b
}

func numeric(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func compare(a, b int) int {
	if a < b {
		return -1
	}
	return 1
}
