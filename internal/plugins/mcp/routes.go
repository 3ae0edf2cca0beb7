package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// State is whether a server can be used.
type State string

// The states of a server.
const (
	Ready     State = "ready"
	WantsUser State = "authorization" // POST /mcp-servers/{name}/authorize has a link
	Failing   State = "failing"
)

// Server is an MCP server as its user sees it. Its token is never shown.
type Server struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Summary  string `json:"summary,omitempty"`
	HasToken bool   `json:"hasToken"`
	At       string `json:"at,omitempty"`
	State    State  `json:"state"`
	// Error says why a failing server cannot be used.
	Error string           `json:"error,omitempty"`
	Tools []plugin.MCPTool `json:"tools"`
	// Issuer is who authorized us, and AuthorizedAt when, if somebody did.
	Issuer       string `json:"issuer,omitempty"`
	AuthorizedAt string `json:"authorizedAt,omitempty"`
	// Authorization is a link to open; the answer to an addition has it.
	Authorization *Authorization `json:"authorization,omitempty"`
}

// ServerList is the reply of GET /mcp-servers.
type ServerList struct {
	Servers []Server `json:"servers"`
	// Shared are the operator's.
	Shared []Server `json:"shared"`
}

// Confirmation has the code that the page showed after an authorization.
type Confirmation struct {
	Code string `json:"code"`
}

// Removed confirms.
type Removed struct {
	OK bool `json:"ok"`
	// Revoked says that the authorization server took tokens back.
	Revoked bool `json:"revoked,omitempty"`
}

// Routes are /mcp-servers.
func (p *Plugin) Routes() []pluginhttp.Route {
	name := []pluginhttp.Param{{Name: "name", In: "path", Required: true, Schema: ""}}
	issuer := []pluginhttp.Param{{Name: "issuer", In: "path", Required: true, Schema: ""}}
	none := pluginhttp.Reply{Status: http.StatusNotFound, Doc: "You have none of this name."}
	page := func(status int, doc string) pluginhttp.Reply { return pluginhttp.Reply{Status: status, Doc: doc} }
	routes := []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: "/mcp-servers", Summary: "MCP servers",
			Doc:     "Your own, and the operator's: whether they can be used now, and with which tools. Tokens are not shown.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: ServerList{}}}, Handler: p.list,
		},
		{
			Method: http.MethodPost, Pattern: "/mcp-servers/{name}/authorize", Summary: "Get a link to authorize at an MCP server", Params: name,
			Doc: "Open the link in a browser within ten minutes. The page that comes at the end shows a code for POST /mcp-servers/{name}/confirm.",
			Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Authorization{}},
				none,
				{Status: http.StatusConflict, Doc: "It needs no authorization, does not say how to get one, or nobody knows the address of this deployment."},
				{Status: http.StatusServiceUnavailable, Doc: "The server cannot be asked now."},
			},
			InPerson: true, Handler: p.authorize,
		},
		{
			Method: http.MethodPost, Pattern: "/mcp-servers/{name}/confirm", Summary: "Say that it was you who authorized", Params: name,
			Body: Confirmation{}, MaxBody: 4 << 10,
			Doc: "Puts an authorization into force. Without this, whoever makes you open a link would get what you authorize there.",
			Replies: []pluginhttp.Reply{
				{Status: http.StatusOK, Body: Server{}}, {Status: http.StatusForbidden, Doc: "It is not the code of the page."}, none,
			},
			InPerson: true, Handler: p.confirmed,
		},
		{
			Method: http.MethodDelete, Pattern: "/mcp-servers/{name}/authorization", Summary: "Forget an authorization at an MCP server", Params: name,
			Doc: "Its tokens are deleted, and revoked where the authorization server offers that.", Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: Removed{}}, none},
			InPerson: true, Handler: p.signOut,
		},
		{
			Method: http.MethodGet, Pattern: linkPath + "{state}", Summary: "Go to an authorization server", Page: true,
			Params:  []pluginhttp.Param{{Name: "state", In: "path", Required: true, Schema: ""}},
			Replies: []pluginhttp.Reply{page(http.StatusSeeOther, "To the authorization server."), page(http.StatusGone, "The link is over.")}, Handler: p.follow,
		},
		{
			Method: http.MethodGet, Pattern: callbackPath, Summary: "Come back from an authorization server", Page: true,
			Doc:     "A page for people, with the code to confirm.",
			Replies: []pluginhttp.Reply{page(http.StatusOK, "A page."), page(http.StatusGone, "The link is over.")}, Handler: p.callback,
		},
		{
			Method: http.MethodGet, Pattern: issuersCallback + "{issuer}", Summary: "Come back from one authorization server", Page: true,
			Params:  issuer,
			Doc:     "A page for people, with the code to confirm. Each authorization server has one of its own.",
			Replies: []pluginhttp.Reply{page(http.StatusOK, "A page."), page(http.StatusGone, "The link is over.")}, Handler: p.callback,
		},
		{
			Method: http.MethodGet, Pattern: issuersDocument + "{issuer}", Summary: "What this oracle is to one authorization server", Page: true,
			Params:  issuer,
			Doc:     "A client id metadata document.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: document{}}}, Handler: p.document,
		},
		{
			Method: http.MethodGet, Pattern: documentPath, Summary: "What this oracle is to authorization servers", Page: true,
			Doc:     "A client id metadata document.",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Body: document{}}}, Handler: p.document,
		},
	}
	if p.cfg.UserServers <= 0 {
		return routes
	}
	return append(routes,
		pluginhttp.Route{
			Method: http.MethodPost, Pattern: "/mcp-servers", Summary: "Add an MCP server", Body: Addition{}, MaxBody: 32 << 10,
			Doc: "The agent may then load its tools in your turns, and in nobody else's. One of the same name is replaced. A server that wants an authorization comes with a link to open.",
			Replies: []pluginhttp.Reply{
				{Status: http.StatusCreated, Body: Server{}},
				{Status: http.StatusBadRequest, Doc: "What is wrong with it."},
				{Status: http.StatusConflict, Doc: "The operator has a server of this name, or you have too many."},
			},
			InPerson: true, Handler: p.add,
		},
		pluginhttp.Route{
			Method: http.MethodDelete, Pattern: "/mcp-servers/{name}", Summary: "Remove an MCP server", Params: name,
			Doc:      "Its tokens are deleted, and revoked where the authorization server offers that.",
			Replies:  []pluginhttp.Reply{{Status: http.StatusOK, Body: Removed{}}, none},
			InPerson: true, Handler: p.remove,
		})
}

