package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/guide"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
)

// modelProvider is where answers come from.
func (a *App) modelProvider() (model.Provider, error) {
	s := a.opt.Settings.Oracle
	switch s.Provider {
	case "", "guide":
		return guide.New(guide.Config{Docs: docs.Guides})
	case "openai":
		models, err := namedModels(s.Model, "gpt-4o-mini", 128_000, s.Prices)
		if err != nil {
			return nil, err
		}
		return openai.New(openai.Config{BaseURL: s.OpenAIBase.Reveal(), Key: s.OpenAIKey.Reveal(), Models: models})
	case "anthropic":
		models, err := namedModels(s.Model, "claude-sonnet-4-5", 200_000, s.Prices)
		if err != nil {
			return nil, err
		}
		return anthropic.New(anthropic.Config{BaseURL: s.AnthropicBase.Reveal(), Key: s.AnthropicKey.Reveal(), Models: models})
	}
	return nil, fmt.Errorf("MODEL_PROVIDER: given %q, allowed is guide, openai or anthropic", s.Provider)
}

// namedModels reads MODEL: one name, or several to choose from, the first being
// the default; and MODEL_PRICES, which must name only those.
func namedModels(list, otherwise string, window int, priced []string) ([]model.Info, error) {
	var out []model.Info
	for name := range strings.SplitSeq(cmp.Or(list, otherwise), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, model.Info{ID: name, Label: name, Family: "custom", Tier: "balanced", Vision: true, Window: window})
		}
	}
	prices, err := model.ParsePrices(priced)
	if err != nil {
		return nil, fmt.Errorf("MODEL_PRICES: %w", err)
	}
	if unknown := prices.Apply(out); len(unknown) > 0 {
		return nil, fmt.Errorf("MODEL_PRICES: %s is not among the models of MODEL", strings.Join(unknown, ", "))
	}
	return out, nil
}
