package oracletest

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/plugin"
)

// SpentText is what Till says.
const SpentText = "The budget is spent."

// Till is a plugin that refuses model calls with 402 while nothing is left.
type Till struct{ Left atomic.Int64 }

// With puts it on a node.
func (c *Till) With(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, c) }

// Describe names it.
func (*Till) Describe() plugin.Description {
	return plugin.Description{Name: "till", Manifest: plugin.Manifest{
		Title: "Till", Summary: "Counts.", WhenToUse: []string{"paying"}, Visibility: plugin.Silent,
	}}
}

// WrapModel takes one for each call of a turn.
func (c *Till) WrapModel(next plugin.ModelFunc) plugin.ModelFunc {
	return func(ctx context.Context, rt *plugin.Runtime, req plugin.ModelRequest,
		out func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		if c.Left.Add(-1) < 0 {
			return plugin.ModelResponse{}, plugin.Errorf(http.StatusPaymentRequired, SpentText)
		}
		return next(ctx, rt, req, out)
	}
}
