package record

import (
	"strings"
	"testing"
)

// D9
func TestResourceVersionsCompareAsUnsignedIntegersOfAnyLength(t *testing.T) {
	thirty := strings.Repeat("9", 30)
	for _, test := range []struct {
		a, b    string
		want    int
		ordered bool
	}{
		{"9", "10", -1, true},
		{"10", "9", 1, true},
		{"10", "10", 0, true},
		{"9007199254740992", "9007199254740993", -1, true}, // equal as floats
		{"18446744073709551616", "18446744073709551615", 1, true},
		{thirty, "1" + strings.Repeat("0", 30), -1, true},
		{thirty, thirty, 0, true},
		{"007", "7", 0, true},
		{"0", "00", 0, true},
		{"abc", "abc", 0, true},
		{"abc", "abd", 0, false},
		{"abc", "1", 0, false},
		{"", "1", 0, false},
		{"-1", "1", 0, false},
		{"1.5", "1", 0, false},
		{"", "", 0, true},
	} {
		if got, ordered := CompareResourceVersions(test.a, test.b); got != test.want || ordered != test.ordered {
			t.Errorf("%q and %q: %d, %v; want %d, %v", test.a, test.b, got, ordered, test.want, test.ordered)
		}
		if got, ordered := CompareResourceVersions(test.b, test.a); got != -test.want || ordered != test.ordered {
			t.Errorf("%q and %q: %d, %v; want %d, %v", test.b, test.a, got, ordered, -test.want, test.ordered)
		}
	}
}

func TestNewerResourceVersion(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"9", "10", "10"}, {"10", "9", "10"}, {"", "5", "5"}, {"5", "", "5"}, {"abc", "abd", "abd"}, {"7", "abc", "abc"},
	} {
		if got := NewerResourceVersion(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %q, want %q", test.a, test.b, got, test.want)
		}
	}
}
