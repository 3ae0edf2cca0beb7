package endpoints

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// restFor is how long a model that did not answer is asked after those that stand
// in for it.
const restFor = 30 * time.Second

// Config is what a document needs of the server.
type Config struct {
	// Guide answers where the document says so.
	Guide model.Provider
	// Getenv returns a variable that the document refers to.
	Getenv func(string) string
	// Seal opens keys that were stored; its purpose is Purpose.
	Seal sealer
	// Speech are the services of a document without its own.
	Speech SpeechVariables
	// Wire is how endpoints are asked that say nothing about it.
	Wire wire.Config
	Log  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Set is a document, ready to be asked.
type Set struct {
	offers   []*offer // the first is the default
	fallback []*offer
	places   []place
	// hearing and voice are nil where there is none.
	hearing, voice *callspeech.Services
	log            *slog.Logger
	now            func() time.Time
}

var _ model.Provider = (*Set)(nil)

// offer is a model that users can choose.
type offer struct {
	id       string
	place    string
	kind     string
	own      bool // the endpoint is the vendor's
	provider model.Provider
	budget   *budget
	// rests is until when it is asked after others, in milliseconds.
	rests atomic.Int64
}

// place is an endpoint, for whoever wants to know whether it answers.
type place struct {
	name, kind, base, key string
	own                   bool
	transport             http.RoundTripper
	offers                []*offer
}

// Parse reads a document and makes everything that is needed to ask its models.
func (c Config) Parse(text []byte, from operatordoc.Source) (*Set, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Set{log: c.Log, now: c.Now}
	places := map[string]*place{}
	for name, e := range d.Endpoints {
		p, err := c.place(name, e, from)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", name, err)
		}
		places[name] = p
	}
	for i := range d.Models {
		m := &d.Models[i]
		p := places[m.Endpoint]
		o, err := c.offer(m, p, d.Endpoints[m.Endpoint])
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", m.ID, err)
		}
		s.offers, p.offers = append(s.offers, o), append(p.offers, o)
	}
	for _, id := range d.Fallback {
		s.fallback = append(s.fallback, s.offers[slices.IndexFunc(s.offers, func(o *offer) bool { return o.id == id })])
	}
	silent := d.Speech.only(d.Models)
	for _, p := range places {
		if !silent[p.name] { // those are asked for speech
			s.places = append(s.places, *p)
		}
	}
	if s.hearing, err = c.services(d.Speech.Hearing, places, c.Speech.hearing()); err == nil {
		s.voice, err = c.services(d.Speech.Voice, places, c.Speech.voice())
	}
	if err != nil {
		return nil, fmt.Errorf("speech: %w", err)
	}
	slices.SortFunc(s.places, func(a, b place) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

func (c Config) place(name string, e Endpoint, from operatordoc.Source) (*place, error) {
	p := &place{name: name, kind: e.Kind}
	if e.Kind == kindGuide {
		return p, nil
	}
	var err error
	if p.base, err = c.baseURL(e, from); err != nil {
		return nil, err
	}
	p.own = p.base == openai.DefaultBase || p.base == anthropic.DefaultBase
	if p.key, err = c.key(e, p.base, from); err != nil {
		return nil, err
	}
	if p.transport = c.Wire.Transport; p.transport == nil {
		p.transport = wire.NewTransport(orElse(e.ConnectTimeout, c.Wire.Connect))
	}
	return p, nil
}

func (c Config) offer(m *Model, p *place, e Endpoint) (*offer, error) {
	o := &offer{id: m.ID, place: p.name, kind: p.kind, own: p.own, budget: newBudget(m.Limits, c.Now)}
	how := c.Wire
	how.Transport, how.Log = p.transport, c.Log
	how.Connect, how.FirstChunk, how.Idle = orElse(e.ConnectTimeout, how.Connect),
		orElse(e.FirstTokenTimeout, how.FirstChunk), orElse(e.IdleTimeout, how.Idle)
	to := wire.Endpoint{BaseURL: p.base, Key: p.key, Models: []model.Info{m.info(p.kind, p.own)}, Wire: how}
	var err error
	switch p.kind {
	case kindGuide:
		if o.provider = c.Guide; c.Guide == nil {
			err = errors.New("this program has no guide")
		}
	case kindOpenAI:
		o.provider, err = openai.New(to)
	case kindAnthropic:
		o.provider, err = anthropic.New(to)
	}
	return o, err
}

func orElse(d Duration, otherwise time.Duration) time.Duration {
	if d > 0 {
		return time.Duration(d)
	}
	return otherwise
}

// Name is the kind of the default model's endpoint.
func (s *Set) Name() string { return s.offers[0].kind }

// GuideOnly reports whether no language model answers.
func (s *Set) GuideOnly() bool {
	return !slices.ContainsFunc(s.offers, func(o *offer) bool { return o.kind != kindGuide })
}

// Models lists what users can choose, with what was learned of their windows.
func (s *Set) Models() []model.Info {
	out := make([]model.Info, len(s.offers))
	for i, o := range s.offers {
		out[i] = o.info()
	}
	return out
}

func (o *offer) info() model.Info {
	info := o.provider.Models()[0]
	info.ID = o.id
	return info
}

// name is how the endpoint knows the model.
func (o *offer) name() string { return o.provider.Models()[0].ID }

// Stream asks the chosen model, and those that stand in for it while nothing of
// an answer was heard.
func (s *Set) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	order := s.order(req)
	for i, o := range order {
		said := false
		resp, err := o.stream(ctx, req, func(c plugin.Chunk) {
			said = true
			sink(c)
		})
		if err == nil {
			return resp, nil
		}
		if !standsInFor(err) || ctx.Err() != nil {
			return resp, err
		}
		o.rests.Store(s.now().Add(restFor).UnixMilli())
		if said || i == len(order)-1 {
			return resp, err
		}
		next := order[i+1]
		s.log.Warn("a model does not answer; another one is asked", slog.String("event", "model.fallback"),
			slog.String("model", o.id), slog.String("instead", next.id), slog.Any("error", err))
		sink(plugin.Chunk{Reasoning: fmt.Sprintf("The model %s does not answer at the moment; %s is asked instead.\n", o.info().Label, next.info().Label)})
	}
	// the order is never empty
	return plugin.ModelResponse{}, &model.Error{Kind: model.Unknown, Provider: s.Name(), Cause: errors.New("there is no model")}
}

