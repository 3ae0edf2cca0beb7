// Package oracledocs has the operator's documents that concern the oracle:
// instructions and models. It chooses nothing itself: what the deployment's
// settings say is handed in.
package oracledocs

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints/endpointshttp"
	"github.com/castalia-org/castalia/internal/service/oracle/model/guide"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// Deps is what a deployment has.
type Deps struct {
	Settings config.Oracle
	// Calls has the services of speech of a document that names none.
	Calls config.Calls
	// SealKey guards keys of endpoints that are stored.
	SealKey []byte
	// Getenv returns a variable that a document refers to; nil knows none.
	Getenv func(string) string
	// Guides are what the built-in guide knows.
	Guides fs.FS
	// Home is where people reach this deployment; empty: wherever they do.
	Home string
	Log  *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Documents are the documents, on their shelf.
type Documents struct {
	Instructions *operatordoc.Document[instructions.Instructions]
	Models       *operatordoc.Document[*endpoints.Set]
	// Answers tells whether the models answer, Speech whether the services of calls do.
	Answers, Speech *endpoints.Checker
	endpoints       endpoints.Config
	log             *slog.Logger
}

// Put puts the documents on the shelf.
func Put(shelf *operatordoc.Shelf, d Deps) (*Documents, error) {
	s, out := d.Settings, &Documents{log: d.Log}
	var err error
	if out.Instructions, err = operatordoc.Put(shelf,
		instructions.Definition(s.Instructions, s.InstructionsFile)); err != nil {
		return nil, err
	}
	builtIn, err := guide.New(guide.Config{Docs: d.Guides, Home: strings.TrimRight(d.Home, "/") + guidebook.Home})
	if err != nil {
		return nil, err
	}
	v := endpoints.Variables{
		Provider: s.Provider, Model: s.Model, Prices: s.Prices, Wires: s.Wires,
		HasBase: s.OpenAIBase.Given(), HasKey: s.OpenAIKey.Reveal() != "",
	}
	if s.Provider == "anthropic" {
		v.HasBase, v.HasKey = s.AnthropicBase.Given(), s.AnthropicKey.Reveal() != ""
	}
	c := d.Calls
	out.endpoints = endpoints.Config{
		Guide: builtIn, Getenv: d.variable, Seal: sealing.Sealer{Key: d.SealKey, Purpose: endpoints.Purpose},
		Speech: endpoints.SpeechVariables{
			HearURL: c.HearURL.Reveal(), HearModel: c.HearModel, VoiceURL: c.VoiceURL.Reveal(), VoiceModel: c.VoiceModel,
			Voice: c.Voice, Key: c.SpeechKey.Reveal(),
		},
		Wire: wire.Config{Connect: s.ConnectTimeout, FirstChunk: s.FirstToken, Idle: s.IdleTimeout},
		Log:  d.Log.With(slog.String("part", "model")), Now: d.Now,
	}
	def, err := endpoints.Definition(out.endpoints, v, s.Models, s.ModelsFile)
	if err != nil {
		return nil, err
	}
	if out.Models, err = operatordoc.Put(shelf, def); err != nil {
		return nil, err
	}
	out.Answers = endpoints.NewChecker(out.Models.Value, time.Now)
	out.Speech = endpoints.NewSpeechChecker(out.Models.Value, time.Now)
	return out, nil
}

// InForce is what the document of models says at the moment, to be asked.
func (d *Documents) InForce() endpoints.InForce { return endpoints.InForce{Document: d.Models} }

// Surfaces are how operators ask whether their models and services answer, and choose one.
func (d *Documents) Surfaces(shelf *operatordoc.Shelf, author func(*http.Request) string) []httpserver.Surface {
	return []httpserver.Surface{
		endpointshttp.Surface(d.Answers, d.Speech),
		endpointshttp.Writer{Shelf: shelf, Models: d.endpoints, Author: author}.Surface(),
	}
}

// variable returns what documents may refer to: settings of this kind wherever
// they were given, and the environment.
func (d Deps) variable(name string) string {
	own := map[string]string{
		"OPENAI_API_KEY": d.Settings.OpenAIKey.Reveal(), "OPENAI_BASE_URL": d.Settings.OpenAIBase.Reveal(),
		"ANTHROPIC_API_KEY": d.Settings.AnthropicKey.Reveal(), "ANTHROPIC_BASE_URL": d.Settings.AnthropicBase.Reveal(),
	}
	if own[name] != "" || d.Getenv == nil {
		return own[name]
	}
	return d.Getenv(name)
}

// WarnOfModels tells whoever starts the program what its users would meet. It
// asks endpoints for their lists of models only.
func (d *Documents) WarnOfModels(ctx context.Context) error {
	set := d.Models.Value()
	for _, warning := range set.Warnings(time.Now()) {
		d.log.Warn("the models document has a problem", slog.String("event", "model.warning"), slog.Any("warning", warning))
	}
	for _, f := range set.Probe(ctx, false) {
		if f.Problem != "" && ctx.Err() == nil {
			d.log.Warn("the models document has a problem", slog.String("event", "model.warning"), slog.String("warning", f.Text()))
		}
	}
	return nil
}
