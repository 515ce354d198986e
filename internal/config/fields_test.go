package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

const example = "../../deploy/config.example.yaml"

// The example is read with the decoder that Kubernetes' tools have, too.
func TestExampleShowsEveryFieldAtItsDefault(t *testing.T) {
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.TLS = TLS{CertFile: "/tls/tls.crt", KeyFile: "/tls/tls.key"} // these have none
	want.Sources.Preload, want.AllowedResources = []Preload{}, []AllowedResources{}
	got, err := Read(example, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the example differs from the defaults: %s", diff)
	}
	var other Config
	if err := yaml.UnmarshalStrict(data, &other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, other); diff != "" {
		t.Errorf("sigs.k8s.io/yaml reads it differently: %s", diff)
	}
	d := decoder{lines: map[string]int{}, unread: map[string]bool{}}
	d.decode(data, &other)
	for _, field := range leaves("", reflect.TypeFor[Config]()) {
		if _, ok := d.lines[field]; !ok {
			t.Errorf("the example does not show %s", field)
		}
	}
}

// What is commented out in the example, in the place of empty lists, is valid too,
// and shows every field of their items.
func TestExamplesOfListsAreValid(t *testing.T) {
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^.*: \[\]\n`).ReplaceAllString(string(data), "")
	text = regexp.MustCompile(`(?m)^( *)#( *(- )?[a-zA-Z]+:( .*)?)$`).ReplaceAllString(text, "$1$2")
	config, err := Read(example, []byte(text), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(config.Sources.Preload) == 0 || len(config.AllowedResources) == 0 {
		t.Fatalf("there are no examples of lists")
	}
	d := decoder{lines: map[string]int{}, unread: map[string]bool{}}
	d.decode([]byte(text), &config)
	shown := map[string]bool{}
	for field := range d.lines {
		shown[regexp.MustCompile(`\[\d+\]`).ReplaceAllString(field, "[]")] = true
	}
	for _, list := range []struct {
		field string
		item  reflect.Type
	}{
		{"sources.preload[]", reflect.TypeFor[Preload]()}, {"allowedResources[]", reflect.TypeFor[AllowedResources]()},
	} {
		for _, field := range leaves(list.field, list.item) {
			if !shown[field] {
				t.Errorf("no example shows %s", field)
			}
		}
	}
}

func TestConfigurationInTheReadmeIsValid(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "```yaml\n"+header)
	text, _, _ := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README shows none")
	}
	if _, err := Read("README.md", []byte(header+text), nil); err != nil {
		t.Error(err)
	}
}

// leaves are the paths of a type's fields that have values of their own.
func leaves(path string, t reflect.Type) []string {
	if t.Kind() != reflect.Struct {
		return []string{path}
	}
	var all []string
	for i, name := range fieldNames(t) {
		all = append(all, leaves(strings.TrimPrefix(path+"."+name, "."), t.Field(i).Type)...)
	}
	return all
}

func TestEveryFieldButListsHasAFlag(t *testing.T) {
	lists := []string{"apiVersion", "kind", "sources.preload", "allowedResources"}
	var flagged []string
	for _, f := range flags {
		flagged = append(flagged, f.field)
	}
	for _, field := range leaves("", reflect.TypeFor[Config]()) {
		if slices.Contains(flagged, field) == slices.Contains(lists, field) {
			t.Errorf("%s has a flag: %v", field, slices.Contains(flagged, field))
		}
	}
}

// A flag that is given at its default changes nothing, and one that is given another
// value changes just its field.
func TestFlagsSetTheFieldsThatTheyName(t *testing.T) {
	samples := map[string]string{"string": "json", "bool": "true", "int": "7", "bytes": "7", "duration": "7s", "level": "error"}
	for _, f := range flags {
		config, defaults := Default(), Default()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddFlags(fs)
		value := fs.Lookup(f.name).Value
		for _, text := range []string{value.String(), samples[value.Type()]} {
			if err := fs.Set(f.name, text); err != nil {
				t.Fatalf("--%s=%s: %v", f.name, text, err)
			}
			fields, err := override(&config, fs)
			if err != nil || len(fields) != 1 || fields[f.field] != f.name {
				t.Errorf("--%s sets %v, %v", f.name, fields, err)
			}
			got := fmt.Sprint(field(reflect.ValueOf(config), f.field))
			if got != text {
				t.Errorf("--%s=%s makes %s = %s", f.name, text, f.field, got)
			}
			set(reflect.ValueOf(&defaults).Elem(), f.field, field(reflect.ValueOf(config), f.field))
			if diff := cmp.Diff(defaults, config); diff != "" {
				t.Errorf("--%s also changes %s", f.name, diff)
			}
		}
	}
}

// field returns the field at a path without lists.
func field(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		v = v.Field(slices.Index(fieldNames(v.Type()), name))
	}
	return v
}

func set(v reflect.Value, path string, value reflect.Value) { field(v, path).Set(value) }

// Whatever limit there is can be configured.
func TestEveryLimitIsPassedOn(t *testing.T) {
	c := Config{Sources: Sources{RecentBytes: 1, LingerBytes: 2, Audit: 3}}
	for _, v := range []reflect.Value{reflect.ValueOf(&c.Limits).Elem(), reflect.ValueOf(&c.Views).Elem()} {
		for i := range v.NumField() {
			v.Field(i).SetInt(int64(i + 1))
		}
	}
	if l := c.SourceLimits(); l.RecentBytes != 1 || l.LingerBytes != 2 || l.Audit != 3 {
		t.Errorf("limits of sources are %+v", l)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(c.Limits.Subscriber()), reflect.ValueOf(c.SourceLimits().Views)} {
		seen := map[int64]string{}
		for i := range v.NumField() {
			name, n := v.Type().Field(i).Name, v.Field(i).Int()
			if n == 0 || seen[n] != "" {
				t.Errorf("%s of %s is not configured: it is %d, as is %q", name, v.Type(), n, seen[n])
			}
			seen[n] = name
		}
	}
}
