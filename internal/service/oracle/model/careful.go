package model

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/castalia-org/castalia/plugin"
)

// Careful is a provider whose panics are failures of the one answer.
func Careful(p Provider, log *slog.Logger) Provider { return careful{p, log} }

type careful struct {
	Provider
	log *slog.Logger
}

// Stream answers a request: see Provider.
func (c careful) Stream(ctx context.Context, req plugin.ModelRequest, sink func(plugin.Chunk)) (resp plugin.ModelResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a model panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = &Error{Provider: c.Name(), Kind: Unknown, Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	return c.Provider.Stream(ctx, req, sink)
}
