package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/plugins/mcp/oauth"
	"github.com/castalia-org/castalia/plugin"
)

// flow is an authorization that has begun, under f/ and the hash of its state. It
// is the user's who began it, good for one answer and for ten minutes.
type flow struct {
	DID      string      `json:"did"`
	Name     string      `json:"name"`
	URL      string      `json:"url"`
	Private  bool        `json:"private,omitempty"`
	Redirect string      `json:"redirect"`
	Verifier string      `json:"verifier"`
	Link     string      `json:"link"`
	Grant    oauth.Grant `json:"grant"`
}

// answered is an authorization that waits for its user to say that it was their
// own, under a/user/name. Whoever opened the link is not known here: without this, a
// link that somebody else was made to open would put that person's tokens into
// the account of whoever sent it.
type answered struct {
	Grant grant `json:"grant"`
	// Code is the hash of what the page showed.
	Code  []byte `json:"code"`
	Tries int    `json:"tries"`
}

const (
	flowTime  = 10 * time.Minute
	maxTries  = 5
	codeChars = 8
	// clientTime is how long a registration is used for new authorizations.
	clientTime = 30 * 24 * time.Hour
	// discoverTime bounds all requests of a beginning together.
	discoverTime = 20 * time.Second
)

func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func flowKey(state string) string { return "f/" + hashed(state) }

func answeredKey(did, name string) string { return "a/" + plugin.UserKey(did) + "/" + name }

// Authorization is a link for the user to open.
type Authorization struct {
	Server string `json:"server"`
	URL    string `json:"url"`
	// Issuer is who asks the user there.
	Issuer    string `json:"issuer"`
	ExpiresAt string `json:"expiresAt"`
}

// Places of the routes that browsers and authorization servers use.
const (
	linkPath     = "/mcp-servers/authorize/"
	callbackPath = "/mcp-servers/callback"
	documentPath = "/mcp-servers/client.json"
	// Each issuer has an address of its own to lead back to, and we are known to it by a
	// document of its own: a hostile one that sends people on to another to agree there is
	// sent no code of that other, which takes no redirect that is not registered there, also
	// where it does not name itself in its answers (RFC 9700, 4.4.2). Whoever takes whatever a
	// document says shows the document's name to whoever agrees, and that names the issuer.
	// The two addresses above are for clients that operators registered by hand, and for
	// authorizations of releases before. No other address begins with the first: some take
	// what stands below a registered one for the same.
	issuersCallback = "/mcp-servers/answer/"
	issuersDocument = "/mcp-servers/client/"
)

// tagLength is 132 bits: nobody finds an issuer that is called as another is.
const tagLength = 22

// tag is what an issuer is called in our addresses.
func tag(issuer string) string {
	return hashed("issuer " + strings.TrimSuffix(issuer, "/"))[:tagLength]
}

// maxIssuer bounds issuers whose names fit into the address of a document.
const maxIssuer = 200

// hostOf is what people know an issuer by, or "" for one of which no document can be made:
// one of another form, or whose host would read like something else.
func hostOf(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || len(issuer) > maxIssuer || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http" || strings.ContainsFunc(u.Host, isNoHost) {
		return ""
	}
	return u.Host
}

func isNoHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-.:[]", r)
}

// begin makes a link by which the user authorizes us at a server. base is where
// people reach this deployment.
func (p *Plugin) begin(ctx context.Context, did, base string, s plugin.MCPServer) (Authorization, error) {
	if base == "" {
		return Authorization{}, plugin.Errorf(http.StatusConflict, "Nobody knows the address of this deployment: its operator has to set PUBLIC_URL.")
	}
	if s.Access == nil {
		return Authorization{}, plugin.Errorf(http.StatusConflict, "The server %s has a token of its own and needs no authorization.", s.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	_, err := p.host.MCPTools(ctx, s)
	refusal, refused := errors.AsType[*plugin.MCPRefusedError](err)
	if err != nil && !refused {
		return Authorization{}, err
	}
	var challenges []string
	if refused {
		challenges = refusal.Challenges
	}
	f := flow{
		DID: did, Name: s.Name, URL: s.URL, Private: s.AllowPrivate, Verifier: rand.Text() + rand.Text(),
	}
	found, err := p.client(s.AllowPrivate).Discover(ctx, s.URL, challenges)
	if err == nil {
		found.Scope, err = p.scope(ctx, did, s, found.Scope)
	}
	if err == nil {
		f.Grant, f.Redirect = found.Grant, base+issuersCallback+tag(found.Issuer)
		if _, known := p.known[originOf(s.URL)]; known {
			f.Redirect = base + callbackPath
		}
		f.Grant.Client, err = p.registration(ctx, base, f.Redirect, s, found)
	}
	if err != nil {
		p.host.Log.Info("a user cannot authorize at an MCP server", slog.String("event", "mcp.authorization_impossible"), slog.String("server", s.Name), slog.Any("error", err))
		return Authorization{}, unauthorizable(err)
	}
	state := rand.Text()
	if f.Link, err = f.Grant.Link(f.Redirect, state, f.Verifier); err != nil {
		return Authorization{}, unauthorizable(err)
	}
	plain, err := json.Marshal(f)
	if err != nil {
		return Authorization{}, fmt.Errorf("encode flow: %w", err)
	}
	sealed, err := p.host.Seal(plain, flowKey(state))
	if err != nil {
		return Authorization{}, fmt.Errorf("seal flow: %w", err)
	}
	out := Authorization{Server: s.Name, URL: base + linkPath + state, Issuer: found.Issuer}
	return out, p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		out.ExpiresAt = tx.Now().Add(flowTime).UTC().Format(time.RFC3339)
		return tx.Put(ctx, flowKey(state), sealed, flowTime)
	})
}

