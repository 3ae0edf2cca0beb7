// Package model says what the oracle expects of a language model.
//
// A Provider streams answers. What can go wrong is one of a few kinds, which
// are also the kinds that users see; a provider never retries after its first
// byte, notices a stream that was cut or fell silent, and stops when its context
// ends. Providers live in folders of their own: guide needs no account, openai
// and anthropic speak to endpoints, scripted is for tests.
package model

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// Provider is a source of models. Implementations are safe for concurrent use.
type Provider interface {
	// Name identifies the provider, such as "guide".
	Name() string
	// Models lists what can be chosen; the first is the default.
	Models() []Info
	// Stream answers a request: it hands pieces to sink, in order, from the
	// calling goroutine, and returns the whole. A failure is an *Error.
	Stream(ctx context.Context, req plugin.ModelRequest, sink func(plugin.Chunk)) (plugin.ModelResponse, error)
}

// Info describes a model to users.
type Info struct {
	ID        string
	Label     string
	Family    string
	Tier      string // everyday, balanced, top
	CostLabel string
	Badge     string
	Blurb     string
	Vision    bool
	// Window is how many tokens a request and its answer may have together.
	Window int
	// Wire is how the model is asked, where its provider knows several ways; empty
	// means the usual one.
	Wire string
	// NoTools says that the model cannot call tools.
	NoTools bool
	// Temperature, Effort and MaxTokens are what the operator wants of each answer;
	// zero leaves it to the provider.
	Temperature *float64
	Effort      string
	MaxTokens   int
	// Prices in US dollars per million tokens.
	InputPerMillion  float64
	OutputPerMillion float64
	// CachedPerMillion is for input that the provider had read before, and
	// ReasoningPerMillion for thoughts; nil is as the rest.
	CachedPerMillion    *float64
	ReasoningPerMillion *float64
}

// Cost is the price of a usage in millionths of a dollar. A price per million
// tokens in dollars is a price per token in millionths.
func (i Info) Cost(u plugin.Usage) int64 {
	part := func(all, some int64, price float64, own *float64) float64 {
		if own == nil {
			return float64(all) * price
		}
		some = max(0, min(some, all))
		return float64(all-some)*price + float64(some)**own
	}
	return int64(part(u.InputTokens, u.CachedTokens, i.InputPerMillion, i.CachedPerMillion) +
		part(u.OutputTokens, u.ReasoningTokens, i.OutputPerMillion, i.ReasoningPerMillion))
}

// Find returns the model with the id; an empty or unknown id is the default.
func Find(p Provider, id string) Info {
	all := p.Models()
	for _, m := range all {
		if m.ID == id {
			return m
		}
	}
	return all[0]
}

// Answered is the model that answered when another was asked for: one of the provider's
// that stood in for it, or itself under whatever name its endpoint says.
func Answered(p Provider, asked Info, said string) Info {
	if found := Find(p, said); found.ID == said {
		return found
	}
	return asked
}

// Kind is a way in which a model call fails, as users see it.
type Kind string

// The kinds of failures.
const (
	RateLimit Kind = "rate_limit"
	Billing   Kind = "billing"
	Auth      Kind = "auth"
	Timeout   Kind = "timeout"
	Server    Kind = "server"
	Network   Kind = "network"
	Unknown   Kind = "unknown"
	// Filter: the provider's own filter refused the prompt.
	Filter Kind = "filter"
	// TooLong: the request does not fit the model's window. It is not shown:
	// the history is trimmed and the call made again.
	TooLong Kind = "too_long"
)

// Retryable tells users whether asking again may help.
func (k Kind) Retryable() bool {
	switch k {
	case RateLimit, Timeout, Server, Network:
		return true
	}
	return false
}

// Error is a failed model call.
type Error struct {
	Kind     Kind
	Provider string
	// Status is the HTTP status of the provider, when it sent one.
	Status int
	// Detail is what the provider said, for operators.
	Detail string
	Cause  error
	// Window is the model's window, when a refusal as too long names it.
	Window int
	// Guessed marks a refusal that may be one of length: it did not say so.
	Guessed bool
}

