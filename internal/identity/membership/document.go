package membership

import (
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// DocumentName is that of the operator's document of who may come in.
const DocumentName = "access"

// maxDocument bounds that document, in bytes.
const maxDocument = 1 << 10

// Text is the document that says it.
func (m Mode) Text() string { return "access: " + string(m) + "\n" }

// ParseMode reads the document.
func ParseMode(text []byte) (Mode, error) {
	var d struct {
		Access Mode `yaml:"access"`
	}
	if err := yamlfile.Strict(text, &d, maxDocument); err != nil {
		return "", err
	}
	if !d.Access.Known() {
		return "", fmt.Errorf("access is %.40q, allowed is open, invite or closed", d.Access)
	}
	return d.Access, nil
}

// Document is the document on the shelf of operators. Given is what ACCESS says, if it
// says anything; before is what holds until somebody stores a version. It is never
// removed: nobody should have to know what would hold then.
func Document(given, before Mode) operatordoc.Definition[Mode] {
	d := operatordoc.Definition[Mode]{
		Name: DocumentName, Title: "Who may come in", Media: "application/yaml", MaxBytes: maxDocument,
		Variable: "ACCESS", BuiltIn: []byte(before.Text()), Kept: true,
		Parse: func(text []byte, _ operatordoc.Source) (Mode, error) { return ParseMode(text) },
	}
	if given != "" {
		d.Text = given.Text()
	}
	return d
}
