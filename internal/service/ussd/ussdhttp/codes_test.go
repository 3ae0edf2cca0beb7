package ussdhttp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// The clinic's first screen has the name of the other menu's.
const clinic = `---
name: Clinic
codes: ["*99#", "*384*7#"]
languages: [sw]
start: preMenu
exit: bye
labels: {back: {sw: Rudi}, exit: {sw: Toka}, next: {sw: Zaidi}, previous: {sw: Nyuma}, invalid: {sw: Si sahihi.}}
screens:
  preMenu: {text: {sw: Karibu kliniki}, options: [{key: "1", label: {sw: Saa}, next: hours}], exit: true}
  hours: {text: {sw: Saa mbili}, back: preMenu, exit: true}
  bye: {end: true, text: {sw: Kwaheri}}
`

// Operators see each menu by its code, with what was counted on it.
func TestEachCodeHasItsFigures(t *testing.T) {
	t.Parallel()
	book, err := ussd.ParseMenus(t.Context(), "menus.yaml", append(ussd.DefaultMenuSource(), clinic...), ussdmenu.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{change: []func(*ussd.Config){func(c *ussd.Config) { c.Menus = book }}})
	for _, body := range []string{
		`{"sessionId":"a","serviceCode":"*2233#","phoneNumber":"+254700000001","text":""}`,
		`{"sessionId":"b","serviceCode":"*384*7#","phoneNumber":"+254700000002","text":""}`,
		`{"sessionId":"b","serviceCode":"*384*7#","phoneNumber":"+254700000002","text":"1"}`,
		`{"sessionId":"c","serviceCode":"*384*7*2#","phoneNumber":"+254700000003","text":""}`,
	} {
		if r := g.do(http.MethodPost, "/api/ussd", "application/json", body); r.status != 200 || !strings.HasPrefix(r.body, "CON ") {
			t.Fatalf("%+v", r)
		}
	}
	for code, want := range map[string]struct {
		begun  int64
		clinic bool
	}{
		"": {1, false}, "?code=*2233%23": {1, false}, "?code=*384*7%23": {2, true}, "?code=384*7": {2, true}, "?code=*384*7*1%23": {2, true},
	} {
		var funnel ussdhttp.Funnel
		var graph ussdmenu.Graph
		for path, into := range map[string]any{"funnel": &funnel, "graph": &graph} {
			if err := json.Unmarshal([]byte(g.get("/operator/ussd/"+path+code).body), into); err != nil {
				t.Fatal(err)
			}
		}
		if (graph.Name == "Clinic") != want.clinic || len(funnel.Steps) == 0 ||
			funnel.Steps[0].Shown != want.begun || funnel.Steps[0].Screen != "preMenu" {
			t.Errorf("%q: %s %+v", code, graph.Name, funnel.Steps)
		}
		for _, n := range graph.Nodes {
			if n.ID == "preMenu" && n.Count != want.begun || n.ID == "hours" && n.Count != 1 {
				t.Errorf("%q: %+v", code, n)
			}
		}
	}
	var list ussdhttp.MenuList
	if err := json.Unmarshal([]byte(g.get("/operator/ussd/menus").body), &list); err != nil {
		t.Fatal(err)
	}
	if m := list.Menus; len(m) != 2 || len(m[0].Codes) != 0 || m[0].Version != book.Default().Version() ||
		m[1].Name != "Clinic" || !slices.Equal(m[1].Codes, []string{"*384*7#", "*99#"}) || m[1].Version != book.For("*384*7#").Version() {
		t.Errorf("%+v", list)
	}
	if r := g.get("/operator/ussd/graph?code=clinic"); r.status != http.StatusBadRequest || !strings.Contains(r.body, "such as *384*7#") {
		t.Errorf("%+v", r)
	}
}
