package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

// The tools by which the agent finds and loads capabilities.
const (
	ListCapabilities = "list_capabilities"
	LoadCapability   = "load_capability"
)

// ReservedTools are names that plugins may not use.
func ReservedTools() []string { return []string{ListCapabilities, LoadCapability} }

// capability is a group of tools that is offered now or on demand.
type capability struct {
	name    string
	summary string
	when    []string
	tools   []agent.Tool
	always  bool
	// quiet capabilities are not advertised.
	quiet bool
}

// toolbox is the tools of one turn.
type toolbox struct {
	t       *turn
	session oracle.Session
	close   func()

	mu     sync.Mutex
	groups []capability
	loaded []string // in the order in which they were loaded
}

// toolbox gathers the tools of plugins, of MCP servers and of the user's page.
func (t *turn) toolbox(ctx context.Context, session oracle.Session) *toolbox {
	b := &toolbox{t: t, session: session, close: func() {}, loaded: slices.Clone(session.Loaded)}
	b.addCallers()
	var servers []plugin.MCPServer
	_ = t.plugins.each("tools", nil, func(l registry.Loaded) error {
		g := capability{
			name: l.Name, summary: l.Manifest.Summary, when: l.Manifest.WhenToUse,
			always: l.Visibility() != plugin.OnDemand, quiet: l.Visibility() == plugin.Silent,
		}
		g.tools = owned(l.Name, l.Tools())
		subs := l.SubAgents()
		if p, ok := l.Plugin.(plugin.RequestToolProvider); ok {
			more, err := p.RequestTools(ctx, t.rt)
			if err != nil {
				return err
			}
			g.tools = append(g.tools, owned(l.Name, more)...)
		}
		if p, ok := l.Plugin.(plugin.RequestSubAgentProvider); ok {
			more, err := p.RequestSubAgents(ctx, t.rt)
			if err != nil {
				return err
			}
			subs = append(slices.Clone(subs), more...)
		}
		for _, s := range subs {
			g.tools = append(g.tools, t.subAgent(l.Name, s))
		}
		if p, ok := l.Plugin.(plugin.MCPProvider); ok {
			list, err := p.MCPServers(ctx, t.rt)
			if err != nil {
				return err
			}
			servers = append(servers, list...)
		}
		if len(g.tools) > 0 {
			b.groups = append(b.groups, g)
		}
		return nil
	})
	b.addMCP(ctx, servers)
	b.addDeclared()
	b.clean()
	return b
}

func owned(name string, tools []plugin.Tool) []agent.Tool {
	out := make([]agent.Tool, len(tools))
	for i, t := range tools {
		out[i] = agent.Tool{Tool: t, Plugin: name}
	}
	return out
}

// addMCP adds one capability per MCP server that answers.
func (b *toolbox) addMCP(ctx context.Context, servers []plugin.MCPServer) {
	if b.t.deps.MCP == nil || len(servers) == 0 {
		return
	}
	tools, closeAll := b.t.deps.MCP.Tools(ctx, servers, MCPUser{DID: b.t.run.Owner, Invocations: b.t.carried.Invocations})
	b.close = closeAll
	for _, s := range servers {
		g := capability{name: "mcp-" + s.Name, summary: s.Summary, always: s.Visibility == plugin.Always}
		for _, tool := range tools {
			if strings.HasPrefix(tool.Name, s.Name+"__") {
				tool.Asks = b.t.deps.Config.ApproveMCP && !tool.ReadOnly
				g.tools = append(g.tools, tool)
			}
		}
		if len(g.tools) > 0 {
			b.groups = append(b.groups, g)
		}
	}
}

// addDeclared adds what the user's page offers.
func (b *toolbox) addDeclared() {
	g := capability{name: "page", always: true, quiet: true}
	for _, d := range b.t.run.Request.BrowserTools {
		g.tools = append(g.tools, b.t.frontendTool(d, oracle.BrowserTool))
	}
	for _, d := range b.t.run.Request.Actions {
		g.tools = append(g.tools, b.t.frontendTool(d.DeclaredTool, oracle.Action))
	}
	b.groups = append(b.groups, g)
}

// clean drops tools that cannot be offered: bad names, bad schemas, doubles.
func (b *toolbox) clean() {
	seen := map[string]bool{ListCapabilities: true, LoadCapability: true}
	for i := range b.groups {
		b.groups[i].tools = slices.DeleteFunc(b.groups[i].tools, func(tool agent.Tool) bool {
			reason := ""
			switch {
			case !registry.ValidToolName(tool.Name):
				reason = "bad name"
			case seen[tool.Name]:
				reason = "two tools have this name"
			case b.t.schemas.Check(tool.Schema) != nil:
				reason = "unusable schema"
			}
			if reason != "" {
				b.t.log.Info("a tool is not offered", slog.String("event", "turn.tool_left_out"), slog.String("tool", tool.Name), slog.String("reason", reason))
				return true
			}
			seen[tool.Name] = true
			return false
		})
	}
}

