// Package namekit has the name of the oracle: the setting ORACLE_NAME rules, else the document `name`
// that operators change.
//
// It promises that the model, the console and / know a new name within a second. Text messages, calls,
// the guides, agents, plugins and the embedded chain say the one that held when their node started.
//
// Decision: ADR 0299.
package namekit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// DocumentName is that of the operators' document.
const DocumentName = "name"

const (
	maxDocument = 4 << 10 // bytes
	maxName     = 80      // characters
	setting     = "ORACLE_NAME"
)

// Text is the document that says a name.
func Text(name string) string { return "name: " + strconv.Quote(name) + "\n" }

// Parse reads the document.
func Parse(text []byte) (string, error) {
	var said struct {
		Name string `yaml:"name"`
	}
	if err := yamlfile.Strict(text, &said, maxDocument); err != nil {
		return "", err
	}
	name := strings.TrimSpace(said.Name)
	switch {
	case name == "":
		return "", errors.New("name: it is missing")
	case utf8.RuneCountInString(name) > maxName:
		return "", fmt.Errorf("name: at most %d characters", maxName)
	case strings.ContainsFunc(name, hidden):
		return "", errors.New("name: one line of visible characters")
	}
	return name, nil
}

// hidden are the signs that nobody sees, or that turn the text around them.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// Document is the document on the shelf of operators. What the program was told of all settings
// says whether ORACLE_NAME is among them.
func Document(name string, given []config.Setting) operatordoc.Definition[string] {
	d := operatordoc.Definition[string]{
		Name: DocumentName, Title: "The oracle's name", Media: "application/yaml", MaxBytes: maxDocument, Variable: setting,
		BuiltIn: []byte(Text(name)),
		Parse: func(text []byte, from operatordoc.Source) (string, error) {
			if from == operatordoc.FromEnvironment || from == operatordoc.FromDefault {
				return name, nil // whoever sets it may call it anything, as ever
			}
			return Parse(text)
		},
	}
	isGiven := func(s config.Setting) bool { return s.Name == setting && s.Source != config.FromDefault }
	if slices.ContainsFunc(given, isGiven) {
		d.Text = Text(name)
	}
	return d
}

// Stored returns what operators stored for the setting, if the document holds it.
func Stored(d *operatordoc.Document[string], of string) (value string, ok bool) {
	if of != setting || d.State().Source != operatordoc.FromDatabase {
		return "", false
	}
	return d.Value(), true
}
