package ussd_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// The schema for editors accepts the built-in menu, knows what the program
// knows, and refuses what the program refuses.
func TestTheEditorsSchemaAgreesWithTheProgram(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../spec/ussd-menu.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(source []byte) map[string]any {
		text, err := yaml.YAMLToJSON(source)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, source := range map[string][]byte{
		"built-in": ussd.DefaultMenuSource(), "of forms": []byte(ussdtest.FormMenu), "of webhooks": ussdtest.HookMenu(ussdtest.HookEndpoint),
		"of lists": []byte(listsOfBoth),
	} {
		if err := resolved.Validate(read(source)); err != nil {
			t.Errorf("the menu %s: %v", name, err)
		}
	}
	broken := read(ussd.DefaultMenuSource())
	broken["screens"].(map[string]any)["preMenu"].(map[string]any)["exits"] = true
	if resolved.Validate(broken) == nil {
		t.Error("an unknown field passes")
	}
	names := func(values []any) (out []string) {
		for _, v := range values {
			out = append(out, v.(string))
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ussdaction.Specs())),
		names(schema.Defs["action"].Properties["run"].Enum)); diff != "" {
		t.Errorf("actions: %s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(ussdmenu.Kinds())),
		names(schema.Defs["input"].Properties["kind"].Enum)); diff != "" {
		t.Errorf("kinds: %s", diff)
	}
}

const listsOfBoth = `name: Lists
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
lists:
  hours: {file: hours.csv, show: {en: "{{Place}}"}, where: {Town: town}, take: {place: Place}, key: [Place, Town]}
  prices: {document: a/prices.xlsx, collection: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f, sheet: May, show: {en: "{{Crop}}"}}
screens:
  home: {text: {en: Home}, exit: true}
  bye: {end: true, text: {en: Bye}}
`