// list is what the agent may call in the next step. What is loaded comes at the
// end, in the order of loading: the list that a provider has seen grows and does
// not change otherwise.
func (b *toolbox) list() []agent.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []agent.Tool
	onDemand := map[string][]agent.Tool{}
	for _, g := range b.groups {
		if g.always {
			out = append(out, g.tools...)
		} else {
			onDemand[g.name] = g.tools
		}
	}
	if len(onDemand) > 0 {
		out = append(out, b.metaTools()...)
	}
	for _, name := range b.loaded {
		out = append(out, onDemand[name]...)
	}
	return out
}

// metaTools let the agent find and load capabilities.
func (b *toolbox) metaTools() []agent.Tool {
	return []agent.Tool{
		{Tool: plugin.Tool{
			Name: ListCapabilities, Description: "List the capabilities that can be loaded, with what they are for.", Safe: true, ReadOnly: true,
			Schema: json.RawMessage(`{"type":"object","properties":{}}`),
			Run:    func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) { return b.describe() },
		}},
		{Tool: plugin.Tool{
			Name: LoadCapability, Description: "Load a capability by name; its tools can then be called.", Safe: true, ReadOnly: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			Run: func(ctx context.Context, _ *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
				var in struct{ Name string }
				if err := json.Unmarshal(args, &in); err != nil {
					return plugin.Result{}, plugin.Errorf(400, "name must be a string")
				}
				return b.load(ctx, in.Name)
			},
		}},
	}
}

func (b *toolbox) describe() (plugin.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	type entry struct {
		Name    string   `json:"name"`
		Summary string   `json:"summary"`
		When    []string `json:"whenToUse,omitempty"`
		Tools   []string `json:"tools"`
		Loaded  bool     `json:"loaded"`
	}
	var list []entry
	for _, g := range b.groups {
		if g.quiet {
			continue
		}
		e := entry{Name: g.name, Summary: g.summary, When: g.when, Loaded: g.always || slices.Contains(b.loaded, g.name)}
		for _, t := range g.tools {
			e.Tools = append(e.Tools, t.Name)
		}
		list = append(list, e)
	}
	return plugin.JSON(list)
}

func (b *toolbox) load(ctx context.Context, name string) (plugin.Result, error) {
	b.mu.Lock()
	i := slices.IndexFunc(b.groups, func(g capability) bool { return g.name == name && !g.quiet })
	if i < 0 {
		b.mu.Unlock()
		return plugin.Result{}, plugin.Errorf(404, "There is no capability called %q; %s shows them.", name, ListCapabilities)
	}
	if !slices.Contains(b.loaded, name) {
		b.loaded = append(b.loaded, name)
	}
	var tools []string
	for _, t := range b.groups[i].tools {
		tools = append(tools, t.Name)
	}
	all := slices.Clone(b.loaded)
	b.mu.Unlock()
	if err := b.t.deps.Store.SetLoaded(ctx, b.session.ID, all); err != nil {
		b.t.log.Warn("a loaded capability was not remembered", slog.String("event", "turn.capability_lost"), slog.Any("error", err))
	}
	return plugin.Text("Loaded " + name + ". Its tools are: " + strings.Join(tools, ", ") + "."), nil
}

// frontendTool is a tool that runs on one of the user's tabs.
func (t *turn) frontendTool(d oracle.DeclaredTool, kind oracle.CallKind) agent.Tool {
	limit := browserTime
	if kind == oracle.Action {
		limit = t.deps.Config.Action
	}
	schema := d.Schema
	if !agent.IsObjectSchema(schema) {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return agent.Tool{Action: kind == oracle.Action, Tool: plugin.Tool{
		Name: d.Name, Description: d.Description, Schema: schema, Timeout: limit + 5*time.Second,
		Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
			return t.dispatch(ctx, rt.ToolCallID, kind, d.Name, args, limit)
		},
	}}
}

// frontend is what plugins call the user's page with.
type frontend struct{ t *turn }

// CallBrowserTool runs a declared browser tool.
func (f frontend) CallBrowserTool(ctx context.Context, name string, args json.RawMessage) (plugin.Result, error) {
	return f.t.dispatch(ctx, "plugin", oracle.BrowserTool, name, args, browserTime)
}

// CallAction runs a declared action.
func (f frontend) CallAction(ctx context.Context, name string, args json.RawMessage) (plugin.Result, error) {
	return f.t.dispatch(ctx, "plugin", oracle.Action, name, args, f.t.deps.Config.Action)
}

