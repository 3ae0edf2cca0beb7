// Package scripted is a model that says what a test tells it to say.
package scripted

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// Reply is one scripted answer.
type Reply struct {
	Chunks []plugin.Chunk
	Calls  []plugin.ModelToolCall
	// Delay passes before each chunk.
	Delay time.Duration
	// Wait, when set, holds the answer after its chunks until it is closed.
	Wait <-chan struct{}
	// Err ends the answer after its chunks.
	Err   error
	Usage plugin.Usage
	// State is what the provider wants back.
	State *plugin.ModelState
	// Finish is why the answer ended; empty is by itself.
	Finish string
}

// Text is a reply of words, one chunk each.
func Text(words ...string) Reply {
	r := Reply{Usage: plugin.Usage{InputTokens: 1, OutputTokens: int64(len(words))}}
	for _, w := range words {
		r.Chunks = append(r.Chunks, plugin.Chunk{Text: w})
	}
	return r
}

// Calls is a reply that asks for tools.
func Calls(calls ...plugin.ModelToolCall) Reply {
	return Reply{Calls: calls, Usage: plugin.Usage{InputTokens: 1, OutputTokens: 1}}
}

// Provider plays a script.
type Provider struct {
	script func(req plugin.ModelRequest) Reply

	mu       sync.Mutex
	requests []plugin.ModelRequest
}

var _ model.Provider = (*Provider)(nil)

// New makes a provider that asks script for each answer. Titles and summaries
// are asked for like anything else: see ModelRequest.Purpose.
func New(script func(req plugin.ModelRequest) Reply) *Provider { return &Provider{script: script} }

// Sequence makes a provider that gives one reply after the other to turns, and
// then repeats the last. Other purposes get their own name as answer.
func Sequence(replies ...Reply) *Provider {
	var mu sync.Mutex
	next := 0
	return New(func(req plugin.ModelRequest) Reply {
		if req.Purpose != "turn" {
			return Text(req.Purpose)
		}
		mu.Lock()
		defer mu.Unlock()
		r := replies[min(next, len(replies)-1)]
		next++
		return r
	})
}

// Name is "scripted".
func (p *Provider) Name() string { return "scripted" }

// Models lists the one model there is.
func (p *Provider) Models() []model.Info {
	return []model.Info{{ID: "scripted", Label: "Scripted", Family: "castalia", Tier: "everyday", Vision: true, Window: 100_000}}
}

// Requests returns what was asked so far.
func (p *Provider) Requests() []plugin.ModelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]plugin.ModelRequest(nil), p.requests...)
}

// Stream plays the next reply.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	p.mu.Lock()
	p.requests = append(p.requests, req)
	p.mu.Unlock()
	reply := p.script(req)
	resp := plugin.ModelResponse{
		ToolCalls: reply.Calls, Usage: reply.Usage, Finish: cmp.Or(reply.Finish, "stop"),
		Model: "scripted", State: reply.State,
	}
	for _, c := range reply.Chunks {
		if reply.Delay > 0 {
			timer := time.NewTimer(reply.Delay)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return resp, context.Cause(ctx)
			}
		}
		if ctx.Err() != nil {
			return resp, context.Cause(ctx)
		}
		resp.Text += c.Text
		resp.Reasoning += c.Reasoning
		sink(c)
	}
	if reply.Wait != nil {
		select {
		case <-reply.Wait:
		case <-ctx.Done():
			return resp, context.Cause(ctx)
		}
	}
	return resp, reply.Err
}
