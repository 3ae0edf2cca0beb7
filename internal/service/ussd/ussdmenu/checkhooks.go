package ussdmenu

import (
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
)

// checkHooks checks the webhooks that the menu declares. Whether they exist is not the
// menu's: owners make and close them.
func (c *checker) checkHooks() {
	secrets := c.secrets()
	for _, name := range slices.Sorted(maps.Keys(c.src.Webhooks)) {
		path, h := "webhooks."+name, c.src.Webhooks[name]
		if !formName.MatchString(name) {
			c.report(path, "a webhook's name has 1 to 40 of a-z, 0-9, - and _, and begins with a letter")
		}
		if !h.HasEndpoint() {
			c.report(path+".endpoint", "write the id of a webhook, as `castalia webhook` shows it: ep_…")
		}
		if len(h.Send) > maxFields || len(h.Take) > maxFields {
			c.report(path, "a webhook sends and takes at most %d variables", maxFields)
		}
		for _, v := range h.Send {
			c.checkKept(path+".send", v, secrets, "a webhook tells none")
		}
		for _, v := range h.Take {
			c.checkKept(path+".take", v, secrets, "no webhook fills it")
		}
	}
}

// secrets are the variables that secrets are typed for.
func (c *checker) secrets() map[string]bool {
	secrets := map[string]bool{}
	for _, s := range c.src.Screens {
		if s.Input != nil && s.Input.Secret() {
			secrets[s.Input.Var] = true
		}
	}
	return secrets
}

// checkKept reports a variable that leaves the session and must not, or is not there.
func (c *checker) checkKept(path, name string, secrets map[string]bool, why string) {
	switch _, declared := c.src.Variables[name]; {
	case secrets[name]:
		c.report(path, "%q is a secret: %s", name, why)
	case !declared:
		c.report(path, "unknown variable %q", name)
	}
}

// Webhook returns the webhook that a Call calls.
func (m *Menu) Webhook(call string) (string, ussdhook.Hook) {
	a := m.src.Actions[call]
	if a == nil {
		return "", ussdhook.Hook{}
	}
	return a.Webhook, m.src.Webhooks[a.Webhook]
}

// Shows reports whether a variable shows a value whole.
func (m *Menu) Shows(variable, value string) bool {
	v := m.src.Variables[variable]
	room := v
	room.Max = len(value) * 4 // more than any spelling of it takes
	return v.show(value) == room.show(value)
}
