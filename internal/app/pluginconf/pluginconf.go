// Package pluginconf lets operators change the settings of plugins without the environment.
//
// What a plugin can be told is what its Config declares (plugin.Configurer). A value comes from
// one place: a flag, the environment, the configuration file, else what operators stored, else
// the default. It promises that only what is declared and fits is stored, that secrets are
// stored sealed and never shown again, and that what a later build does not know, or refuses,
// stops no start: it is left out.
//
// Plugins read their settings when they start, so that what is stored is in force on a node
// after its next start; until then a State says so. It refuses to change what a variable or the
// file sets, and what is of the machine alone (machine:"true"): settings that guard the machine's
// network or say where its secrets are sent. Such a value is not in force even if it is stored.
// What is stored can always be taken away, and what cannot be used is carried over as it is when
// something else is changed.
//
// Decision: ADR 0277.
package pluginconf

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/spelling"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/plugin"
)

// Document is the name of the operators' document that has the values.
const Document = "plugins"

const (
	maxBytes = 64 << 10
	maxValue = 8 << 10
	// sealedPrefix marks a value that only this deployment can read.
	sealedPrefix = "sealed:"
)

// Values are settings by their names.
type Values map[string]string

// Parts are the settings that plugins declare, for config.Load to fill.
func Parts(plugins []plugin.Plugin) []config.Part {
	var parts []config.Part
	for _, p := range plugins {
		if c, ok := p.(plugin.Configurer); ok {
			parts = append(parts, config.Part{Name: partOf(p.Describe().Name), Into: c.Config()})
		}
	}
	return parts
}

// partOf is the heading of a plugin's settings.
func partOf(name string) string { return "Plugin " + name }

// Definition is the document of stored values.
func Definition(plugins []plugin.Plugin, key []byte) operatordoc.Definition[Values] {
	d := definition{parts: Parts(plugins), seal: sealing.Sealer{Key: key, Purpose: "castalia plugin settings"}}
	return operatordoc.Definition[Values]{
		Name: Document, Title: "The settings of plugins", Media: "application/yaml", MaxBytes: maxBytes,
		Parse: func(text []byte, _ operatordoc.Source) (Values, error) { return d.open(text) }, Prepare: d.prepare,
	}
}

type definition struct {
	parts []config.Part
	seal  sealing.Sealer
}

// read takes a text apart; what is secret in it stays sealed.
func read(text []byte) (Values, error) {
	var raw map[string]any
	if err := yamlfile.Unmarshal(text, &raw, maxBytes); err != nil {
		return nil, err
	}
	out := Values{}
	for name, value := range raw {
		switch value.(type) {
		case string, bool, uint64, int64, float64:
			out[name] = fmt.Sprint(value)
		default:
			return nil, fmt.Errorf("%s: want one value, as a text", name)
		}
	}
	return out, nil
}

// text is how values are stored: a line each, in the order of their names.
func (v Values) text() []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		b.WriteString(name + ": " + strconv.Quote(v[name]) + "\n")
	}
	return []byte(b.String())
}

// open reads what is stored. What no plugin of this build declares, or was sealed elsewhere, is
// left out: the rest is still good.
func (d definition) open(text []byte) (Values, error) {
	stored, err := read(text)
	if err != nil {
		return nil, err
	}
	for name, value := range stored {
		opened, err := d.opened(name, value)
		if _, known := config.Find(d.parts, name); !known || err != nil {
			delete(stored, name)
			continue
		}
		stored[name] = opened
	}
	return stored, nil
}

func (d definition) opened(name, value string) (string, error) {
	sealed, ok := strings.CutPrefix(value, sealedPrefix)
	if !ok {
		return value, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		data, err = d.seal.Unseal(data, name)
	}
	if err != nil {
		return "", errors.New("it was sealed for another setting or by another deployment: give the value itself again")
	}
	return string(data), nil
}

// prepare checks a text and seals what is secret in it. What was stored before and does not pass,
// because another build or another key stored it, stays as it is: it is not in force, and must not
// be in the way of other changes.
func (d definition) prepare(text, before []byte) ([]byte, error) {
	values, err := read(text)
	if err != nil {
		return nil, err
	}
	kept, err := read(before)
	if err != nil {
		kept = nil // nothing can be carried over from what nobody can read
	}
	for name, value := range values {
		checked, err := d.checked(name, value)
		if err == nil {
			values[name] = checked
		} else if was, stored := kept[name]; !stored || was != value {
			return nil, err
		}
	}
	return values.text(), nil
}

// checked returns a value as it is stored, or why it does not fit.
func (d definition) checked(name, value string) (string, error) {
	declared, known := config.Find(d.parts, name)
	if !known {
		return "", fmt.Errorf("%s: no plugin has this setting%s", name, d.near(name))
	}
	if declared.Machine {
		return "", fmt.Errorf("%s is %s and cannot be stored", name, config.WhereItRuns)
	}
	plain, err := d.opened(name, value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(plain) > maxValue {
		return "", fmt.Errorf("%s: a value may have at most %d bytes", name, maxValue)
	}
	if err := config.Fits(d.parts, name, plain); err != nil {
		return "", err
	}
	if !declared.Secret || strings.HasPrefix(value, sealedPrefix) {
		return value, nil
	}
	sealed, err := d.seal.Seal([]byte(plain), name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return sealedPrefix + base64.RawURLEncoding.EncodeToString(sealed), nil
}

func (d definition) near(name string) string {
	var names []string
	for _, s := range config.Declared(d.parts) {
		names = append(names, s.Name)
	}
	if best, _ := spelling.Nearest(name, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
