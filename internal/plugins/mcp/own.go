package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Server is one of a user's own servers. Its token is never shown.
type Server struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Summary  string `json:"summary,omitempty"`
	HasToken bool   `json:"hasToken"`
	At       string `json:"at"`
}

// ServerList is the reply of GET /mcp-servers.
type ServerList struct {
	Servers []Server `json:"servers"`
}

// Addition is a server that a user adds.
type Addition struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Token is the user's credential at that server, sent as a bearer.
	Token   string `json:"token,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// Removed confirms.
type Removed struct {
	OK bool `json:"ok"`
}

// own is a user's server as it is kept, under s/user/name. The token is sealed
// for this user, name and address, so that it cannot be sent anywhere else.
type own struct {
	URL     string `json:"url"`
	Summary string `json:"summary,omitempty"`
	Token   []byte `json:"token,omitempty"`
	At      string `json:"at"`
}

func ownKey(did, name string) string { return "s/" + plugin.UserKey(did) + "/" + name }

func binding(did, name, address string) string { return did + " " + name + " " + address }

// Bounds of what users add.
const (
	maxURL     = 2048
	maxToken   = 8 << 10
	maxSummary = 300
)

// check says what is wrong with an addition.
func (p *Plugin) check(a Addition) error {
	bad := func(format string, args ...any) error { return plugin.Errorf(http.StatusBadRequest, format, args...) }
	if !nameForm.MatchString(a.Name) {
		return bad("name must be 1 to 31 of a-z, 0-9 and -, and not begin with -")
	}
	for _, s := range p.servers {
		if s.Name == a.Name {
			return plugin.Errorf(http.StatusConflict, "the operator has a server of this name")
		}
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(a.URL) > maxURL || u.Scheme != "https" &&
		(u.Scheme != "http" || !p.cfg.UserPrivate) {
		return bad("url must be an https address without a password")
	}
	if at, err := netip.ParseAddr(u.Hostname()); !p.cfg.UserPrivate &&
		(strings.EqualFold(u.Hostname(), "localhost") || err == nil && (!at.IsGlobalUnicast() || at.IsPrivate())) {
		return bad("url must not be a private address")
	}
	if len(a.Token) > maxToken || strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad("token must be at most %d printable ASCII characters without spaces", maxToken)
	}
	if len(a.Summary) > maxSummary || strings.ContainsAny(a.Summary, "\r\n") {
		return bad("summary must be one line of at most %d bytes", maxSummary)
	}
	return nil
}

// Routes are /mcp-servers.
func (p *Plugin) Routes() []pluginhttp.Route {
	if p.cfg.UserServers <= 0 {
		return nil
	}
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/mcp-servers", Summary: "Your own MCP servers", Doc: "Tokens are not shown.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: ServerList{}}}, Handler: p.list,
		},
		{
			Method: http.MethodPost, Pattern: "/mcp-servers", Summary: "Add an MCP server", Body: Addition{}, MaxBody: 32 << 10,
			Doc: "The agent may then load its tools in your turns, and in nobody else's. One of the same name is replaced.",
			Replies: []pluginhttp.Reply{
				{Status: http.StatusCreated, Body: Server{}},
				{Status: http.StatusBadRequest, Doc: "What is wrong with it."},
				{Status: http.StatusConflict, Doc: "The operator has a server of this name, or you have too many."},
			},
			Handler: p.add,
		},
		{
			Method: http.MethodDelete, Pattern: "/mcp-servers/{name}", Summary: "Remove an MCP server",
			Params:  []pluginhttp.Param{{Name: "name", In: "path", Required: true, Schema: ""}},
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Removed{}}, {Status: http.StatusNotFound, Doc: "You have none of this name."}},
			Handler: p.remove,
		},
	}
}

// mine reads a user's servers, in the order of their names.
func (p *Plugin) mine(ctx context.Context, did string) ([]string, []own, error) {
	found, err := p.host.Store.Scan(ctx, plugin.Range{Prefix: ownKey(did, ""), Limit: maxServers})
	if err != nil {
		return nil, nil, err
	}
	names, list := make([]string, len(found)), make([]own, len(found))
	for i, e := range found {
		names[i] = strings.TrimPrefix(e.Key, ownKey(did, ""))
		if err := json.Unmarshal(e.Value, &list[i]); err != nil {
			return nil, nil, fmt.Errorf("decode server: %w", err)
		}
	}
	return names, list, nil
}

func (o own) shown(name string) Server {
	return Server{Name: name, URL: o.URL, Summary: o.Summary, HasToken: len(o.Token) > 0, At: o.At}
}

func (p *Plugin) list(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	names, list, err := p.mine(r.Context(), rt.User.DID)
	if err != nil {
		return err
	}
	out := ServerList{Servers: make([]Server, len(list))}
	for i, o := range list {
		out.Servers[i] = o.shown(names[i])
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) add(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	var in Addition
	if err := pluginhttp.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := p.check(in); err != nil {
		return err
	}
	did := rt.User.DID
	o := own{URL: in.URL, Summary: in.Summary}
	if in.Token != "" {
		var err error
		if o.Token, err = p.host.Seal([]byte(in.Token), binding(did, in.Name, in.URL)); err != nil {
			return fmt.Errorf("seal token: %w", err)
		}
	}
	err := p.host.Store.Update(r.Context(), func(ctx context.Context, tx plugin.Tx) error {
		all, err := tx.Scan(ctx, plugin.Range{Prefix: ownKey(did, ""), Limit: maxServers + 1})
		if err != nil {
			return err
		}
		_, replaced, err := tx.Get(ctx, ownKey(did, in.Name))
		if err != nil {
			return err
		}
		if !replaced && len(all) >= p.cfg.UserServers {
			return plugin.Errorf(http.StatusConflict, "you have %d servers already; remove one first", len(all))
		}
		o.At = tx.Now().UTC().Format(time.RFC3339)
		value, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return tx.Put(ctx, ownKey(did, in.Name), value, 0)
	})
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusCreated, o.shown(in.Name))
}

func (p *Plugin) remove(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	found := false
	if name := r.PathValue("name"); nameForm.MatchString(name) {
		err := p.host.Store.Update(r.Context(), func(ctx context.Context, tx plugin.Tx) (err error) {
			if _, found, err = tx.Get(ctx, ownKey(rt.User.DID, name)); err != nil || !found {
				return err
			}
			return tx.Delete(ctx, ownKey(rt.User.DID, name))
		})
		if err != nil {
			return err
		}
	}
	if !found {
		return plugin.Errorf(http.StatusNotFound, "You have no server of this name")
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, Removed{true})
}

// ownServers are what the agent may use in this user's turns. A name that the
// operator took in the meantime is the operator's.
func (p *Plugin) ownServers(ctx context.Context, did string) ([]plugin.MCPServer, error) {
	if did == "" || p.cfg.UserServers <= 0 {
		return nil, nil
	}
	names, list, err := p.mine(ctx, did)
	if err != nil {
		return nil, err
	}
	var out []plugin.MCPServer
	for i, o := range list {
		s := plugin.MCPServer{
			Name: names[i], URL: o.URL, Visibility: plugin.OnDemand, Timeout: p.cfg.Timeout, AllowPrivate: p.cfg.UserPrivate,
			Summary: "Tools of the user's own MCP server " + names[i] + ".",
		}
		if o.Summary != "" {
			s.Summary += " The user says of it: " + o.Summary
		}
		if p.check(Addition{Name: s.Name, URL: s.URL}) != nil {
			continue
		}
		if len(o.Token) > 0 {
			token, err := p.host.Unseal(o.Token, binding(did, s.Name, s.URL))
			if err != nil {
				p.host.Log.Warn("a user's MCP token cannot be read; its server is left out", slog.String("event", "mcp.token_unreadable"), slog.String("server", s.Name), slog.Any("error", err))
				continue
			}
			s.Headers = map[string]string{"Authorization": "Bearer " + string(token)}
		}
		out = append(out, s)
	}
	return out, nil
}
