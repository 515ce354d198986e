package selector

import (
	"maps"
	"slices"
	"strings"

	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/rawjson"
)

// Fields is a selector over fields of an object, parsed by ParseFields. Its zero
// value selects everything. It is immutable.
//
//	selector    = requirement *( "," requirement )
//	requirement = path ( "=" | "==" | "!=" ) value    the value, or not the value
//	            | path "in" "(" value *( "," value ) ")"      one of the values
//	            | path "notin" "(" value *( "," value ) ")"   none of them
//	            | path                                the field is there
//	            | "!" path                            it is not
//
// Paths are those of package fieldpath, without [*]. All requirements must hold.
// In a value, a backslash takes the next character as it is; the characters
// , = ( ) need one. White space around paths and values does not count.
//
// Values compare as text: a string by its content, a number or boolean as it stands
// in the JSON. A field that is absent or null compares as the empty string, as for
// the API server, or as its default where the API server knows one (see computed).
// An object or list is there, and unequal to every value.
type Fields []fieldRequirement

type fieldRequirement struct {
	path fieldpath.Path
	op   fieldOp
	// values are those that the field is compared with.
	values map[string]struct{}
	// computed, if not nil, finds the field's text where it is more than what lies
	// at the path.
	computed computedField
}

type fieldOp uint8

const (
	fieldIn fieldOp = iota
	fieldNotIn
	fieldExists
	fieldNotExists
)

// matches tells whether the object, given as JSON, meets the requirement.
func (r *fieldRequirement) matches(json []byte) bool {
	value, there := r.path.Lookup(json)
	switch r.op {
	case fieldExists:
		return there
	case fieldNotExists:
		return !there
	}
	text, scalar := "", true
	switch {
	case r.computed != nil:
		text = r.computed(value, json)
	case there:
		text, scalar = rawjson.Text(value)
	}
	_, in := r.values[text]
	return (in && scalar) == (r.op == fieldIn)
}

// form is the requirement in canonical form.
func (r *fieldRequirement) form() string {
	path := r.path.String()
	switch r.op {
	case fieldExists:
		return path
	case fieldNotExists:
		return "!" + path
	}
	values := slices.Sorted(maps.Keys(r.values))
	for i, v := range values {
		values[i] = escape.Replace(v)
	}
	if len(values) == 1 && r.op == fieldIn {
		return path + "=" + values[0]
	}
	if len(values) == 1 {
		return path + "!=" + values[0]
	}
	op := " in ("
	if r.op == fieldNotIn {
		op = " notin ("
	}
	return path + op + strings.Join(values, ",") + ")"
}

var escape = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`, `(`, `\(`, `)`, `\)`, ` `, `\ `)

// canonicalFields drops repetitions and sorts.
func canonicalFields(fields Fields) (Fields, string) {
	byForm := make(map[string]fieldRequirement, len(fields))
	for _, r := range fields {
		byForm[r.form()] = r
	}
	forms := slices.Sorted(maps.Keys(byForm))
	fields = make(Fields, len(forms))
	for i, form := range forms {
		fields[i] = byForm[form]
	}
	return fields, strings.Join(forms, ",")
}