// standsInFor reports whether another model may help. A request that is wrong, or
// too long, is so elsewhere too.
func standsInFor(err error) bool {
	switch model.From(err).Kind {
	case model.RateLimit, model.Billing, model.Auth, model.Timeout, model.Server, model.Network:
		return true
	}
	return false
}

// order is who is asked: the chosen model, then those that stand in for it and
// can do what is asked. Those that rest come last.
func (s *Set) order(req plugin.ModelRequest) []*offer {
	chosen := s.offers[0]
	for _, o := range s.offers {
		if o.id == req.Model {
			chosen = o
		}
	}
	all := []*offer{chosen}
	for _, o := range s.fallback {
		if o != chosen && o.can(req) {
			all = append(all, o)
		}
	}
	now := s.now().UnixMilli()
	slices.SortStableFunc(all, func(a, b *offer) int {
		x, y := a.rests.Load() > now, b.rests.Load() > now
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return all
}

// can reports whether a model can stand in for another with this request.
func (o *offer) can(req plugin.ModelRequest) bool {
	info := o.info()
	if info.NoTools && len(req.Tools) > 0 || model.RequestTokens(req) > info.Window {
		return false
	}
	return info.Vision || !slices.ContainsFunc(req.Messages, func(m plugin.ModelMessage) bool { return len(m.Images) > 0 })
}

func (o *offer) stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	done, ok := o.budget.begin()
	if !ok {
		return plugin.ModelResponse{}, &model.Error{Kind: model.RateLimit, Provider: o.kind, Detail: "the operator's limit for this model is reached"}
	}
	defer done()
	info := o.info()
	req.Model = o.name()
	resp, err := o.provider.Stream(ctx, req, sink)
	if err != nil {
		resp.Usage = model.Cut(req, resp)
	}
	if resp.Usage.CostMicros == 0 {
		resp.Usage.CostMicros = info.Cost(resp.Usage)
	}
	if o.id != req.Model {
		resp.Model = o.id
	}
	return resp, err
}

// Warnings are what operators should know of their models before users do.
func (s *Set) Warnings(now time.Time) []error {
	var out []error
	for _, o := range s.offers {
		if known, ok := model.Lookup(o.kind, o.name()); ok {
			if text, _ := known.Warning(now); text != "" {
				out = append(out, errors.New(text))
			}
		}
	}
	for _, p := range s.places {
		if p.own && p.key == "" {
			variable := map[string]string{kindOpenAI: "OPENAI_API_KEY", kindAnthropic: "ANTHROPIC_API_KEY"}[p.kind]
			out = append(out, fmt.Errorf("the endpoint %s has no key (%s is not set)", p.name, variable))
		}
	}
	return out
}
