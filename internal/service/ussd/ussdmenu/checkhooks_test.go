package ussdmenu_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func TestWebhooksOfMenusAreChecked(t *testing.T) {
	t.Parallel()
	good := string(ussdtest.HookMenu(ussdtest.HookEndpoint))
	menu, err := ussd.ParseMenu("hooks.yaml", []byte(good), ussdmenu.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{"": true, "12345678": true, "123456789": false, "[[[[": true, "[[[[[": false, "ждждждж": true} {
		if menu.Shows("price", value) != want {
			t.Errorf("%q: want %t", value, want)
		}
	}
	for _, c := range [][3]string{
		{"endpoint: ep_AAAAAAAAAAAAAAAAAAAAAAAAAA, send: [crop],", "endpoint: https://example.org, send: [crop],", "write the id of a webhook"},
		{"send: [crop],", "send: [nothing],", `unknown variable "nothing"`},
		{"take: [why]", "take: [nothing]", `unknown variable "nothing"`},
		{"webhook: price,", "webhook: other,", `needs the name of a webhook that the menu declares, not "other"`},
		{"webhook: price,", "", `needs the name of a webhook`},
		{"{var: bags, kind: digits,", "{var: bags, kind: pin,", `"bags" is a secret: a webhook tells none`},
		{"  price: {endpoint", "  Price!: {endpoint", "a webhook's name has"},
		{"run: callWebhook, webhook: price, on: {ok: bags, refused: none, promised: none, failed: none}", "run: logOut, webhook: price, on: {ok: bags}", "calls no webhook"},
		{"promised: none, ", "", `the outcome "promised"`},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if text == good {
			t.Fatalf("%q is not in the menu", c[0])
		}
		if _, err := ussd.ParseMenu("hooks.yaml", []byte(text), ussdmenu.Limit{}); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %s", c[1], err, c[2])
		}
	}
}