// unauthorizable is what people read when a server and we cannot agree.
func unauthorizable(err error) error {
	if e, ok := errors.AsType[*plugin.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*oauth.Error](err); ok {
		return &plugin.Error{Status: http.StatusConflict, Message: "It refused: " + e.Error() + ".", Cause: err}
	}
	return &plugin.Error{
		Status: http.StatusConflict, Cause: err,
		Message: "The server wants an authorization, but does not say how to get one in a way that is supported.",
	}
}

// scope adds to what a server asks for what the user's token has, and what it
// lacked.
func (p *Plugin) scope(ctx context.Context, did string, s plugin.MCPServer, asked string) (string, error) {
	value, ok, err := p.host.Store.Get(ctx, wantKey(did, s.Name))
	if err != nil || !ok {
		return asked, err
	}
	var w want
	if err := json.Unmarshal(value, &w); err != nil || w.Scope == "" {
		return asked, nil //nolint:nilerr // it is a hint
	}
	had := ""
	if g, ok, err := loadGrant(ctx, p.host.Store, did, s.Name, s.URL); err == nil && ok {
		if kept, err := p.open(g, did, s.Name); err == nil {
			had = kept.Grant.Scope
		}
	}
	return oauth.Scopes(had, asked, w.Scope)
}

// registration is who we are to an authorization server: the client that the
// operator registered for this very server, else one that we register ourselves,
// else the address of our document. One that the authorization server has forgotten
// is made again.
func (p *Plugin) registration(ctx context.Context, base, redirect string, s plugin.MCPServer,
	f oauth.Found,
) (oauth.Registration, error) {
	if known, ok := p.known[originOf(s.URL)]; ok {
		if strings.TrimSuffix(known.issuer, "/") != strings.TrimSuffix(f.Issuer, "/") {
			return oauth.Registration{}, plugin.Errorf(http.StatusConflict, "The server names another authorization server than the operator expects.")
		}
		return f.Known(known.id, known.secret), nil
	}
	if f.Register == "" {
		if host := hostOf(f.Issuer); f.Documents && host != "" && strings.HasPrefix(base, "https://") {
			return oauth.Registration{ID: base + issuersDocument + base64.RawURLEncoding.EncodeToString([]byte(f.Issuer))}, nil
		}
		return oauth.Registration{}, plugin.Errorf(http.StatusConflict, "The authorization server knows no way to register. The operator can register the oracle there and set MCP_OAUTH_CLIENTS.")
	}
	// A registration may be good for its scopes alone, which have one spelling.
	key := "c/" + hashed(strings.TrimSuffix(f.Issuer+" "+f.Register+" "+redirect+" "+f.Scope, " "))
	sealed, ok, err := p.host.Store.Get(ctx, key)
	if err != nil {
		return oauth.Registration{}, err
	}
	var r oauth.Registration
	if ok {
		plain, err := p.host.Unseal(sealed, key)
		soon := time.Now().Add(time.Hour).Unix()
		if err == nil && json.Unmarshal(plain, &r) == nil && (r.Expires == 0 || soon < r.Expires) {
			if _, gone, err := p.host.Store.Get(ctx, forgottenKey(f.Issuer, r.ID)); err != nil || !gone {
				return r, err
			}
		}
	}
	if r, err = p.client(s.AllowPrivate).Register(ctx, f, p.host.OracleName, base, redirect); err != nil {
		return r, err
	}
	plain, err := json.Marshal(r) //nolint:gosec // it is sealed at once
	if err != nil {
		return r, fmt.Errorf("encode registration: %w", err)
	}
	if sealed, err = p.host.Seal(plain, key); err != nil {
		return r, fmt.Errorf("seal registration: %w", err)
	}
	return r, p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return tx.Put(ctx, key, sealed, clientTime)
	})
}

// forgottenKey is where it is kept that an authorization server does not know a client
// any more, for as long as that would be used.
func forgottenKey(issuer, id string) string { return "x/" + hashed(issuer+" "+id) }

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// errOver is for links and answers that are of no use.
var errOver = said("mcp.over", plugin.Errorf(http.StatusGone, "This link was used before, or its ten minutes are over. Ask the oracle for a new one."))

