package turn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

// pluginSet is the plugins of one request. One whose hook fails is left out of
// the rest of it.
type pluginSet struct {
	all []registry.Loaded
	rt  *plugin.Runtime
	log *slog.Logger

	mu   sync.Mutex
	down map[string]bool
}

func newPluginSet(r *registry.Registry, rt *plugin.Runtime, log *slog.Logger) *pluginSet {
	return &pluginSet{all: r.Loaded(), rt: rt, log: log, down: map[string]bool{}}
}

func (s *pluginSet) isDown(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[name]
}

func (s *pluginSet) disable(name, hook string, err error) {
	s.mu.Lock()
	s.down[name] = true
	s.mu.Unlock()
	s.log.Warn("a plugin's hook failed; it is left out of this request", slog.String("event", "plugin.hook_failed"),
		slog.String("plugin", name), slog.String("hook", hook), slog.Any("error", err), pace.Stack(err))
}

// each calls fn for every plugin that still works, and takes out those that
// fail. An error that keep accepts is returned instead.
func (s *pluginSet) each(hook string, keep func(error) bool, fn func(l registry.Loaded) error) error {
	for _, l := range s.all {
		if s.isDown(l.Name) {
			continue
		}
		err := pace.Guard(func() error { return fn(l) })
		if err == nil {
			continue
		}
		if keep != nil && keep(err) {
			return err
		}
		s.disable(l.Name, hook, err)
	}
	return nil
}

// isRefusal reports whether an error is a plugin's deliberate answer.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*plugin.Error](err)
	return ok
}

// wrapModel puts the plugins' middleware around a model call, the first plugin outermost.
func (s *pluginSet) wrapModel(call plugin.ModelFunc) plugin.ModelFunc {
	for _, l := range slices.Backward(s.all) {
		m, ok := l.Plugin.(plugin.ModelMiddleware)
		if !ok || s.isDown(l.Name) {
			continue
		}
		inner := call
		call = func(ctx context.Context, rt *plugin.Runtime, req plugin.ModelRequest,
			out func(plugin.Chunk),
		) (plugin.ModelResponse, error) {
			if s.isDown(l.Name) {
				return inner(ctx, rt, req, out)
			}
			var reached atomic.Bool
			var resp plugin.ModelResponse
			err := pace.Guard(func() error {
				var err error
				resp, err = m.WrapModel(func(ctx context.Context, rt *plugin.Runtime, req plugin.ModelRequest,
					out func(plugin.Chunk),
				) (plugin.ModelResponse, error) {
					reached.Store(true)
					return inner(ctx, rt, req, out)
				})(ctx, rt, req, out)
				return err
			})
			if err == nil || reached.Load() || isRefusal(err) {
				return resp, err
			}
			s.disable(l.Name, "model middleware", err)
			return inner(ctx, rt, req, out)
		}
	}
	return call
}

// wrapTool puts the plugins' middleware around a tool call.
func (s *pluginSet) wrapTool(call plugin.ToolFunc) plugin.ToolFunc {
	for _, l := range slices.Backward(s.all) {
		m, ok := l.Plugin.(plugin.ToolMiddleware)
		if !ok {
			continue
		}
		inner := call
		call = func(ctx context.Context, rt *plugin.Runtime, c plugin.ToolInvocation) (plugin.Result, error) {
			if s.isDown(l.Name) {
				return inner(ctx, rt, c)
			}
			var reached atomic.Bool
			var result plugin.Result
			err := pace.Guard(func() error {
				var err error
				result, err = m.WrapTool(func(ctx context.Context, rt *plugin.Runtime,
					c plugin.ToolInvocation,
				) (plugin.Result, error) {
					reached.Store(true)
					return inner(ctx, rt, c)
				})(ctx, rt, c)
				return err
			})
			if err == nil || reached.Load() || isRefusal(err) {
				return result, err
			}
			s.disable(l.Name, "tool middleware", err)
			return inner(ctx, rt, c)
		}
	}
	return call
}
