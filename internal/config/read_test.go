package config

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

const header = "apiVersion: runnel.dev/v1alpha1\nkind: ServerConfiguration\n"

// read reads a file that begins with the header, and flags.
func read(t *testing.T, yaml string, args ...string) (Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Read("f", []byte(header+yaml), fs)
}

func TestEveryFieldIsRead(t *testing.T) {
	got, err := read(t, `
listen: 127.0.0.1:1
tls: {certFile: c, keyFile: k, clientCAFile: ca}
insecure: false
drainTimeout: 1m30s
log:
  level: warn
  format: text
sources:
  idleStop: 1h
  recentBytes: 3Mi
  lingerBytes: 4Mi
  audit: 2h
  preload:
  - resource: pods
    fieldSelector: spec.nodeName!=
  - {group: apps, version: v1, resource: deployments, labelSelector: "app in (a,b)"}
allowedResources:
- group: ""
  resources: ["*", secrets]
- group: apps
  resources: [deployments]
limits: {requestBytes: 1Mi, resources: 2, namespaces: 3, names: 4, selectorBytes: 500, requirements: 12, paths: 5, frameBytes: 1.5Ki,
  bookmark: 6s, minBookmark: 500ms, retry: 7s, behindWait: 8s}
views: {batchBytes: 8k, liveBytes: "9", horizon: 12s, ring: 10, endedStays: 11}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		APIVersion: APIVersion, Kind: Kind,
		Listen:       "127.0.0.1:1",
		TLS:          TLS{"c", "k", "ca"},
		DrainTimeout: Duration(90 * time.Second),
		Log:          Log{Level(slog.LevelWarn), "text"},
		Sources: Sources{Duration(time.Hour), 3 << 20, 4 << 20, Duration(2 * time.Hour), []Preload{
			{Resource: "pods", FieldSelector: "spec.nodeName!="},
			{"apps", "v1", "deployments", "app in (a,b)", ""},
		}},
		AllowedResources: []AllowedResources{{"", []string{"*", "secrets"}}, {"apps", []string{"deployments"}}},
		Limits: Limits{1 << 20, 2, 3, 4, 500, 12, 5, 1536,
			Duration(6 * time.Second), Duration(500 * time.Millisecond), Duration(7 * time.Second), Duration(8 * time.Second)},
		Views: Views{8000, 9, Duration(12 * time.Second), 10, 11},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotSetHasItsDefault(t *testing.T) {
	want := Default()
	want.Insecure = true
	for name, yaml := range map[string]string{
		"absent": "insecure: true",
		"null":   "insecure: true\nlisten:\ntls: null\nlimits: ~\nlog: {format: }\nsources: {preload: }\nallowedResources:",
		"empty":  "insecure: true\ntls: {}\nsources: {}",
	} {
		got, err := read(t, yaml)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Line 1 and 2 are the header.
func TestEveryErrorIsReportedAtOnceWithItsLine(t *testing.T) {
	for _, tt := range []struct {
		name, yaml string
		want       []string
	}{
		{"unknown fields", "insecure: true\nlisten2: a\nsources:\n  idle-stop: 5m\n  preload:\n  - resource: pods\n    selector: x", []string{
			"f:4: listen2: unknown field; known here are apiVersion, kind, listen, tls, insecure, drainTimeout, log, sources, allowedResources, limits, views",
			"f:6: sources.idle-stop: unknown field; idleStop is meant?",
			"f:9: sources.preload[0].selector: unknown field; known here are group, version, resource, labelSelector, fieldSelector",
		}},
		{"fields in another case", "Insecure: true\ninsecure: true", []string{"f:3: Insecure: unknown field; insecure is meant?"}},
		{"duplicate fields", "insecure: true\nlog:\n  format: text\n  format: json\ninsecure: true", []string{
			"f:6: log.format: set twice, first in line 5",
			"f:7: insecure: set twice, first in line 3",
		}},
		{"wrong types", "insecure: \"yes\"\nlisten: 7443\ntls: a\nlog: [text]\nsources: {preload: {resource: pods}}\nlimits:\n  resources: many\n  names: 1.5\n  namespaces: 0x10\n  bookmark: 30\n  requestBytes: true\n  frameBytes: {}\nviews: {ring: [1]}", []string{
			`f:3: insecure: true or false expected, and this is "yes"`,
			"f:4: listen: text expected, and this is the number 7443; quotes make it text",
			`f:5: tls: a mapping expected, and this is "a"`,
			"f:6: log: a mapping expected, and this is a list",
			"f:7: sources.preload: a list expected, and this is a mapping",
			`f:9: limits.resources: a whole number expected, and this is "many"`,
			"f:10: limits.names: a whole number expected, and this is the number 1.5; quotes make it text",
			`f:11: limits.namespaces: "0x10" is no decimal number in range`,
			`f:12: limits.bookmark: "30" is no duration, such as 30s or 1h30m`,
			`f:13: limits.requestBytes: "true" is no size, such as 256Ki or 16Mi`,
			"f:14: limits.frameBytes: a single value expected, and this is a mapping",
			"f:15: views.ring: a whole number expected, and this is a list",
		}},
		{"wrong values", "listen: somewhere\ndrainTimeout: 0s\nlog: {format: xml, level: loud}\nsources:\n  idleStop: -1s\nlimits: {resources: 0, names: -1, requestBytes: 1Gi, frameBytes: 4Mi, selectorBytes: 0,\n  bookmark: 1s, minBookmark: 2s, retry: 0s}\nviews: {ring: 0, endedStays: -1, batchBytes: 0, liveBytes: 0}\ninsecure: true", []string{
			`f:3: listen: "somewhere" is no host:port`,
			"f:4: drainTimeout: must be more than 0",
			`f:5: log.level: "loud" is none of debug, info, warn and error`,
			`f:5: log.format: "xml" is neither json nor text`,
			"f:7: sources.idleStop: must be more than 0",
			"f:8: limits.requestBytes: must not be more than 64Mi",
			"f:8: limits.resources: must be more than 0",
			"f:8: limits.names: must be more than 0",
			"f:8: limits.selectorBytes: must be more than 0",
			"f:8: limits.frameBytes: must not be more than 4032Ki",
			"f:9: limits.minBookmark: must not be longer than limits.bookmark, which is 1s",
			"f:9: limits.retry: must be more than 0",
			"f:10: views.batchBytes: must be more than 0",
			"f:10: views.liveBytes: must be more than 0",
			"f:10: views.ring: must be more than 0",
			"f:10: views.endedStays: must be more than 0",
		}},
		{"a port that is none", "insecure: true\nlisten: :66000", []string{`f:4: listen: ":66000" is no host:port`}},
		{"neither TLS nor insecure", "listen: :1", []string{"f: tls: TLS needs a certificate and a key; to serve plaintext to anyone, set insecure"}},
		{"no key", "tls:\n  certFile: a", []string{"f:3: tls.keyFile: TLS needs a key besides the certificate"}},
		{"no certificate", "tls:\n  keyFile: a", []string{"f:3: tls.certFile: TLS needs a certificate besides the key"}},
		{"TLS and insecure", "tls: {certFile: a, keyFile: b}\ninsecure: true", []string{"f:4: insecure: TLS files and insecure exclude each other"}},
		{"preload", `insecure: true
sources:
  preload:
  - resource: pods
    labelSelector: a in b
    fieldSelector: spec.nodeName
  - {group: "a b", resource: deployments, version: 1}
  - {group: "a b", version: "1", resource: Deployments}
  - group: apps
  - {resource: configmaps, labelSelector: "a"}
  - {resource: configmaps, version: v1}
  - resource: nodes
  - resource: nodes
  - resource: secrets`, []string{
			`f:7: sources.preload[0].labelSelector: unable to parse requirement: found 'b' expected: '('`,
			"f:8: sources.preload[0].fieldSelector: invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'",
			"f:9: sources.preload[1].version: text expected, and this is the number 1; quotes make it text",
			"f:9: sources.preload[1].group: a lowercase RFC 1123 subdomain …",
			"f:10: sources.preload[2].group: a lowercase RFC 1123 subdomain …",
			"f:10: sources.preload[2].version: a DNS-1035 label …",
			"f:10: sources.preload[2].resource: a lowercase RFC 1123 label …",
			"f:11: sources.preload[3].resource: the plural name is needed, such as pods",
			"f:13: sources.preload[5]: configmaps has other selectors in sources.preload[4]; they hold for all its versions",
			"f:15: sources.preload[7]: the same as sources.preload[6]",
			`f:16: sources.preload[8]: "secrets" are not allowed here; to allow them, list {group: "", resources: ["secrets"]} under allowedResources in the server's configuration`,
		}},
		{"allowed resources", "insecure: true\nallowedResources:\n- group: a b\n  resources: [pods, Pods]\n- group: apps\n- pods\nsources: {preload: [{resource: nodes}]}", []string{
			"f:5: allowedResources[0].group: a lowercase RFC 1123 subdomain …",
			"f:6: allowedResources[0].resources[1]: a lowercase RFC 1123 label …",
			`f:7: allowedResources[1].resources: at least one is needed, or "*"`,
			`f:8: allowedResources[2]: a mapping expected, and this is "pods"`,
			`f:9: sources.preload[0]: "nodes" are not allowed here; to allow them, list {group: "", resources: ["nodes"]} under allowedResources in the server's configuration`,
		}},
		{"a field with an odd name", "insecure: true\n? [a]\n: b\n3: x", []string{
			"f:4: the name of a field expected, and this is a list",
			"f:6: 3: unknown field; known here are apiVersion, …",
		}},
		{"a field with a line break", "insecure: true\n\"a\\nb\": x", []string{`f:4: a\nb: unknown field; known here are apiVersion, …`}},
		{"merge key", "insecure: true\n<<: {listen: \":1\"}", []string{"f:4: <<: unknown field; known here are apiVersion, …"}},
		{"no mapping", "- a", []string{"f:2: did not find expected key"}},
		{"no YAML", "listen: [", []string{"f:3: did not find expected node content"}},
		{"two documents", "insecure: true\n---\nlisten: :1", []string{"f: more than one document"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t, tt.yaml)
			problems := Problems{}
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v", err)
			}
			var got []string
			for i, p := range problems {
				line := p.String()
				if i < len(tt.want) {
					if head, _, cut := strings.Cut(tt.want[i], "…"); cut && strings.HasPrefix(line, head) {
						line = tt.want[i]
					}
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if want := len(problems); strings.Count(err.Error(), "\n") != want-1 {
				t.Errorf("%d problems are not a line each: %v", want, err)
			}
		})
	}
}