// peek reads a flow; take takes it away as well.
func (p *Plugin) peek(ctx context.Context, state string) (flow, error) {
	sealed, ok, err := p.host.Store.Get(ctx, flowKey(state))
	if err != nil {
		return flow{}, err
	}
	if !ok {
		return flow{}, errOver
	}
	return p.openFlow(state, sealed)
}

func (p *Plugin) take(ctx context.Context, state string) (flow, error) {
	var (
		sealed []byte
		ok     bool
	)
	err := p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) (err error) {
		if sealed, ok, err = tx.Get(ctx, flowKey(state)); err != nil || !ok {
			return err
		}
		return tx.Delete(ctx, flowKey(state))
	})
	if err != nil {
		return flow{}, err
	}
	if !ok {
		return flow{}, errOver
	}
	return p.openFlow(state, sealed)
}

func (p *Plugin) openFlow(state string, sealed []byte) (flow, error) {
	var f flow
	plain, err := p.host.Unseal(sealed, flowKey(state))
	if err != nil {
		return f, fmt.Errorf("unseal flow: %w", err)
	}
	if err := json.Unmarshal(plain, &f); err != nil {
		return f, fmt.Errorf("decode flow: %w", err)
	}
	return f, nil
}

// finish turns the answer of an authorization server, which came to a path, into tokens
// that wait for their user, and returns the code by which they tell that it was them.
func (p *Plugin) finish(ctx context.Context, path string, q url.Values) (f flow, code string, err error) {
	state := q.Get("state")
	if state == "" || len(state) > 64 {
		return f, "", errOver
	}
	if f, err = p.take(ctx, state); err != nil {
		return f, "", err
	}
	err = f.Grant.CheckIssuer(q.Get("iss"))
	if err == nil && !strings.HasSuffix(f.Redirect, path) {
		err = errors.New("the answer came to the address of another authorization server")
	}
	if err != nil {
		return f, "", said("mcp.stranger", &plugin.Error{Status: http.StatusBadRequest, Message: "The answer does not come from the authorization server that was asked.", Cause: err})
	}
	if q.Has("error") {
		return f, "", said("mcp.refused", plugin.Errorf(http.StatusForbidden, "The authorization was not given."))
	}
	answer := q.Get("code")
	if answer == "" || len(answer) > maxToken {
		return f, "", said("mcp.noCode", plugin.Errorf(http.StatusBadRequest, "The answer of the authorization server has no code."))
	}
	tokens, err := p.client(f.Private).Exchange(ctx, f.Grant, f.Redirect, answer, f.Verifier)
	if err != nil {
		return f, "", said("mcp.noToken", &plugin.Error{Status: http.StatusBadGateway, Message: "The authorization server gave no token.", Cause: err})
	}
	if tokens.Scope != "" {
		f.Grant.Scope = tokens.Scope
	}
	code, err = p.keepAnswered(ctx, f, tokens)
	return f, code, err
}

func (p *Plugin) keepAnswered(ctx context.Context, f flow, tokens oauth.Tokens) (code string, err error) {
	code = rand.Text()[:codeChars]
	a := answered{Grant: grant{URL: f.URL, Holder: rand.Text()}, Code: []byte(hashed(code))}
	return code, p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		a.Grant.At = tx.Now().UTC().Format(time.RFC3339)
		if err := p.fill(&a.Grant, f.DID, f.Name, secrets{Grant: f.Grant, Tokens: tokens}, tx.Now()); err != nil {
			return err
		}
		return putJSON(ctx, tx, answeredKey(f.DID, f.Name), a, flowTime)
	})
}

// confirm puts an authorization into force, for the user who began it and has the
// code that its page showed.
func (p *Plugin) confirm(ctx context.Context, did string, s plugin.MCPServer, code string) error {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
	var outcome error
	err := p.host.Store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		outcome = nil
		value, ok, err := tx.Get(ctx, answeredKey(did, s.Name))
		if err != nil {
			return err
		}
		var a answered
		if ok {
			if err := json.Unmarshal(value, &a); err != nil {
				return fmt.Errorf("decode answer: %w", err)
			}
		}
		if !ok || a.Grant.URL != s.URL {
			outcome = plugin.Errorf(http.StatusNotFound, "No authorization at this server waits to be confirmed.")
			return nil
		}
		if subtle.ConstantTimeCompare(a.Code, []byte(hashed(code))) != 1 {
			outcome = plugin.Errorf(http.StatusForbidden, "This is not the code of the page.")
			if a.Tries++; a.Tries >= maxTries {
				return tx.Delete(ctx, answeredKey(did, s.Name))
			}
			return putJSON(ctx, tx, answeredKey(did, s.Name), a, flowTime)
		}
		if err := tx.Delete(ctx, answeredKey(did, s.Name)); err != nil {
			return err
		}
		if err := tx.Delete(ctx, wantKey(did, s.Name)); err != nil {
			return err
		}
		return putJSON(ctx, tx, grantKey(did, s.Name), a.Grant, 0)
	})
	if err != nil {
		return err
	}
	return outcome
}
