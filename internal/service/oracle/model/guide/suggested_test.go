package guide_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/plugin"
)

// TestSuggestionsInEveryLanguage asks what the console suggests to newcomers, in each
// language that it has.
func TestSuggestionsInEveryLanguage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../../web/console/languages/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	p := newGuide(t)
	page := append(slices.Clone(tools), plugin.ToolSpec{
		Name: "set_theme", Description: "Sets the colour theme of the user's page: light, dark or auto.",
		Schema: json.RawMessage(`{"type":"object","properties":{"theme":{"type":"string","enum":["auto","light","dark"]}},"required":["theme"]}`),
	})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var shown struct {
				Chat struct{ WhatIs, ListFilesAsk, SetDarkAsk string }
			}
			if err := json.Unmarshal(raw, &shown); err != nil {
				t.Fatal(err)
			}
			said := func(text string) plugin.ModelResponse {
				return ask(t, p, plugin.ModelRequest{Tools: page, Messages: []plugin.ModelMessage{says(plugin.RoleUser, text)}})
			}
			if r := said(shown.Chat.WhatIs); !strings.Contains(r.Text, "Castalia") || !strings.Contains(r.Text, "USSD") {
				t.Errorf("%s: %s", shown.Chat.WhatIs, r.Text)
			}
			if r := said(shown.Chat.ListFilesAsk); len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "vfs_list" {
				t.Errorf("%s: %+v", shown.Chat.ListFilesAsk, r)
			}
			if r := said(shown.Chat.SetDarkAsk); len(r.ToolCalls) != 1 || string(r.ToolCalls[0].Args) != `{"theme":"dark"}` {
				t.Errorf("%s: %+v", shown.Chat.SetDarkAsk, r)
			}
		})
	}
}
