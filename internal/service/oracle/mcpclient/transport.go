package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// transport adds a server's headers or the user's token, and reads no answer
// without end.
type transport struct {
	next   http.RoundTripper
	server plugin.MCPServer
	// refused hears that the server wants an authorization.
	refused func(*plugin.MCPRefusedError)
	// shut hears that it does not take the headers.
	shut func()
	// stopped hears that the server was told that a call is stopped.
	stopped chan<- struct{}
	// heard counts what the server said.
	heard *heard
	// held counts what answers hold, of the person; full hears that it was too much.
	held  *holdings
	owner string
	full  func()
}

// RoundTrip sends the request, and once more with another token where the server
// refused the first one: what it refused it has not done.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if isStop(r) {
		defer func() {
			select {
			case t.stopped <- struct{}{}:
			default:
			}
		}()
	}
	resp, sent, err := t.send(r.Context(), r)
	if err != nil || !wantsAuthorization(resp) {
		return resp, err
	}
	if t.server.Access == nil {
		t.shut()
		return resp, nil
	}
	refusal := &plugin.MCPRefusedError{Server: t.server.Name, Challenges: challengesOf(resp)}
	again, err := t.server.Access.Refused(r.Context(), sent, refusal.Challenges)
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if again {
		if repeated, ok := repeat(r); ok {
			_ = resp.Body.Close()
			if resp, _, err = t.send(r.Context(), repeated); err != nil || !wantsAuthorization(resp) {
				return resp, err
			}
			if _, err = t.server.Access.Refused(r.Context(), "", refusal.Challenges); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
		}
	}
	t.refused(refusal)
	return resp, nil
}

// maxStop bounds the message that stops a call.
const maxStop = 4 << 10

// isStop reports whether the request tells that a call is stopped.
func isStop(r *http.Request) bool {
	if r.ContentLength <= 0 || r.ContentLength > maxStop || r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	var m struct{ Method string }
	return json.NewDecoder(body).Decode(&m) == nil && m.Method == "notifications/cancelled"
}

// send sends the request once.
func (t transport) send(ctx context.Context, r *http.Request) (resp *http.Response, token string, err error) {
	r = r.Clone(ctx)
	for name, value := range t.server.Headers {
		r.Header.Set(name, value)
	}
	if holds(t.server) {
		if !sameOrigin(r.URL, t.server.URL) {
			return nil, "", fmt.Errorf("the MCP server %s leads to another origin", t.server.Name)
		}
		if token, err = t.server.Access.Token(ctx); err != nil {
			return nil, "", fmt.Errorf("get token for %s: %w", t.server.Name, err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
	resp, err = t.next.RoundTrip(r)
	if err == nil {
		body := &held{ReadCloser: resp.Body, of: t.held, who: t.owner, full: t.full}
		resp.Body = &asks{ReadCloser: &bounded{ReadCloser: body, left: maxReply}, had: t.heard}
	}
	return resp, token, err
}

// holds reports whether the user has tokens for the server. Whoever gets some later has
// them in the next turn: what follows redirects now must not carry any.
func holds(s plugin.MCPServer) bool { return s.Access != nil && s.Access.Holder() != "" }

// repeat is the request with its body from the beginning.
func repeat(r *http.Request) (*http.Request, bool) {
	r = r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	r.Body = body
	return r, err == nil
}

func sameOrigin(u *url.URL, address string) bool {
	other, err := url.Parse(address)
	return err == nil && u.Scheme == other.Scheme && strings.EqualFold(u.Host, other.Host)
}

// wantsAuthorization reports whether a server would do with another token what
// it has not done: with any, or with one of another scope.
func wantsAuthorization(resp *http.Response) bool {
	if resp.StatusCode != http.StatusForbidden {
		return resp.StatusCode == http.StatusUnauthorized
	}
	for _, c := range challengesOf(resp) {
		if strings.Contains(c, "insufficient_scope") || strings.Contains(c, "scope=") {
			return true
		}
	}
	return false
}

// Bounds of what is kept of a refusal.
const (
	maxChallenges = 4
	maxChallenge  = 4 << 10
)

func challengesOf(resp *http.Response) []string {
	var out []string
	for _, c := range resp.Header.Values("WWW-Authenticate") {
		if len(out) < maxChallenges && len(c) <= maxChallenge {
			out = append(out, c)
		}
	}
	return out
}

// withoutAddress drops the address from an error of the HTTP client.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", strings.ToLower(e.Op), e.Err)
	}
	return err
}

// bounded is the body of an answer. A body that is longer fails.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read reads what is allowed.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the server sent more than %d bytes", maxReply)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// CloseIdleConnections closes what the inner transport keeps open.
func (t transport) CloseIdleConnections() { closeIdle(t.next)() }

func closeIdle(t http.RoundTripper) func() {
	if c, ok := t.(interface{ CloseIdleConnections() }); ok {
		return c.CloseIdleConnections
	}
	return func() {}
}
