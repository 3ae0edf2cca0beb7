package model

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// Careful is a provider whose panics are failures of the one answer, and whose
// texts can be stored.
func Careful(p Provider, log *slog.Logger) Provider { return careful{p, log} }

type careful struct {
	Provider
	log *slog.Logger
}

// Stream answers a request: see Provider.
func (c careful) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (resp plugin.ModelResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a model panicked", slog.String("event", "model.panicked"), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = &Error{Provider: c.Name(), Kind: Unknown, Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	resp, err = c.Provider.Stream(ctx, req, func(piece plugin.Chunk) {
		piece.Text, piece.Reasoning = Storable(piece.Text), Storable(piece.Reasoning)
		sink(piece)
	})
	resp.Text, resp.Reasoning = Storable(resp.Text), Storable(resp.Reasoning)
	return resp, err
}

// Storable is a text as databases keep it: without zero bytes, and with a mark
// where letters are broken. An endpoint may send either.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
