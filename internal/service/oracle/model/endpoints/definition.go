package endpoints

import (
	"errors"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// builtIn is the document of a deployment that says nothing about models.
const builtIn = `endpoints:
  guide:
    kind: guide
models:
  - id: guide
    endpoint: guide
`

// Definition is the document on the shelf of operators. Text is what MODELS says,
// file what MODELS_FILE names; variables are those of a single provider, which
// stand for a document too and rule over the file as MODELS does.
func Definition(c Config, v Variables, text, file string) (operatordoc.Definition[*Set], error) {
	d := operatordoc.Definition[*Set]{
		Name: "models", Title: "The document of models", Media: "application/yaml", MaxBytes: MaxBytes, BuiltIn: []byte(builtIn),
		Variable: "MODELS", FileVariable: "MODELS_FILE", Text: text, File: file, Parse: c.Parse,
		Prepare: func(text, _ []byte) ([]byte, error) { return c.sealKeys(text) },
	}
	own, err := v.Text()
	if err != nil || own == "" {
		return d, err
	}
	if text != "" {
		return d, errors.New("MODEL_PROVIDER is given beside MODELS: keep one")
	}
	d.Variable, d.Text = "MODEL_PROVIDER", own
	return d, nil
}
