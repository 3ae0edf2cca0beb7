package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/plugin"
)

// doubling is a schema whose rules double n times.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// Pages and servers declare the schemas of their tools. One that leads in
// circles, or takes for ever, is not used to check arguments: the tool judges.
// Others are, with what they refer to.
func TestSchemasThatTakeForEver(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)
	long := `{"s":"` + strings.Repeat("a", 60_000) + `"}`
	bomb := func(expr string) string {
		return `{"type":"object","properties":{"s":{"type":"string","pattern":"` + expr + `"}}}`
	}
	const named = `{"type":"object","properties":{"n":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"integer"}}}`
	for _, c := range []struct {
		schema, args string
		want         plugin.Status
	}{
		{`{"type":"object","$ref":"#"}`, `{}`, plugin.Done},
		{`{"type":"object","allOf":[{"$ref":"#"}]}`, `{}`, plugin.Done},
		{`{"type":"object","if":{"not":{"$ref":"#/if"}}}`, `{}`, plugin.Done},
		{`{"type":"object","$dynamicRef":"#x","$dynamicAnchor":"x"}`, `{}`, plugin.Done},
		{`{"type":"object","$anchor":"x","allOf":[{"$ref":"#x"}]}`, `{}`, plugin.Done},
		{`{"type":"object","$id":"https://a.example/b","allOf":[{"$ref":"b"}]}`, `{}`, plugin.Done},
		{`{"type":"object","$defs":{"x":{"$id":"https://a.example/b","allOf":[{"$ref":"#"}]}},"allOf":[{"$ref":"#/$defs/x"}]}`, `{}`, plugin.Done},
		{doubling(200), `{}`, plugin.Done},
		{`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, nested, plugin.Done},
		{`{"type":"object","$ref":"#"}`, `[]`, plugin.Failed},
		{named, `{"n":1}`, plugin.Done},
		// What was approved is what is done.
		{named, `{"n":1,"n":2}`, plugin.Failed},
		{named, `{"n":1,"N":2}`, plugin.Failed},
		{named, `{"x":{"a":1,"A":2}}`, plugin.Done},
		{named, `{"n":"x"}`, plugin.Failed},
		{doubling(5), `{}`, plugin.Done},
		{`{"type":"object","required":["n"]}`, `{}`, plugin.Failed},
		// A pattern costs its steps for each byte: what would take long is not looked at.
		{bomb("(a?){480}(a?){480}b"), long, plugin.Done},
		{bomb(strings.Repeat(".{1000}", 500) + "$"), `{"s":"x"}`, plugin.Done},
		{bomb(strings.Repeat("x", 5000)), `{"s":"y"}`, plugin.Done},
		{`{"type":"object","patternProperties":{"(a?){480}(a?){480}b":{}},"additionalProperties":false}`, long, plugin.Done},
		{`{"type":"object","additionalProperties":{"pattern":"(a?){480}b"},"allOf":[` + strings.Repeat(`{"additionalProperties":{"pattern":"(a?){480}c"}},`, 50) + `{}]}`, long, plugin.Done},
		{bomb("^a+$"), long, plugin.Done},
		{bomb("^b+$"), long, plugin.Failed},
		{`{"type":"object","properties":{"pattern":{"type":"integer"}}}`, `{"pattern":"x"}`, plugin.Failed},
	} {
		tool := tool("a", true, echo)
		tool.Schema = json.RawMessage(c.schema)
		state, err := agent.Run(t.Context(), task(&notes{}, []agent.Tool{tool}, scripted.Calls(call("a", c.args)),
			scripted.Text("done")))
		if err != nil {
			t.Fatal(err)
		}
		if got := state.Steps[0].Calls[0]; got.Status != c.want {
			t.Errorf("%.100s with %.40s: %s %q", c.schema, c.args, got.Status, got.Error)
		}
	}
}

// deep is a schema of objects inside objects, with a text of n bytes in the innermost.
func deep(levels, n int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + `{"type":"string","title":"` + strings.Repeat("t", n) + `"}` +
		strings.Repeat(`}}`, levels)
}

// The decoder of schemas reads an object again for each object around it: a megabyte of them took 25 seconds.
// What is not decoded costs no memory either, which is what is counted here: it is the same on any machine.
func TestDeepSchemasAreNotDecoded(t *testing.T) {
	negated := strings.Repeat(`{"not":`, 4000) + `{}` + strings.Repeat(`}`, 4000)
	for _, schema := range []string{
		deep(400, 0), deep(400, 40_000), deep(60, 40_000), `{"type":"object","anyOf":[` + negated + `]}`,
	} {
		spent := testing.AllocsPerRun(1, func() {
			if err := agent.CheckSchema(json.RawMessage(schema)); err != nil {
				t.Errorf("%.60s: %v", schema, err)
			}
		})
		if most := float64(20_000); spent > most {
			t.Errorf("%.60s of %d bytes takes %.0f allocations, want at most %.0f", schema, len(schema), spent, most)
		}
	}
}

// Schemas of every day are looked at all the same, however long their texts.
func TestSchemasOfEveryDayAreDecoded(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{deep(1, 0), deep(4, 0), deep(4, 40_000), deep(12, 0)} {
		broken := strings.Replace(schema, `"type":"string"`, `"type":5`, 1)
		if err := agent.CheckSchema(json.RawMessage(broken)); err == nil {
			t.Errorf("%.60s of %d bytes was not looked at", schema, len(schema))
		}
	}
}
