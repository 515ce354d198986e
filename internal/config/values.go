package config

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Duration is written as Go does: 1h30m, 250ms. It is a flag's value, too.
type Duration time.Duration

// String is the shortest form that reads back as d, such as "5m" rather than Go's
// "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n > 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}

// Set parses text.
func (d *Duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration, such as 30s or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Type names the type in the help of flags.
func (Duration) Type() string { return "duration" }

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is Set.
func (d *Duration) UnmarshalText(text []byte) error { return d.Set(string(text)) }

// Bytes is a size, written as a Kubernetes quantity: 256Ki, 16Mi, or the plain number
// of bytes. It is a flag's value, too.
type Bytes int

// sizes are the quantities that can be sizes in memory. Parsing the others, 1e-999999
// for one, may take for ever.
var sizes = regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,9})?([kMG]|[KMG]i)?$`)

// String is the quantity in its canonical form.
func (b Bytes) String() string { return resource.NewQuantity(int64(b), resource.BinarySI).String() }

// Set parses text.
func (b *Bytes) Set(text string) error {
	if !sizes.MatchString(text) {
		return fmt.Errorf("%q is no size, such as 256Ki or 16Mi", text)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("%q is no size: %w", text, err)
	}
	n := q.Value()
	if q.CmpInt64(n) != 0 {
		return fmt.Errorf("%q is no whole number of bytes", text)
	}
	*b = Bytes(n)
	return nil
}

// Type names the type in the help of flags.
func (Bytes) Type() string { return "bytes" }

// MarshalText returns String.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText is Set.
func (b *Bytes) UnmarshalText(text []byte) error { return b.Set(string(text)) }

// Level is a level of the log: debug, info, warn or error. It is a flag's value, too.
type Level slog.Level

// String is the level in lower case.
func (l Level) String() string { return strings.ToLower(slog.Level(l).String()) }

// Set parses text.
func (l *Level) Set(text string) error {
	var level slog.Level
	if level.UnmarshalText([]byte(text)) != nil {
		return fmt.Errorf("%q is none of debug, info, warn and error", text)
	}
	*l = Level(level)
	return nil
}

// Type names the type in the help of flags.
func (Level) Type() string { return "level" }

// MarshalText returns String.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is Set.
func (l *Level) UnmarshalText(text []byte) error { return l.Set(string(text)) }
