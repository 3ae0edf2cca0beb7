package ussdmenu

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
)

const (
	maxFields  = 24
	maxChoices = 64
)

var formName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// checkForms checks the forms that the menu declares.
func (c *checker) checkForms() {
	secrets := c.secrets()
	variable := func(path, name string) { c.checkKept(path, name, secrets, "a form keeps none") }
	for _, name := range slices.Sorted(maps.Keys(c.src.Forms)) {
		path, f := "forms."+name, c.src.Forms[name]
		if !formName.MatchString(name) {
			c.report(path, "a form's name has 1 to 40 of a-z, 0-9, - and _, and begins with a letter")
		}
		if len(f.Fields) == 0 || len(f.Fields) > maxFields {
			c.report(path+".fields", "a form has 1 to %d fields", maxFields)
		}
		if f.Consent != "" {
			variable(path+".consent", f.Consent)
		}
		if f.Notify != "" && !strings.HasPrefix(f.Notify, "did:") {
			c.report(path+".notify", "write the DID whose webhooks hear of the form")
		}
		seen := map[string]bool{}
		for _, field := range f.Fields {
			at := path + ".fields"
			if !formName.MatchString(field.Name) || seen[field.Name] {
				c.report(at, "the field %q needs a name of its own, of a-z, 0-9, - and _", field.Name)
			}
			seen[field.Name] = true
			if !slices.Contains(ussdform.Kinds(), field.Kind) {
				c.report(at, "the field %q has the kind %q: write one of %s", field.Name, field.Kind, strings.Join(ussdform.Kinds(), ", "))
			}
			if choices := len(field.Choices); (field.Kind == ussdform.Choice) != (choices > 0) || choices > maxChoices {
				c.report(at, "the field %q: a choice has 1 to %d choices, others have none", field.Name, maxChoices)
			}
			variable(at, field.Var)
		}
	}
}

// Form returns the form that a Call keeps.
func (m *Menu) Form(call string) (string, ussdform.Form) {
	a := m.src.Actions[call]
	if a == nil {
		return "", ussdform.Form{}
	}
	return a.Form, m.src.Forms[a.Form]
}
