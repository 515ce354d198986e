package resource

import (
	"strings"
	"testing"
)

func TestAllowedResources(t *testing.T) {
	everything := AllowedGroup{Wildcard, []string{Wildcard}}
	for _, tt := range []struct {
		name    string
		allowed Allowed
		yes, no []string // as resource.group
	}{
		{"nothing is said", nil,
			[]string{"pods.", "configmaps.", "deployments.apps", "secrets.example.com", "nothings."}, []string{"secrets."}},
		{"everything", Allowed{everything},
			[]string{"pods.", "deployments.apps", "secrets.example.com"}, []string{"secrets."}},
		{"everything, and Secrets", Allowed{everything, {"", []string{"secrets"}}},
			[]string{"pods.", "secrets.", "deployments.apps"}, nil},
		{"Secrets", Allowed{{"", []string{"secrets"}}},
			[]string{"secrets."}, []string{"pods.", "secrets.example.com"}},
		{"Secrets of any group", Allowed{{Wildcard, []string{"secrets"}}},
			[]string{"secrets.", "secrets.example.com"}, []string{"pods."}},
		{"the core group", Allowed{{"", []string{Wildcard}}},
			[]string{"pods.", "nodes."}, []string{"secrets.", "deployments.apps"}},
		{"another group", Allowed{{"apps", []string{Wildcard}}},
			[]string{"deployments.apps"}, []string{"pods.", "secrets.", "deployments.example.com"}},
		{"some", Allowed{{"", []string{"pods", "nodes"}}, {"apps", []string{"deployments"}}},
			[]string{"pods.", "nodes.", "deployments.apps"}, []string{"deployments.", "pods.apps", "replicasets.apps", "pod.", ""}},
		{"a group without resources", Allowed{{"apps", nil}}, nil, []string{"deployments.apps", "pods."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(names []string, want bool) {
				for _, text := range names {
					name, group, _ := strings.Cut(text, ".")
					if got := tt.allowed.Allows(group, name); got != want {
						t.Errorf("%s is allowed: %v", text, got)
					}
				}
			}
			check(tt.yes, true)
			check(tt.no, false)
		})
	}
}
