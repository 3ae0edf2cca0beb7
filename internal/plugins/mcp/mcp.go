// Package mcp connects the agent to MCP servers that the operator names, and to
// those that a user adds for themselves.
//
// It promises that a server sees the credential that was configured for it, or the
// token that the user got for it by OAuth, and never anything else of the user: no
// other token, no delegation. A user's servers serve that user alone; their tokens are
// sealed at rest, and their addresses, and those of who authorizes for them, must be
// public ones unless the operator allows others. An authorization is in force when the
// user who began it has said that it was them who finished it; it is renewed by one node
// at a time. Servers
// that the operator protects take a call only with the user's own single-use
// invocation. A bad list stops the start with a line that says what is wrong.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/plugins/mcp/oauth"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Config is filled from the environment.
type Config struct {
	Servers   []string      `env:"MCP_SERVERS" machine:"true" doc:"MCP servers whose tools the agent may load, as name=URL."`
	Bearers   string        `env:"MCP_BEARERS" secret:"true" doc:"The operator's credentials at these servers, as name=token separated by commas."`
	Protected []string      `env:"UCAN_PROTECTED_MCP_SERVERS" doc:"Names of the servers that need the user's own invocation for each call (mcpInvocations)."`
	Private   bool          `env:"MCP_PRIVATE" default:"false" machine:"true" doc:"Whether servers on loopback and private addresses are allowed."`
	Timeout   time.Duration `env:"MCP_TIMEOUT" default:"30s" doc:"How long one call may take."`

	Clients string `env:"MCP_OAUTH_CLIENTS" secret:"true" machine:"true" doc:"Clients that the operator registered by hand at authorization servers of MCP servers, separated by commas: the MCP server's origin, the issuer, the client id and, if there is one, the client secret, separated by spaces."`

	UserServers int  `env:"MCP_USER_SERVERS" default:"5" min:"0" max:"20" doc:"How many servers each user may add; 0 means none."`
	UserPrivate bool `env:"MCP_USER_PRIVATE" default:"false" machine:"true" doc:"Whether users' servers may be on loopback and private addresses, or without TLS (test networks)."`
}

// Plugin is the mcp plugin.
type Plugin struct {
	cfg     Config
	host    plugin.Host
	pages   Pages
	servers []plugin.MCPServer     // set by Start and never changed
	known   map[string]knownClient // by the origin of the MCP server; likewise
	public  *oauth.Client
	private *oauth.Client
}

// knownClient is a client that the operator registered at an issuer.
type knownClient struct{ issuer, id, secret string }

// New makes the plugin. Its settings are those of cfg until they are filled.
func New(cfg Config, pages Pages) *Plugin { return &Plugin{cfg: cfg, pages: pages} }

var (
	_ plugin.Configurer          = (*Plugin)(nil)
	_ plugin.AutoDetector        = (*Plugin)(nil)
	_ plugin.Starter             = (*Plugin)(nil)
	_ plugin.MCPProvider         = (*Plugin)(nil)
	_ plugin.RequestToolProvider = (*Plugin)(nil)
	_ plugin.NoteProvider        = (*Plugin)(nil)
	_ plugin.PublicRouteProvider = (*Plugin)(nil)
	_ pluginhttp.RouteProvider   = (*Plugin)(nil)
)

// Describe names the plugin. Its servers advertise themselves.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "mcp", Version: "1.0.0",
		Manifest: plugin.Manifest{Title: "MCP servers", Summary: "Tools of MCP servers that the operator or the user chose.", Visibility: plugin.Silent},
	}
}

// Config hands out the settings to fill.
func (p *Plugin) Config() any { return &p.cfg }

// AutoDetect is on when there is a server, or may be one.
func (p *Plugin) AutoDetect() (on bool, why string) {
	switch {
	case len(p.cfg.Servers) > 0:
		return true, "MCP_SERVERS names a server"
	case p.cfg.UserServers > 0:
		return true, "MCP_USER_SERVERS lets users add servers"
	}
	return false, "MCP_SERVERS names no server and MCP_USER_SERVERS is 0"
}

// Start reads the list of servers.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	var err error
	p.host = host
	if p.servers, err = parse(p.cfg); err != nil {
		return err
	}
	if p.known, err = parseClients(p.cfg.Clients); err != nil {
		return err
	}
	dial := host.DialPublic
	if dial == nil {
		dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("this host cannot tell which addresses are public")
		}
	}
	p.public, p.private = oauth.New(dial, false), oauth.New(nil, true)
	return nil
}

