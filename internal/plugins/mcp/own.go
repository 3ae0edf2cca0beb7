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
)

// Addition is a server that a user adds.
type Addition struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Token is the user's credential at that server, sent as a bearer.
	Token   string `json:"token,omitempty"`
	Summary string `json:"summary,omitempty"`
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

// keep stores an addition. What the user had authorized at another address of that
// name is returned, and is forgotten here.
func (p *Plugin) keep(ctx context.Context, did string, in Addition) (o own, old grant, err error) {
	o = own{URL: in.URL, Summary: in.Summary}
	if in.Token != "" {
		if o.Token, err = p.host.Seal([]byte(in.Token), binding(did, in.Name, in.URL)); err != nil {
			return o, old, fmt.Errorf("seal token: %w", err)
		}
	}
	err = p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		old = grant{}
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
		if _, same, err := loadGrant(ctx, tx, did, in.Name, in.URL); err != nil {
			return err
		} else if !same || in.Token != "" {
			if old, err = forget(ctx, tx, did, in.Name); err != nil {
				return err
			}
		}
		o.At = tx.Now().UTC().Format(time.RFC3339)
		return putJSON(ctx, tx, ownKey(did, in.Name), o, 0)
	})
	return o, old, err
}

// discard removes a server of a user, and what was authorized there.
func (p *Plugin) discard(ctx context.Context, did, name string) (found bool, old grant, err error) {
	if !nameForm.MatchString(name) {
		return false, old, nil
	}
	err = p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) (err error) {
		if _, found, err = tx.Get(ctx, ownKey(did, name)); err != nil || !found {
			return err
		}
		if old, err = forget(ctx, tx, did, name); err != nil {
			return err
		}
		return tx.Delete(ctx, ownKey(did, name))
	})
	return found, old, err
}

// ForgetUser implements plugin.Forgetter: the servers that a user added, with what was
// authorized there, and what they authorized at the operator's. ReturnUser gave it back.
func (p *Plugin) ForgetUser(ctx context.Context, did string) (int, error) {
	names, _, err := p.mine(ctx, did)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if _, _, err := p.discard(ctx, did, name); err != nil {
			return 0, err
		}
	}
	// What is left was authorized at servers of the operator.
	return len(names), p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		for _, prefix := range []string{grantKey(did, ""), wantKey(did, ""), answeredKey(did, "")} {
			left, err := tx.Scan(ctx, plugin.Range{Prefix: prefix, Limit: forgotten})
			if err != nil {
				return err
			}
			for _, e := range left {
				if err := tx.Delete(ctx, e.Key); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// forgotten bounds what somebody can have authorized: there are fewer servers.
const forgotten = 1000

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
		} else if s.Access, err = p.accessTo(ctx, did, s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
