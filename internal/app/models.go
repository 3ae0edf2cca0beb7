package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/guide"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// The windows of models that nobody knows, in tokens. Refusals correct them.
const (
	openaiWindow    = 128_000
	anthropicWindow = 200_000
)

// modelProvider is where answers come from.
func (a *App) modelProvider() (model.Provider, error) {
	s := a.opt.Settings.Oracle
	for _, warning := range modelWarnings(s, a.res.now()) {
		a.opt.Log.Warn("look at the models", slog.Any("warning", warning))
	}
	how := wire.Config{Connect: s.ConnectTimeout, FirstChunk: s.FirstToken, Idle: s.IdleTimeout, Log: a.opt.Log.With(slog.String("part", "model"))}
	switch s.Provider {
	case "", "guide":
		return guide.New(guide.Config{Docs: docs.Guides})
	case "openai":
		models, err := namedModels(s)
		if err != nil {
			return nil, err
		}
		return openai.New(openai.Config{BaseURL: s.OpenAIBase.Reveal(), Key: s.OpenAIKey.Reveal(), Models: models, Wire: how})
	case "anthropic":
		models, err := namedModels(s)
		if err != nil {
			return nil, err
		}
		return anthropic.New(anthropic.Config{BaseURL: s.AnthropicBase.Reveal(), Key: s.AnthropicKey.Reveal(), Models: models, Wire: how})
	}
	return nil, fmt.Errorf("MODEL_PROVIDER: given %q, allowed is guide, openai or anthropic", s.Provider)
}

// modelNames reads MODEL: one name, or several to choose from, the first being
// the default. Without any it is the provider's default, as the program knows it.
func modelNames(s config.Oracle) []string {
	var out []string
	for name := range strings.SplitSeq(s.Model, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	if known, ok := model.Lookup(s.Provider, ""); ok && len(out) == 0 {
		out = append(out, known.ID)
	}
	return out
}

// namedModels are the models of MODEL, with MODEL_PRICES and MODEL_WIRES, which
// must name only those.
func namedModels(s config.Oracle) ([]model.Info, error) {
	var out []model.Info
	base := strings.TrimRight(s.OpenAIBase.Reveal(), "/")
	own := base == "" || base == openai.DefaultBase
	for _, name := range modelNames(s) {
		info := model.Info{ID: name, Label: name, Family: "custom", Tier: "balanced", Vision: true, Window: openaiWindow}
		if s.Provider == "anthropic" {
			info.Window = anthropicWindow
		}
		if known, ok := model.Lookup(s.Provider, name); ok {
			info.Window = known.Window
			if own { // others may not have that wire
				info.Wire = known.Wire
			}
		}
		out = append(out, info)
	}
	prices, err := model.ParsePrices(s.Prices)
	if err != nil {
		return nil, fmt.Errorf("MODEL_PRICES: %w", err)
	}
	if unknown := prices.Apply(out); len(unknown) > 0 {
		return nil, fmt.Errorf("MODEL_PRICES: %s is not among the models of MODEL", strings.Join(unknown, ", "))
	}
	if err := applyWires(s, out); err != nil {
		return nil, fmt.Errorf("MODEL_WIRES: %w", err)
	}
	return out, nil
}

func applyWires(s config.Oracle, models []model.Info) error {
	if len(s.Wires) > 0 && s.Provider != "openai" {
		return fmt.Errorf("the provider %s has one wire only", s.Provider)
	}
	for _, item := range s.Wires {
		cut := strings.LastIndexByte(item, '=') // ids may hold one
		if cut <= 0 {
			return fmt.Errorf("%q is not MODEL=responses or MODEL=chat", item)
		}
		name, kind, found := strings.TrimSpace(item[:cut]), strings.TrimSpace(item[cut+1:]), false
		if kind == "chat" {
			kind = ""
		} else if kind != openai.Responses {
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

// modelWarnings are what operators should know of their models before users do.
func modelWarnings(s config.Oracle, now time.Time) []error {
	var out []error
	for _, name := range modelNames(s) {
		known, ok := model.Lookup(s.Provider, name)
		if !ok {
			continue
		}
		if text, _ := known.Warning(now); text != "" {
			out = append(out, errors.New(text))
		}
	}
	if s.Provider == "openai" && s.OpenAIBase.Reveal() == "" && s.OpenAIKey.Reveal() == "" {
		out = append(out, errors.New("MODEL_PROVIDER is openai and OPENAI_API_KEY is not set"))
	}
	if s.Provider == "anthropic" && s.AnthropicBase.Reveal() == "" && s.AnthropicKey.Reveal() == "" {
		out = append(out, errors.New("MODEL_PROVIDER is anthropic and ANTHROPIC_API_KEY is not set"))
	}
	return out
}