// client asks authorization servers of a server that may be private, or not.
func (p *Plugin) client(private bool) *oauth.Client {
	if private {
		return p.private
	}
	return p.public
}

// MCPServers are the operator's, and the user's own.
func (p *Plugin) MCPServers(ctx context.Context, rt *plugin.Runtime) ([]plugin.MCPServer, error) {
	shared, err := p.sharedServers(ctx, rt.User.DID)
	if err != nil {
		return nil, err
	}
	mine, err := p.ownServers(ctx, rt.User.DID)
	if err != nil {
		return nil, err
	}
	return append(shared, mine...), nil
}

// sharedServers are the operator's, with the user's access to those for which the
// operator has no credential. The list is a copy because callers may keep it.
func (p *Plugin) sharedServers(ctx context.Context, did string) ([]plugin.MCPServer, error) {
	out := slices.Clone(p.servers)
	for i := range out {
		if len(out[i].Headers) > 0 || did == "" {
			continue
		}
		var err error
		if out[i].Access, err = p.accessTo(ctx, did, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxServers bounds what every turn has to connect to.
const maxServers = 20

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

// parse reads the settings. Its errors name settings and servers, never
// credentials.
func parse(cfg Config) ([]plugin.MCPServer, error) {
	var out []plugin.MCPServer
	at := func(name string) int {
		return slices.IndexFunc(out, func(s plugin.MCPServer) bool { return s.Name == name })
	}
	for _, entry := range cfg.Servers {
		name, address, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok || !nameForm.MatchString(name) {
			return nil, fmt.Errorf("MCP_SERVERS: an entry is not name=URL with a name of a-z, 0-9 and -")
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
			return nil, fmt.Errorf("MCP_SERVERS: %s needs an http or https URL without a password", name)
		}
		if u.Scheme == "http" && !cfg.Private {
			return nil, fmt.Errorf("MCP_SERVERS: %s is not https, which is allowed only with MCP_PRIVATE=true", name)
		}
		if at(name) >= 0 {
			return nil, fmt.Errorf("MCP_SERVERS: two servers are called %s", name)
		}
		out = append(out, plugin.MCPServer{
			Name: name, URL: address, Visibility: plugin.OnDemand, Summary: "Tools of the MCP server " + name + " at " + u.Hostname() + ".",
			Timeout: cfg.Timeout, AllowPrivate: cfg.Private,
		})
	}
	if len(out) > maxServers {
		return nil, fmt.Errorf("MCP_SERVERS: %d servers, at most %d", len(out), maxServers)
	}
	for _, name := range cfg.Protected {
		i := at(strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("UCAN_PROTECTED_MCP_SERVERS: %q is not in MCP_SERVERS", name)
		}
		out[i].Protected = true
	}
	for entry := range strings.SplitSeq(cfg.Bearers, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, token, ok := strings.Cut(entry, "=")
		i := at(name)
		if !ok || i < 0 || token == "" || strings.ContainsAny(token, " \r\n\t") {
			return nil, fmt.Errorf("MCP_BEARERS: an entry is not name=token with a name of MCP_SERVERS")
		}
		out[i].Headers = map[string]string{"Authorization": "Bearer " + token}
	}
	return out, nil
}

// parseClients reads MCP_OAUTH_CLIENTS. Its errors name no secret.
func parseClients(text string) (map[string]knownClient, error) {
	out := map[string]knownClient{}
	for entry := range strings.SplitSeq(text, ",") {
		parts := strings.Fields(entry)
		if len(parts) == 0 {
			continue
		}
		if len(parts) < 3 || len(parts) > 4 {
			return nil, fmt.Errorf("MCP_OAUTH_CLIENTS: an entry is not an origin, an issuer, a client id and perhaps a secret")
		}
		for _, address := range parts[:2] {
			if u, err := url.Parse(address); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
				return nil, fmt.Errorf("MCP_OAUTH_CLIENTS: an entry does not begin with two addresses")
			}
		}
		c := knownClient{issuer: parts[1], id: parts[2]}
		if len(parts) == 4 {
			c.secret = parts[3]
		}
		out[originOf(parts[0])] = c
	}
	return out, nil
}
