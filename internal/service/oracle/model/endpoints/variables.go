package endpoints

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// Variables are the settings that stand for a document with one endpoint.
type Variables struct {
	// Provider is MODEL_PROVIDER, Model is MODEL.
	Provider, Model string
	// Prices are MODEL_PRICES, Wires MODEL_WIRES.
	Prices, Wires []string
	// HasBase and HasKey say that the provider's …_BASE_URL and …_API_KEY are given.
	HasBase, HasKey bool
}

// given reports whether the variables say anything: the guide is what there is
// without them.
func (v Variables) given() bool { return v.Provider != "" && v.Provider != kindGuide }

// prefix is that of the names of the provider's own variables.
func (v Variables) prefix() string { return strings.ToUpper(v.Provider) }

// Text is the document that the variables stand for; empty when they say nothing.
func (v Variables) Text() (string, error) {
	if !v.given() {
		return "", nil
	}
	if v.Provider != kindOpenAI && v.Provider != kindAnthropic {
		return "", fmt.Errorf("MODEL_PROVIDER: given %q, allowed is guide, openai or anthropic", v.Provider)
	}
	e := Endpoint{Kind: v.Provider}
	if v.HasBase {
		e.BaseURL.Env = v.prefix() + "_BASE_URL"
	}
	if v.HasKey {
		e.Key.Env = v.prefix() + "_API_KEY"
	}
	d := Document{Endpoints: map[string]Endpoint{v.Provider: e}}
	for _, name := range v.names() {
		d.Models = append(d.Models, Model{ID: name, Endpoint: v.Provider})
	}
	if err := v.price(d.Models); err != nil {
		return "", fmt.Errorf("MODEL_PRICES: %w", err)
	}
	if err := v.wire(d.Models); err != nil {
		return "", fmt.Errorf("MODEL_WIRES: %w", err)
	}
	text, err := yaml.Marshal(d)
	return string(text), err
}

// names reads MODEL: one name, or several to choose from, the first being the
// default. Without any it is the provider's default, as the program knows it.
func (v Variables) names() []string {
	var out []string
	for name := range strings.SplitSeq(v.Model, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	if known, ok := model.Lookup(v.Provider, ""); ok && len(out) == 0 {
		out = append(out, known.ID)
	}
	return out
}

func (v Variables) price(models []Model) error {
	prices, err := model.ParsePrices(v.Prices)
	if err != nil {
		return err
	}
	for i := range models {
		if p, ok := prices[models[i].ID]; ok {
			models[i].Prices = &Prices{Input: p.Input, Output: p.Output, Cached: p.Cached, Reasoning: p.Reasoning}
			delete(prices, models[i].ID)
		}
	}
	for id := range prices {
		return fmt.Errorf("%s is not among the models of MODEL", id)
	}
	return nil
}

func (v Variables) wire(models []Model) error {
	if len(v.Wires) > 0 && v.Provider != kindOpenAI {
		return fmt.Errorf("the provider %s has one wire only", v.Provider)
	}
	for _, item := range v.Wires {
		cut := strings.LastIndexByte(item, '=') // ids may hold one
		if cut <= 0 {
			return fmt.Errorf("%q is not MODEL=responses or MODEL=chat", item)
		}
		name, kind, found := strings.TrimSpace(item[:cut]), strings.TrimSpace(item[cut+1:]), false
		if kind != "chat" && kind != "responses" {
			return fmt.Errorf("%q is not MODEL=responses or MODEL=chat", item)
		}
		for i := range models {
			if models[i].ID == name {
				models[i].Wire, found = kind, true
			}
		}
		if !found {
			return fmt.Errorf("%s is not among the models of MODEL", name)
		}
	}
	return nil
}
