package app

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/plugins/agui"
	"github.com/castalia-org/castalia/internal/plugins/claims"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/plugins/files"
	"github.com/castalia-org/castalia/internal/plugins/knowledge"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/plugins/memory"
	"github.com/castalia-org/castalia/internal/plugins/portal"
	"github.com/castalia-org/castalia/internal/plugins/preferences"
	"github.com/castalia-org/castalia/internal/plugins/query"
	"github.com/castalia-org/castalia/internal/plugins/teamchat"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// ShippedPlugins are the plugins that come with the program, new and without
// their settings.
func ShippedPlugins() []plugin.Plugin {
	return []plugin.Plugin{
		preferences.New(),
		memory.New(memory.Config{}),
		credits.New(credits.Config{}),
		claims.New(claims.Config{}),
		query.New(query.Config{}),
		files.New(),
		knowledge.New(),
		agui.New(),
		portal.New(),
		mcp.New(mcp.Config{}, authorizationPages),
		teamchat.New(teamchat.Config{}),
	}
}

// authorizationPages speaks on the pages of authorizations at MCP servers.
func authorizationPages(w http.ResponseWriter, r *http.Request) mcp.Voice {
	in := wordshttp.Speaker{}.Choose(w, r)
	return mcp.Voice{Language: in.Code, Direction: in.Direction, Say: in.Language.Say}
}

// PluginVerdicts says of each plugin whether it is on with these settings, and why.
func PluginVerdicts(settings config.Settings, plugins []plugin.Plugin) ([]registry.Verdict, error) {
	r, err := registry.New(registry.Config{
		Plugins: plugins, Features: features(settings), ReservedTools: turn.ReservedTools(),
	})
	if err != nil {
		return nil, err
	}
	return r.Verdicts(), nil
}

// features are the operator's switches.
func features(settings config.Settings) map[string]registry.Feature {
	out := map[string]registry.Feature{}
	for name, value := range settings.Plugins.Features {
		out[name] = registry.Feature(value)
	}
	return out
}
