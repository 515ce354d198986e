package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"
)

// Whatever the file holds, it is refused with reasons or read; and what was read
// reads the same when it is written down.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, text := range []string{
		"insecure: true\nsources: {preload: [{resource: pods, labelSelector: a=b}], idleStop: 1h}",
		"insecure: true\nallowedResources: [{group: '*', resources: ['*']}, {resources: [secrets]}]",
		"insecure: true\nlimits: {requestBytes: 1.5Mi, bookmark: 1m}\nviews: {ring: 1}",
		"insecure: true\nlog: &a\n  format: text\ntls: *a",
		"tls: &a {certFile: *a, keyFile: '\\0'}",
		"listen: \"[::1]:\xff\"\nlisten: [[[[",
		"- a", "", "a: {<<: &x [*x, *x]}", "limits: {resources: 99999999999999999999}",
	} {
		f.Add([]byte(header + text))
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Read("f", data, nil)
		if err != nil {
			problems := Problems{}
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("an error without problems: %v", err)
			}
			for _, p := range problems {
				if !strings.HasPrefix(p.String(), "f:") || strings.Contains(p.String(), "\n") || p.Err.Error() == "" || p.Line < 0 {
					t.Errorf("a problem that says nothing: %#v", p)
				}
			}
			return
		}
		written, err := yaml.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("f", written, nil)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, written)
		}
		if diff := cmp.Diff(config, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("it reads back differently: %s\n%s", diff, written)
		}
	})
}