// Error describes the failure for logs. Providers repeat keys in what they say,
// so that logs get it scrubbed as users do.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Detail != "" {
		text += ": " + Scrub(e.Detail)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// From classifies any error of a model call.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: Timeout, Cause: err}
	}
	return &Error{Kind: Unknown, Cause: err}
}

// Public is what users may know of a failure.
type Public struct {
	Kind      Kind
	Status    int
	Text      string
	Detail    string
	Retryable bool
}

// generic names who can help, since the one who reads it cannot.
const generic = "Something went wrong while generating the reply. Trying again will hardly help; tell whoever runs this oracle."

// Public hides what is the operator's business: trouble with the operator's
// account or key looks like any unknown failure, and texts lose their keys.
func (e *Error) Public() Public {
	texts := map[Kind]string{
		RateLimit: "The model is busy right now. Please try again in a moment.",
		Timeout:   "The model took too long to answer. Please try again.",
		Server:    "The model had a problem. Please try again.",
		Network:   "The connection to the model was lost. Please try again.",
		Filter:    "The provider's filter refused this conversation. Ask in other words, or begin a new one.",
	}
	text, known := texts[e.Kind]
	if !known {
		return Public{Kind: Unknown, Status: 500, Text: generic, Detail: generic}
	}
	p := Public{Kind: e.Kind, Status: e.Status, Text: text, Detail: Scrub(e.Detail), Retryable: e.Kind.Retryable()}
	if p.Detail == "" || e.Kind == Filter { // what exactly was refused is not for repeating
		p.Detail = text
	}
	return p
}

var keyLike = regexp.MustCompile(`(?i)\b(?:sk|pk|key|bearer|org|proj|req)[-_ ][A-Za-z0-9_\-]{6,}|\b[A-Za-z0-9_\-]{32,}\b|https?://\S+`)

// maxDetail bounds what of a provider's text users see.
const maxDetail = 300

// Scrub removes what looks like a key, an account or an address from a text.
func Scrub(s string) string {
	s = keyLike.ReplaceAllString(s, "[hidden]")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}

// Tokens estimates how many tokens a text has: a token is about four bytes of
// Latin text and about one letter of most others. It errs on the high side.
func Tokens(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < 0x250 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// Cut is what an answer used that was cut off. Most endpoints tell that with the
// end alone: what is missing is estimated, unless nothing of the answer came.
func Cut(req plugin.ModelRequest, resp plugin.ModelResponse) plugin.Usage {
	u := resp.Usage
	said := int64(Tokens(resp.Text) + Tokens(resp.Reasoning))
	if said == 0 {
		return u
	}
	u.OutputTokens = max(u.OutputTokens, said)
	if u.InputTokens > 0 {
		return u
	}
	u.InputTokens = int64(RequestTokens(req))
	return u
}

// Counted is what a whole answer used, for those who pay for it. Where an endpoint tells nothing of
// that, as some local ones do, it is estimated: else nothing would bound what is asked there.
func Counted(req plugin.ModelRequest, resp plugin.ModelResponse) plugin.Usage {
	u := resp.Usage
	if u.InputTokens > 0 || u.OutputTokens > 0 {
		return u
	}
	u.OutputTokens = int64(Tokens(resp.Text) + Tokens(resp.Reasoning))
	for _, c := range resp.ToolCalls {
		u.OutputTokens += int64(8 + Tokens(c.Name) + Tokens(string(c.Args)))
	}
	if u.OutputTokens > 0 {
		u.InputTokens = int64(RequestTokens(req))
	}
	return u
}

// RequestTokens estimates a request.
func RequestTokens(req plugin.ModelRequest) int {
	n := Tokens(req.System)
	for _, m := range req.Messages {
		n += MessageTokens(m)
	}
	for _, t := range req.Tools {
		n += Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Schema))
	}
	return n
}

// MessageTokens estimates a message, its calls and its pictures.
func MessageTokens(m plugin.ModelMessage) int {
	n := 4 + Tokens(m.Text) + Tokens(m.Note) + 1000*len(m.Images)
	for _, c := range m.ToolCalls {
		n += 8 + Tokens(c.Name) + Tokens(string(c.Args))
	}
	return n
}
