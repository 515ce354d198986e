package changes

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChangesReadWell(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", `{"a":1}`, `{"a":1}`, nil},
		{"a number", `{"spec":{"replicas":2}}`, `{"spec":{"replicas":9007199254740993}}`, []string{"spec.replicas: 2 → 9007199254740993"}},
		{"a text", `{"status":{"phase":"Pending"}}`, `{"status":{"phase":"Running"}}`, []string{"status.phase: Pending → Running"}},
		{"texts that need quotes", `{"a":"1","b":"true","c":"","d":" x","e":"l\n"}`, `{"a":1,"b":true,"c":null,"d":"x","e":"é"}`,
			[]string{`a: "1" → 1`, `b: "true" → true`, `c: "" → null`, `d: " x" → x`, `e: "l\n" → é`}},
		{"what comes and goes", `{"a":1,"c":{"d":1}}`, `{"b":{"x":[1]},"c":{}}`, []string{"a: 1 → (none)", `b: (none) → {"x":[1]}`, "c.d: 1 → (none)"}},
		{"null is something", `{"a":null}`, `{}`, []string{"a: null → (none)"}},
		{"names that need quotes", `{"metadata":{"labels":{"a.b/c":"x"}}}`, `{"metadata":{"labels":{"a.b/c":"y"}}}`, []string{"metadata.labels['a.b/c']: x → y"}},
		{"lists by type", `{"conditions":[{"type":"A","status":"False"},{"type":"B","status":"False"}]}`, `{"conditions":[{"type":"B","status":"True"},{"type":"C"}]}`,
			[]string{`conditions[A]: {"status":"False","type":"A"} → (none)`, "conditions[B].status: False → True", `conditions[C]: (none) → {"type":"C"}`}},
		{"lists in another order", `{"c":[{"name":"a"},{"name":"b"}]}`, `{"c":[{"name":"b"},{"name":"a"}]}`, []string{"c: in another order"}},
		{"lists by place", `{"l":[1,2,3]}`, `{"l":[1,4]}`, []string{"l[1]: 2 → 4", "l[2]: 3 → (none)"}},
		{"lists with names that repeat", `{"l":[{"name":"a"},{"name":"a"}]}`, `{"l":[{"name":"a"},{"name":"b"}]}`, []string{"l[1].name: a → b"}},
		{"another kind of value", `{"a":{"b":1}}`, `{"a":[1]}`, []string{`a: {"b":1} → [1]`}},
		{"without the resourceVersion", `{"metadata":{"resourceVersion":"1"},"a":1}`, `{"metadata":{"resourceVersion":"2"},"a":2}`, []string{"a: 1 → 2"}},
		{"nothing but the resourceVersion", `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"2"}}`, []string{`metadata.resourceVersion: "1" → "2"`}},
		{"a long text", `{"a":"` + strings.Repeat("é", 100) + `"}`, `{"a":"` + strings.Repeat("é", 60) + `"}`,
			[]string{"a: " + strings.Repeat("é", 59) + "… → " + strings.Repeat("é", 60)}},
		{"control characters stay off the terminal", `{"a":"x"}`, `{"a":"\u001b[31m"}`, []string{`a: x → "\u001b[31m"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Between([]byte(tt.before), []byte(tt.after))
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
	for _, no := range []string{``, `[]`, `1`} {
		if _, err := Between([]byte(no), []byte(`{}`)); err == nil {
			t.Errorf("%q was taken for an object", no)
		}
	}
}
