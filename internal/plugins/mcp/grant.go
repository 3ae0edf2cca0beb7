package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/plugins/mcp/oauth"
	"github.com/castalia-org/castalia/plugin"
)

// grant is a user's authorization at a server, under g/user/name. Whoever renews it
// claims it first: a refresh token that was used is worth nothing, and using it
// twice may cost the whole authorization.
type grant struct {
	URL string `json:"url"`
	// Holder is new with each authorization.
	Holder string `json:"holder"`
	// Sealed are the secrets, for this user, name and address.
	Sealed []byte `json:"sealed"`
	// RenewAt and Ends are when the access token should be renewed, and when it
	// ends, in milliseconds; zero never.
	RenewAt   int64 `json:"renewAt,omitempty"`
	Ends      int64 `json:"ends,omitempty"`
	Renewable bool  `json:"renewable,omitempty"`
	// Claim is who renews it, until when in milliseconds by the store's clock.
	Claim      string `json:"claim,omitempty"`
	ClaimUntil int64  `json:"claimUntil,omitempty"`
	Issuer     string `json:"issuer"`
	At         string `json:"at"`
}

// secrets is what is sealed of a grant.
type secrets struct {
	Grant  oauth.Grant  `json:"grant"`
	Tokens oauth.Tokens `json:"tokens"`
}

func grantKey(did, name string) string { return "g/" + plugin.UserKey(did) + "/" + name }

// wantKey is where it is kept that a server wants this user's authorization.
func wantKey(did, name string) string { return "w/" + plugin.UserKey(did) + "/" + name }

func grantBinding(did, name, address string) string { return "grant " + binding(did, name, address) }

// How renewing goes. A claim outlasts the request that it is for, so that nobody
// else begins while that may still succeed.
const (
	renewTime  = 15 * time.Second
	claimTime  = 30 * time.Second
	early      = time.Minute
	lookAgain  = 100 * time.Millisecond
	wantedTime = 24 * time.Hour
)

// fill takes in tokens that were issued at a time.
func (p *Plugin) fill(g *grant, did, name string, s secrets, now time.Time) error {
	plain, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode tokens: %w", err)
	}
	if g.Sealed, err = p.host.Seal(plain, grantBinding(did, name, g.URL)); err != nil {
		return fmt.Errorf("seal tokens: %w", err)
	}
	g.Renewable, g.RenewAt, g.Ends, g.Issuer = s.Tokens.Refresh != "", 0, 0, s.Grant.Issuer
	if life := s.Tokens.Lifetime; life > 0 {
		g.RenewAt, g.Ends = now.Add(max(life-early, life/2)).UnixMilli(), now.Add(life).UnixMilli()
	}
	return nil
}

func (p *Plugin) open(g grant, did, name string) (secrets, error) {
	var s secrets
	plain, err := p.host.Unseal(g.Sealed, grantBinding(did, name, g.URL))
	if err != nil {
		return s, fmt.Errorf("unseal tokens: %w", err)
	}
	if err := json.Unmarshal(plain, &s); err != nil {
		return s, fmt.Errorf("decode tokens: %w", err)
	}
	return s, nil
}

// getter is a store, or a transaction.
type getter interface {
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
}

// loadGrant reads the authorization for an address; ok is false when there is none.
func loadGrant(ctx context.Context, from getter, did, name, address string) (g grant, ok bool, err error) {
	value, ok, err := from.Get(ctx, grantKey(did, name))
	if err != nil || !ok {
		return grant{}, false, err
	}
	if err := json.Unmarshal(value, &g); err != nil {
		return grant{}, false, fmt.Errorf("decode grant: %w", err)
	}
	return g, g.URL == address, nil
}

func putJSON(ctx context.Context, tx plugin.Tx, key string, v any, ttl time.Duration) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(ctx, key, value, ttl)
}

// access is plugin.MCPAccess of one user and one server.
type access struct {
	p                  *Plugin
	did, name, address string
	private            bool
	holder             string
}

var _ plugin.MCPAccess = (*access)(nil)

// accessTo makes the user's access to a server.
func (p *Plugin) accessTo(ctx context.Context, did string, s plugin.MCPServer) (plugin.MCPAccess, error) {
	a := &access{p: p, did: did, name: s.Name, address: s.URL, private: s.AllowPrivate}
	g, ok, err := loadGrant(ctx, p.host.Store, did, s.Name, s.URL)
	if err != nil {
		return nil, err
	}
	if ok {
		a.holder = g.Holder
	}
	return a, nil
}

// Holder names the authorization with which the access was made.
func (a *access) Holder() string { return a.holder }

// Token is the access token that is in force, renewed when it is about to end.
func (a *access) Token(ctx context.Context) (string, error) { return a.token(ctx, "") }

// want is what a server wants of the user, under w/user/name.
type want struct {
	// Scope is what it asked for beyond what the token had.
	Scope string `json:"scope,omitempty"`
}

// Refused looks for a better token than the one that was refused, and remembers
// that there is none. One whose scope is too small is not renewed: the next would
// have the same.
func (a *access) Refused(ctx context.Context, token string, challenges []string) (bool, error) {
	more, lacks := oauth.LacksScope(challenges)
	if token != "" && !lacks {
		better, err := a.token(ctx, token)
		if err != nil || better != "" {
			return better != "", err
		}
	}
	_, known, err := a.p.host.Store.Get(ctx, wantKey(a.did, a.name))
	if err != nil || known && !lacks {
		return false, err
	}
	return false, a.p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return putJSON(ctx, tx, wantKey(a.did, a.name), want{Scope: more}, wantedTime)
	})
}