// dispatch sends a call to one tab and turns what comes back into a result.
func (t *turn) dispatch(ctx context.Context, caller string, kind oracle.CallKind, name string, args json.RawMessage,
	limit time.Duration,
) (plugin.Result, error) {
	call := oracle.Call{
		ID: caller + ":" + oracle.NewID(), Kind: kind, SessionID: t.run.SessionID, RequestID: t.run.RequestID,
		Owner: t.run.Owner, Tab: t.run.Request.Tab,
		Name: name, Args: args, Deadline: time.Now().Add(limit),
	}
	out, err := t.deps.Dispatcher.Dispatch(ctx, call)
	what := "Browser tool"
	if kind == oracle.Action {
		what = "AG-UI action"
	}
	switch {
	case errors.Is(err, oracle.ErrNoBrowser):
		return plugin.Result{}, plugin.Errorf(409, "%s %s was not sent: no browser is connected to session %s", what, name, t.run.SessionID)
	case errors.Is(err, oracle.ErrTooManyCalls):
		return plugin.Result{}, plugin.Errorf(429, "%s %s was not sent: too many calls wait for an answer", what, name)
	case err != nil:
		return plugin.Result{}, fmt.Errorf("dispatch %s: %w", name, err)
	case out.Unknown:
		r, err := plugin.JSON(map[string]any{
			"success": false, "code": "FRONTEND_OUTCOME_UNKNOWN", "outcome": "unknown", "invocationId": call.ID,
			"message": what + " " + name + " was sent, but no answer came. It may or may not have taken effect; it will not be sent again.",
		})
		r.Unknown = true
		return r, err
	case out.Error != "":
		return plugin.Result{}, plugin.Errorf(502, "%s", agent.Cap(out.Error, 2000))
	}
	if kind == oracle.Action {
		if text, failed := actionFailed(out.Result); failed {
			return plugin.Result{}, plugin.Errorf(502, "%s", text)
		}
	}
	return plugin.Result{Text: string(out.Result), Component: componentOf(out.Result)}, nil
}

// componentOf finds the component that a page's result names:
// {"component": {"name": …, "args": {…}}} beside whatever else it says.
func componentOf(result json.RawMessage) *plugin.Component {
	var named struct{ Component *plugin.Component }
	if json.Unmarshal(result, &named) != nil {
		return nil
	}
	return named.Component
}

// actionFailed reads {success:false, error} results of actions.
func actionFailed(result json.RawMessage) (string, bool) {
	var r struct {
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(result, &r) != nil || r.Success == nil || *r.Success {
		return "", false
	}
	r.Error = cmp.Or(r.Error, "The action failed.")
	return agent.Cap(r.Error, 2000), true
}

// subAgent is a plugin's sub-agent as a tool.
func (t *turn) subAgent(owner string, s plugin.SubAgent) agent.Tool {
	steps := cmp.Or(s.MaxSteps, subAgentSteps)
	changes := slices.ContainsFunc(s.Tools, func(tool plugin.Tool) bool { return !tool.ReadOnly })
	return agent.Tool{Plugin: owner, Tool: plugin.Tool{
		ReadOnly: !changes,
		Name:     "call_" + s.Name, Description: s.Description, Timeout: 5 * time.Minute,
		Schema: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"What the sub-agent should do, with everything it needs to know."}},"required":["task"]}`),
		Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
			var in struct{ Task string }
			if err := json.Unmarshal(args, &in); err != nil || in.Task == "" {
				return plugin.Result{}, plugin.Errorf(400, "task must be a text")
			}
			t.route(ctx, s.Name)
			defer t.route(ctx, "main")
			limits := t.deps.Config.Limits
			limits.MaxSteps = steps
			name := cmp.Or(s.Model, t.model.ID)
			tools := owned(owner, s.Tools)
			state, err := agent.Run(ctx, agent.Task{
				Model: t.plugins.wrapModel(t.callModel(owner)), Runtime: rt, Limits: limits, Log: t.log, Sink: quiet{},
				Request: plugin.ModelRequest{
					Model: name, System: s.Prompt + t.instructions(ctx), Purpose: purposeSubAgent,
					Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: in.Task}},
				},
				Tools: func() []agent.Tool { return tools }, CallTool: t.plugins.wrapTool, Untrusted: t.untrusted.Load(),
			})
			t.usage.add(state.Usage)
			if err != nil {
				return plugin.Result{}, err
			}
			return plugin.Result{Text: state.Text(), Untrusted: state.Untrusted()}, nil
		},
	}}
}

// quiet is the sink of sub-agents: nothing of theirs is shown.
type quiet struct{}

func (quiet) Chunk(plugin.Chunk)                            {}
func (quiet) ToolStarted(agent.Call)                        {}
func (quiet) ToolEnded(agent.Call)                          {}
func (quiet) Retract(string)                                {}
func (quiet) Save(context.Context, agent.State, bool) error { return nil }
