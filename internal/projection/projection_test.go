package projection

import (
	"errors"
	"testing"

	"github.com/cespare/xxhash/v2"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProjectionsKeepWhatTheySayAndNameItByItsHash(t *testing.T) {
	r := decode(t, `{"metadata":{"name":"a","resourceVersion":"7","managedFields":[]},"spec":{"n":9007199254740993}}`)
	const metadata = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}`
	for _, test := range []struct {
		projection Projection
		want       string
	}{
		{Whole(), metadata + `,"spec":{"n":9007199254740993}}`},
		{Projection{}, metadata + `,"spec":{"n":9007199254740993}}`},
		{MetadataOnly(), metadata + `}`},
	} {
		json, version := test.projection.Apply(r)
		if string(json) != test.want || version != xxhash.Sum64String(test.want) {
			t.Errorf("%s: %s, %x", test.projection.Key(), json, version)
		}
	}
}

func TestKeysTellProjectionsApart(t *testing.T) {
	keys := map[string]Projection{}
	for _, p := range []Projection{
		Whole(), MetadataOnly(), Paths(parse(t, "a")), Paths(parse(t, "a", "b")),
		ignore(t, Whole(), "a"), ignore(t, MetadataOnly(), "a"), ignore(t, Paths(parse(t, "b")), "a"),
	} {
		if other, taken := keys[p.Key()]; taken {
			t.Errorf("%v and %v share %q", p, other, p.Key())
		}
		keys[p.Key()] = p
	}
}

func TestProjectionsThatShowTheSameHaveOneKey(t *testing.T) {
	for _, same := range [][]Projection{
		{Whole(), {}, ignore(t, Whole())},
		{Paths(parse(t, "a", "b.c")), Paths(parse(t, "b['c']", "a", "a.x", "metadata.name"))},
		{ignore(t, Whole(), "a", "b"), ignore(t, Whole(), "b", "a", "a.x")},
	} {
		for _, p := range same {
			if p.Key() != same[0].Key() {
				t.Errorf("%q and %q", p.Key(), same[0].Key())
			}
		}
	}
}

func TestIdentityIsAlwaysThere(t *testing.T) {
	r := decode(t, `{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"spec":{"n":1}}`)
	const identity = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u"`
	for _, test := range []struct {
		projection Projection
		want       string
	}{
		{Paths(parse(t, "nothing")), identity + `}}`},
		{Paths(parse(t, "metadata.resourceVersion", "spec")), identity + `,"resourceVersion":"7"},"spec":{"n":1}}`},
		{ignore(t, Paths(parse(t, "metadata", "spec")), "metadata.resourceVersion"), identity + `},"spec":{"n":1}}`},
		{ignore(t, MetadataOnly(), "metadata.resourceVersion", "spec"), identity + `}}`},
	} {
		json, version := test.projection.Apply(r)
		if string(json) != test.want || version != xxhash.Sum64String(test.want) {
			t.Errorf("%s: %s, %x", test.projection.Key(), json, version)
		}
	}
	for _, text := range []string{"metadata", "metadata.uid", "metadata.name", "metadata.namespace", "kind", "apiVersion"} {
		if _, err := Whole().Ignore(parse(t, text)); !errors.Is(err, ErrIdentity) {
			t.Errorf("ignoring %s: %v", text, err)
		}
	}
}

func parse(t *testing.T, texts ...string) (paths []fieldpath.Path) {
	t.Helper()
	for _, text := range texts {
		p, err := fieldpath.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

func ignore(t *testing.T, p Projection, texts ...string) Projection {
	t.Helper()
	p, err := p.Ignore(parse(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func decode(t *testing.T, json string) *record.Record {
	t.Helper()
	r, err := record.NewDecoder(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}).Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
