package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

var _ plugin.Returner = (*Plugin)(nil)

const (
	// returnTime bounds how long all of a user's tokens are given back together, and
	// returnsAtOnce to how many authorization servers.
	returnTime    = 5 * time.Second
	returnsAtOnce = 8
)

// Why tokens were not given back.
var (
	errNoRevocation = errors.New("its authorization server takes no tokens back")
	errUnreadable   = errors.New("the tokens cannot be read any more")
)

// giveBack revokes the tokens of a grant (RFC 7009).
func (p *Plugin) giveBack(ctx context.Context, did, name string, private bool, g grant) error {
	s, err := p.open(g, did, name)
	if err != nil {
		return errUnreadable
	}
	if s.Grant.Revoke == "" {
		return errNoRevocation
	}
	err = errors.Join(
		p.client(private).Revoke(ctx, s.Grant, s.Tokens.Refresh, "refresh_token"),
		p.client(private).Revoke(ctx, s.Grant, s.Tokens.Access, "access_token"),
	)
	if err != nil {
		p.host.Log.Info("tokens for an MCP server were forgotten, but not revoked", slog.String("event", "mcp.revoke_failed"), slog.String("server", name), slog.Any("error", err))
	}
	return err
}

// given is a grant with the name of its server.
type given struct {
	name string
	grant
}

// ReturnUser implements plugin.Returner: it revokes what the user authorized, at their own
// servers and at the operator's. What is not revoked ends when the authorization server says.
func (p *Plugin) ReturnUser(ctx context.Context, did string) ([]string, error) {
	all, err := p.givenBy(ctx, did)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	var (
		asking sync.WaitGroup
		slots  = make(chan struct{}, returnsAtOnce)
		failed = make([]error, len(all))
	)
	for i, g := range all {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			failed[i] = p.giveBack(ctx, did, g.name, p.mayBePrivate(g), g.grant)
		})
	}
	asking.Wait()
	var left []string
	for i, err := range failed {
		if err == nil {
			continue
		}
		why := "its authorization server did not confirm it"
		if errors.Is(err, errNoRevocation) || errors.Is(err, errUnreadable) {
			why = err.Error()
		}
		left = append(left, fmt.Sprintf("the authorization at the MCP server %s: %s", all[i].name, why))
	}
	return left, nil
}

// givenBy is what a user authorized, also what still waits to be confirmed.
func (p *Plugin) givenBy(ctx context.Context, did string) ([]given, error) {
	var all []given
	read := func(prefix string, grantOf func(value []byte) grant) error {
		found, err := p.host.Store.Scan(ctx, plugin.Range{Prefix: prefix, Limit: forgotten})
		if err != nil {
			return err
		}
		for _, e := range found {
			all = append(all, given{strings.TrimPrefix(e.Key, prefix), grantOf(e.Value)})
		}
		return nil
	}
	err := errors.Join(
		read(grantKey(did, ""), func(value []byte) (g grant) {
			_ = json.Unmarshal(value, &g) // what cannot be read has no tokens
			return g
		}),
		read(answeredKey(did, ""), func(value []byte) grant {
			var a answered
			_ = json.Unmarshal(value, &a)
			return a.Grant
		}),
	)
	return all, err
}

// mayBePrivate says whether who authorizes for a server may have a private address: as it was
// when the tokens were got.
func (p *Plugin) mayBePrivate(g given) bool {
	for _, s := range p.servers {
		if s.Name == g.name && s.URL == g.URL {
			return s.AllowPrivate
		}
	}
	return p.cfg.UserPrivate
}
