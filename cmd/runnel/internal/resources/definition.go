package resources

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/version"
)

// Definition is what a CustomResourceDefinition says of its resource.
type Definition struct {
	Resource
	// Versions are those that are served, the one that the API server prefers first.
	Versions []Version
}

// Version is a version of a custom resource.
type Version struct {
	Name    string
	Columns []PrinterColumn
}

// PrinterColumn is one of a CustomResourceDefinition's additionalPrinterColumns.
type PrinterColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	JSONPath string `json:"jsonPath"`
	// Priority above 0 means: only where there is room.
	Priority int32 `json:"priority"`
}

// DefinitionPaths are the parts of a CustomResourceDefinition that FromDefinition
// reads.
func DefinitionPaths() []string {
	return []string{
		"spec.group", "spec.names", "spec.scope",
		"spec.versions[*].name", "spec.versions[*].served", "spec.versions[*].additionalPrinterColumns",
	}
}

// FromDefinition reads the JSON of a CustomResourceDefinition.
func FromDefinition(data []byte) (Definition, error) {
	var crd struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Plural     string   `json:"plural"`
				Singular   string   `json:"singular"`
				Kind       string   `json:"kind"`
				ShortNames []string `json:"shortNames"`
			} `json:"names"`
			Scope    string `json:"scope"`
			Versions []struct {
				Name    string          `json:"name"`
				Served  bool            `json:"served"`
				Columns []PrinterColumn `json:"additionalPrinterColumns"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &crd); err != nil {
		return Definition{}, fmt.Errorf("custom resource definition: %w", err)
	}
	names := crd.Spec.Names
	d := Definition{Resource: Resource{
		Group: crd.Spec.Group, Plural: names.Plural, Singular: names.Singular, Kind: names.Kind,
		Short: names.ShortNames, Namespaced: crd.Spec.Scope != "Cluster",
	}}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			d.Versions = append(d.Versions, Version{v.Name, v.Columns})
		}
	}
	// As the API server prefers them: stable before beta before alpha, high before low.
	slices.SortStableFunc(d.Versions, func(a, b Version) int { return version.CompareKubeAwareVersionStrings(b.Name, a.Name) })
	return d, nil
}

// Columns are those of the version of that name; of the preferred one for "".
func (d Definition) Columns(name string) []PrinterColumn {
	for _, v := range d.Versions {
		if name == "" || v.Name == name {
			return v.Columns
		}
	}
	return nil
}
