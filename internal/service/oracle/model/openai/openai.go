// Package openai speaks to any endpoint of OpenAI's two wires: chat completions,
// which many others speak too, and responses, for models that are marked so.
//
// It takes what compatible endpoints really send: tool calls in pieces or
// whole, with or without an index, reasoning under four names and in tags,
// content as text or as a list, usage in the last chunk, in the finishing one or
// beside it. It gives each endpoint back what it wants back (signatures,
// thoughts, encrypted reasoning), which is known from its address or learned from
// its first refusal, and nothing to those that want nothing.
package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// DefaultBase is the address of OpenAI itself.
const DefaultBase = "https://api.openai.com/v1"

// Responses marks models that are asked by the responses wire: see model.Info.
const Responses = "responses"

// Config says which endpoint and which models; DefaultBase when it names none.
type Config = wire.Endpoint

// Provider is an endpoint.
type Provider struct {
	cfg     Config
	client  *wire.Client
	host    string
	learned wire.Learned[manners]
	windows wire.Windows
}

var _ model.Provider = (*Provider)(nil)

// New makes a provider.
func New(cfg Config) (*Provider, error) {
	client, err := cfg.Connect("openai", DefaultBase)
	if err != nil {
		return nil, err
	}
	p := &Provider{cfg: cfg, client: client}
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		p.host = strings.ToLower(u.Hostname())
	}
	return p, nil
}

// Name is "openai".
func (p *Provider) Name() string { return "openai" }

// Models lists the models, with what was learned of their windows.
func (p *Provider) Models() []model.Info { return p.windows.Of(p.cfg.Models) }

// Stream asks the endpoint.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	info := model.Find(p, req.Model)
	req = p.client.Fit(wire.Asked(req, info))
	q := wire.Question{URL: p.cfg.BaseURL + "/chat/completions", Header: p.header(), Tag: p.cfg.Tag("openai", info.ID), Tools: req.Tools}
	responses := info.Wire == Responses
	if responses {
		q.URL = p.cfg.BaseURL + "/responses"
	}
	resp, err := p.learned.Adapt(ctx, info.ID, sink,
		func(ctx context.Context, m manners, sink func(plugin.Chunk)) (plugin.ModelResponse, error) {
			q, m := q, m.at(p.host)
			q.Sink = sink
			if responses {
				q.Request = func(names *wire.Names) any { return p.items(req, info, q.Tag, m, names) }
				q.Read = func(a *wire.Answer) wire.Handler { return &itemAnswer{Answer: a, client: p.client} }
				return p.client.Ask(ctx, q)
			}
			q.Request = func(names *wire.Names) any { return p.chat(req, info, q.Tag, m, names) }
			q.Read = func(a *wire.Answer) wire.Handler {
				return newChatAnswer(a, p.client, m, func() { p.learned.Teach(info.ID, manners.prefilled) })
			}
			return p.client.Ask(ctx, q)
		}, manners.after)
	return resp, p.windows.Watch(req, info, resp, err)
}

func (p *Provider) header() http.Header {
	header := http.Header{}
	switch {
	case p.cfg.Key == "":
	case azure(p.host):
		header.Set("Api-Key", p.cfg.Key)
	default:
		header.Set("Authorization", "Bearer "+p.cfg.Key)
	}
	return header
}

func azure(host string) bool {
	return strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".services.ai.azure.com")
}
