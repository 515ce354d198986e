package config

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestValuesAreReadAndWritten(t *testing.T) {
	for _, tt := range []struct {
		value pflag.Value
		text  string
		want  any
		back  string // as it is written; empty if it is refused
	}{
		{new(Bytes), "16Mi", Bytes(16 << 20), "16Mi"},
		{new(Bytes), "65536", Bytes(65536), "64Ki"},
		{new(Bytes), "1000", Bytes(1000), "1k"},
		{new(Bytes), "2k", Bytes(2000), "2000"},
		{new(Bytes), "1.5Ki", Bytes(1536), "1536"},
		{new(Bytes), "0", Bytes(0), "0"},
		{new(Bytes), "0.5", nil, ""},
		{new(Bytes), "-1", nil, ""},
		{new(Bytes), "16MB", nil, ""},
		{new(Bytes), "1e-1000000000", nil, ""},
		{new(Bytes), "99999999999", nil, ""},
		{new(Bytes), "", nil, ""},
		{new(Duration), "5m", Duration(5 * time.Minute), "5m"},
		{new(Duration), "3600s", Duration(time.Hour), "1h"},
		{new(Duration), "1h0m10s", Duration(time.Hour + 10*time.Second), "1h0m10s"},
		{new(Duration), "90s", Duration(90 * time.Second), "1m30s"},
		{new(Duration), "250ms", Duration(250 * time.Millisecond), "250ms"},
		{new(Duration), "0", Duration(0), "0s"},
		{new(Duration), "5", nil, ""},
		{new(Duration), "1d", nil, ""},
		{new(Level), "WARN", Level(4), "warn"},
		{new(Level), "debug", Level(-4), "debug"},
		{new(Level), "warning", nil, ""},
	} {
		err := tt.value.Set(tt.text)
		if (err != nil) != (tt.back == "") {
			t.Errorf("%s %q: %v", tt.value.Type(), tt.text, err)
		}
		if err != nil {
			continue
		}
		var got any
		switch v := tt.value.(type) {
		case *Bytes:
			got = *v
		case *Duration:
			got = *v
		case *Level:
			got = *v
		}
		if got != tt.want || tt.value.String() != tt.back {
			t.Errorf("%s %q is %#v, written as %s", tt.value.Type(), tt.text, got, tt.value)
		}
	}
}