// PublicRoutes are for browsers that come from an authorization server, and for
// authorization servers: a state is the secret of the link and of the answers.
func (*Plugin) PublicRoutes() []plugin.RoutePattern {
	return []plugin.RoutePattern{
		{Method: http.MethodGet, Path: linkPath + "{state}"},
		{Method: http.MethodGet, Path: callbackPath},
		{Method: http.MethodGet, Path: documentPath},
		{Method: http.MethodGet, Path: issuersCallback + "{issuer}"},
		{Method: http.MethodGet, Path: issuersDocument + "{issuer}"},
	}
}

// find is one of the servers that a user may use.
func (p *Plugin) find(ctx context.Context, did, name string) (plugin.MCPServer, error) {
	all, err := p.MCPServers(ctx, &plugin.Runtime{User: plugin.User{DID: did}})
	if err != nil {
		return plugin.MCPServer{}, err
	}
	i := slices.IndexFunc(all, func(s plugin.MCPServer) bool { return s.Name == name })
	if i < 0 {
		return plugin.MCPServer{}, plugin.Errorf(http.StatusNotFound, "You have no server of this name")
	}
	return all[i], nil
}

// look asks a server whether it can be used, and fills in what it says.
func (p *Plugin) look(ctx context.Context, did string, s plugin.MCPServer, out Server) (Server, error) {
	tools, err := p.host.MCPTools(ctx, s)
	out.State, out.Tools = Ready, append([]plugin.MCPTool{}, tools...)
	if _, refused := errors.AsType[*plugin.MCPRefusedError](err); refused && s.Access != nil {
		out.State = WantsUser
	} else if refused {
		out.State, out.Error = Failing, "It does not take the token that it was given."
	} else if err != nil {
		out.State, out.Error = Failing, "It cannot be used."
		if e, ok := errors.AsType[*plugin.Error](err); ok {
			out.Error = e.Message
		}
	}
	if s.Access == nil {
		return out, nil
	}
	g, ok, err := loadGrant(ctx, p.host.Store, did, s.Name, s.URL)
	if ok {
		out.Issuer, out.AuthorizedAt = g.Issuer, g.At
	}
	return out, err
}

func (p *Plugin) list(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	ctx, did := r.Context(), rt.User.DID
	all, err := p.MCPServers(ctx, rt)
	if err != nil {
		return err
	}
	names, kept, err := p.mine(ctx, did)
	if err != nil {
		return err
	}
	own := make([]Server, len(kept))
	shared := make([]Server, len(p.servers))
	errs := make([]error, len(own)+len(shared))
	var looks sync.WaitGroup
	see := func(into *Server, err *error, s plugin.MCPServer) {
		looks.Go(func() { *into, *err = p.look(ctx, did, s, *into) })
	}
	for i, s := range p.servers {
		shared[i] = Server{Name: s.Name, URL: originOf(s.URL), HasToken: len(s.Headers) > 0}
		see(&shared[i], &errs[i], all[i])
	}
	for i, o := range kept {
		own[i] = o.shown(names[i])
		at := slices.IndexFunc(all[len(shared):], func(s plugin.MCPServer) bool { return s.Name == names[i] })
		if at < 0 || p.cfg.UserServers <= 0 {
			own[i].State, own[i].Error, own[i].Tools = Failing, "It is not used any more: its name or its address is not allowed now.", []plugin.MCPTool{}
			continue
		}
		see(&own[i], &errs[len(shared)+i], all[len(shared)+at])
	}
	looks.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, ServerList{Servers: own, Shared: shared})
}