func TestFileMustDeclareItsVersionAndKind(t *testing.T) {
	for _, tt := range []struct {
		name, yaml string
		want       string
	}{
		{"none", "insecure: true\nlisten2: a", "f: apiVersion: must be runnel.dev/v1alpha1\nf: kind: must be ServerConfiguration\nf:2: listen2: unknown field"},
		{"empty file", "", "f: apiVersion: must be runnel.dev/v1alpha1\nf: kind: must be ServerConfiguration\nf: tls: TLS needs"},
		{"another version", "kind: ServerConfiguration\napiVersion: runnel.dev/v2\nwhatever: a", "f:2: apiVersion: must be runnel.dev/v1alpha1"},
		{"another kind", "apiVersion: runnel.dev/v1alpha1\nkind: Deployment\nspec: {}", "f:2: kind: must be ServerConfiguration"},
		{"a list", "- a", "f:1: a mapping expected, and this is a list"},
		{"text", "hello", `f:1: a mapping expected, and this is "hello"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read("f", []byte(tt.yaml), nil)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "whatever") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// A flag wins over the file, and only if it was given: its default does not.
func TestFlagsWinOverTheFile(t *testing.T) {
	const file = "insecure: true\nlisten: :1\nlog: {level: warn, format: text}\nlimits: {resources: 5, requestBytes: 1Mi}\ndrainTimeout: 1s"
	got, err := read(t, file, "--listen=:2", "--limit-request-bytes=2Mi", "--drain=10s", "--log-level=debug", "--view-ring=7")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Insecure = true
	want.Listen = ":2"
	want.Log = Log{Level(slog.LevelDebug), "text"}
	want.Limits.Resources, want.Limits.RequestBytes = 5, 2<<20
	want.DrainTimeout = Duration(10 * time.Second) // the default, but given
	want.Views.Ring = 7
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlagsAloneAreAConfiguration(t *testing.T) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--insecure", "--limit-names=3"}); err != nil {
		t.Fatal(err)
	}
	got, err := Read("", nil, fs)
	if err != nil || !got.Insecure || got.Limits.Names != 3 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestErrorNamesTheFlagThatSetTheField(t *testing.T) {
	for _, tt := range []struct {
		yaml string
		args []string
		want string
	}{
		{"insecure: true\nlimits: {resources: 5}", []string{"--limit-resources=0"}, "--limit-resources: must be more than 0"},
		{"insecure: true\nlimits: {resources: 0}", []string{"--limit-resources=5"}, ""},
		{"tls: {certFile: a, keyFile: b}", []string{"--insecure"}, "--insecure: TLS files and insecure exclude each other"},
		{"insecure: true", []string{"--insecure=false", "--tls-cert=a"}, "f: tls.keyFile: TLS needs a key besides the certificate"},
		{"insecure: true", []string{"--limit-min-bookmark=1m"}, "--limit-min-bookmark: must not be longer than limits.bookmark, which is 30s"},
		{"insecure: true", []string{"--audit=59s"}, "--audit: must be 0s for never, or at least 1m"},
		{"insecure: true", []string{"--audit=1m"}, ""},
		{"", []string{"--log-format=xml", "--insecure"}, `--log-format: "xml" is neither json nor text`},
	} {
		_, err := read(t, tt.yaml, tt.args...)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%v: %v", tt.args, err)
			}
			continue
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.args, err, tt.want)
		}
	}
}