// token returns a token that is not the refused one; empty when the user has to
// authorize first. It renews at most once, whatever the authorization server gives.
func (a *access) token(ctx context.Context, refused string) (string, error) {
	for renewed := false; ; {
		g, ok, err := loadGrant(ctx, a.p.host.Store, a.did, a.name, a.address)
		if err != nil || !ok {
			return "", err
		}
		s, err := a.p.open(g, a.did, a.name)
		if err != nil {
			a.p.host.Log.Warn("a user's tokens for an MCP server cannot be read; they are asked for again", slog.String("event", "mcp.grant_unreadable"), slog.String("server", a.name), slog.Any("error", err))
			return "", a.drop(ctx, g)
		}
		now := time.Now().UnixMilli()
		if s.Tokens.Access != refused && (g.RenewAt == 0 || now < g.RenewAt) {
			return s.Tokens.Access, nil
		}
		if renewed {
			return unless(s.Tokens.Access, refused), nil
		}
		good := s.Tokens.Access != refused && now < g.Ends
		if !g.Renewable {
			if good {
				return s.Tokens.Access, nil
			}
			return "", a.drop(ctx, g)
		}
		id, err := a.claim(ctx, g)
		if err != nil {
			return "", err
		}
		if id != "" {
			// Whatever becomes of this request: a refresh token that was used must be replaced.
			if err := a.renew(context.WithoutCancel(ctx), id, s); err != nil && !good {
				return "", err
			} else if err != nil {
				return s.Tokens.Access, nil //nolint:nilerr // the old one is still good; the next request tries again
			}
			renewed = true
			continue
		}
		if good {
			return s.Tokens.Access, nil // somebody else renews it
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func unless(token, refused string) string {
	if token == refused {
		return ""
	}
	return token
}

// claim makes this the one that renews the grant, unless somebody else does, or
// has. It returns the name of the claim, or nothing.
func (a *access) claim(ctx context.Context, seen grant) (id string, err error) {
	mine := rand.Text()
	err = a.p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		id = ""
		g, ok, err := loadGrant(ctx, tx, a.did, a.name, a.address)
		if err != nil || !ok || string(g.Sealed) != string(seen.Sealed) || tx.Now().UnixMilli() < g.ClaimUntil {
			return err
		}
		id, g.Claim, g.ClaimUntil = mine, mine, tx.Now().Add(claimTime).UnixMilli()
		return putJSON(ctx, tx, grantKey(a.did, a.name), g, 0)
	})
	return id, err
}

// renew asks for new tokens under a claim.
func (a *access) renew(ctx context.Context, id string, s secrets) error {
	asked, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	got, failed := a.p.client(a.private).Renew(asked, s.Grant, s.Tokens.Refresh)
	if failed == nil {
		if got.Refresh == "" {
			got.Refresh = s.Tokens.Refresh // the old one stays in force
		}
		s.Tokens = got
	}
	err := a.p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		g, ok, err := loadGrant(ctx, tx, a.did, a.name, a.address)
		if err != nil || !ok || g.Claim != id {
			return err // too late: whoever has the claim now decides
		}
		g.Claim, g.ClaimUntil = "", 0
		switch {
		case oauth.Final(failed):
			if err := tx.Delete(ctx, grantKey(a.did, a.name)); err != nil {
				return err
			}
			if oauth.Forgotten(failed) {
				if err := tx.Put(ctx, forgottenKey(s.Grant.Issuer, s.Grant.Client.ID), []byte{}, clientTime); err != nil {
					return err
				}
			}
			return putJSON(ctx, tx, wantKey(a.did, a.name), want{}, wantedTime)
		case failed == nil:
			if err := a.p.fill(&g, a.did, a.name, s, tx.Now()); err != nil {
				return err
			}
		}
		return putJSON(ctx, tx, grantKey(a.did, a.name), g, 0)
	})
	if err != nil {
		return fmt.Errorf("keep renewed tokens: %w", err)
	}
	if failed == nil || oauth.Final(failed) {
		return nil
	}
	return &plugin.Error{
		Status: http.StatusBadGateway, Message: "The authorization at the MCP server " + a.name + " cannot be renewed now.",
		Cause: failed,
	}
}

// drop forgets an authorization that is of no use, unless there is another by now.
func (a *access) drop(ctx context.Context, seen grant) error {
	return a.p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		g, ok, err := loadGrant(ctx, tx, a.did, a.name, a.address)
		if err != nil || !ok || g.Holder != seen.Holder || string(g.Sealed) != string(seen.Sealed) {
			return err
		}
		return tx.Delete(ctx, grantKey(a.did, a.name))
	})
}

// forget takes away all that is kept of a user's authorization at a server, and
// returns what was in force; nothing is sealed in it when nothing was.
func forget(ctx context.Context, tx plugin.Tx, did, name string) (grant, error) {
	var g grant
	value, ok, err := tx.Get(ctx, grantKey(did, name))
	if err != nil {
		return g, err
	}
	for _, key := range []string{grantKey(did, name), answeredKey(did, name), wantKey(did, name)} {
		if err := tx.Delete(ctx, key); err != nil {
			return g, err
		}
	}
	if !ok {
		return g, nil
	}
	if err := json.Unmarshal(value, &g); err != nil {
		return g, fmt.Errorf("decode grant: %w", err)
	}
	return g, nil
}

// revoke gives tokens back that were forgotten here, where the authorization
// server takes them (RFC 7009), and reports whether it did.
func (p *Plugin) revoke(ctx context.Context, did, name string, private bool, g grant) bool {
	if len(g.Sealed) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
	defer cancel()
	return p.giveBack(ctx, did, name, private, g) == nil
}