func (o own) shown(name string) Server {
	return Server{Name: name, URL: o.URL, Summary: o.Summary, HasToken: len(o.Token) > 0, At: o.At}
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
	o, old, err := p.keep(r.Context(), did, in)
	if err != nil {
		return err
	}
	p.revoke(r.Context(), did, in.Name, p.cfg.UserPrivate, old)
	s, err := p.find(r.Context(), did, in.Name)
	if err != nil {
		return err
	}
	out, err := p.look(r.Context(), did, s, o.shown(in.Name))
	if err != nil {
		return err
	}
	if out.State == WantsUser {
		link, err := p.begin(r.Context(), did, pluginhttp.BaseURL(r), s)
		if e, ok := errors.AsType[*plugin.Error](err); ok {
			out.Error = e.Message
		} else if err != nil {
			return err
		} else {
			out.Authorization = &link
		}
	}
	return pluginhttp.WriteJSON(w, http.StatusCreated, out)
}

func (p *Plugin) remove(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	name := r.PathValue("name")
	found, old, err := p.discard(r.Context(), rt.User.DID, name)
	if err != nil {
		return err
	}
	if !found {
		return plugin.Errorf(http.StatusNotFound, "You have no server of this name")
	}
	revoked := p.revoke(r.Context(), rt.User.DID, name, p.cfg.UserPrivate, old)
	return pluginhttp.WriteJSON(w, http.StatusOK, Removed{OK: true, Revoked: revoked})
}

func (p *Plugin) authorize(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	s, err := p.find(r.Context(), rt.User.DID, r.PathValue("name"))
	if err != nil {
		return err
	}
	link, err := p.begin(r.Context(), rt.User.DID, pluginhttp.BaseURL(r), s)
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, link)
}

func (p *Plugin) confirmed(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	var in Confirmation
	if err := pluginhttp.ReadJSON(r, &in); err != nil {
		return err
	}
	did := rt.User.DID
	s, err := p.find(r.Context(), did, r.PathValue("name"))
	if err != nil {
		return err
	}
	if err := p.confirm(r.Context(), did, s, in.Code); err != nil {
		return err
	}
	if s, err = p.find(r.Context(), did, s.Name); err != nil { // with the access that it has now
		return err
	}
	out, err := p.look(r.Context(), did, s, Server{Name: s.Name, URL: originOf(s.URL)})
	if err != nil {
		return err
	}
	return pluginhttp.WriteJSON(w, http.StatusOK, out)
}

func (p *Plugin) signOut(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
	did := rt.User.DID
	s, err := p.find(r.Context(), did, r.PathValue("name"))
	if err != nil {
		return err
	}
	var old grant
	if err := p.host.Store.Update(r.Context(), func(ctx context.Context, tx plugin.Tx) (err error) {
		old, err = forget(ctx, tx, did, s.Name)
		return err
	}); err != nil {
		return err
	}
	revoked := p.revoke(r.Context(), did, s.Name, s.AllowPrivate, old)
	return pluginhttp.WriteJSON(w, http.StatusOK, Removed{OK: true, Revoked: revoked})
}

// follow leads a browser to the authorization server. The link is short so that a
// model can repeat it.
func (p *Plugin) follow(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
	f, err := p.peek(r.Context(), r.PathValue("state"))
	if err != nil {
		return p.showError(w, r, err)
	}
	private(w.Header())
	w.Header().Set("Location", f.Link)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// callback is where the authorization server leads a browser.
func (p *Plugin) callback(w http.ResponseWriter, r *http.Request, _ *plugin.Runtime) error {
	q := r.URL.Query()
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(q[name]) > 1 {
			return p.showError(w, r, said("mcp.twice", plugin.Errorf(http.StatusBadRequest, "The answer of the authorization server says something twice.")))
		}
	}
	f, code, err := p.finish(r.Context(), r.URL.Path, q)
	if err != nil {
		return p.showError(w, r, err)
	}
	in := p.pages(w, r)
	host := strings.TrimPrefix(strings.TrimPrefix(originOf(f.URL), "https://"), "http://")
	return show(w, http.StatusOK, pageText{
		Voice: in, Title: in.Say("mcp.oneMore", nil),
		Text: in.Say("mcp.giveCode", map[string]any{"oracle": p.host.OracleName, "server": f.Name, "host": host}),
		Code: code[:codeChars/2] + "-" + code[codeChars/2:], After: in.Say("mcp.enter", nil),
	})
}

// showError is an error as a page. What went wrong is logged here, without what
// the browser brought.
func (p *Plugin) showError(w http.ResponseWriter, r *http.Request, err error) error {
	e, ok := errors.AsType[*plugin.Error](err)
	if !ok {
		return err
	}
	if e.Cause != nil {
		p.host.Log.Info("an authorization at an MCP server did not succeed", slog.String("event", "mcp.authorization_failed"), slog.Any("error", e.Cause))
	}
	in := p.pages(w, r)
	text := pageText{Voice: in, Title: in.Say("mcp.denied", nil), Text: e.Message, Problem: true}
	if s, ok := errors.AsType[*saidError](err); ok {
		text.Text = in.Say(s.key, nil)
	}
	return show(w, e.Status, text)
}
