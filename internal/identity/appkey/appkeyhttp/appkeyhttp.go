// Package appkeyhttp has the routes with which people make, list and revoke app keys,
// the one face that tells an app key about itself, and the authenticator of all faces.
//
// The routes of people take tokens alone: no app key makes another. An app key is in
// one answer, once, which no cache may keep.
package appkeyhttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Offer is the body of the answer to POST /api/keys/offer.
type Offer struct {
	ID string `json:"id"`
	// Holder is the DID to which the delegation has to be addressed.
	Holder string `json:"holder"`
}

// Amount is what work with a model takes.
type Amount struct {
	Tokens     int64 `json:"tokens"`
	CostMicros int64 `json:"costMicros"`
}

// NewKey is the body of POST /api/keys.
type NewKey struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Delegation string `json:"delegation"`
	// Budget of 0 is no limit.
	Budget Amount `json:"budget"`
}

// Capability is a thing that an app key may do.
type Capability struct {
	Can  string `json:"can"`
	With string `json:"with"`
}

// Key is what is shown of an app key.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Maker is for whom it acts, DID by whom the audit of the file store knows it.
	Maker        string         `json:"maker"`
	DID          string         `json:"did"`
	Scopes       []appkey.Scope `json:"scopes"`
	Capabilities []Capability   `json:"capabilities"`
	// Budget and Left are missing where nothing limits it; a part of them that is
	// without limit is 0 in Budget.
	Budget  *Amount `json:"budget,omitempty"`
	Left    *Amount `json:"left,omitempty"`
	Spent   Amount  `json:"spent"`
	Created string  `json:"created"`
	Expires string  `json:"expires"`
	// LastUsed is right to the minute, and missing when it was never used.
	LastUsed string `json:"lastUsed,omitempty"`
	Revoked  string `json:"revoked,omitempty"`
	// State is active, spent, expired or revoked.
	State string `json:"state"`
}

// MadeKey is the answer to POST /api/keys. The key is shown this once.
type MadeKey struct {
	Key
	Text string `json:"key"`
}

// KeyList is the body of GET /api/keys.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// Deps is what the routes need.
type Deps struct {
	Service *appkey.Service
	// Authenticate is that of identity.Oracle.
	Authenticate func(httpserver.Handler) httpserver.Handler
	Face         Face
	CORS         httpserver.CORSPolicy
}

// Surfaces returns the routes of people and the face.
func Surfaces(d Deps) []httpserver.Surface {
	a, tags := api{d.Service}, []string{"Identity"}
	return []httpserver.Surface{
		{
			Name: "appkeys", Doc: "App keys: constant secrets for programs that know nothing else.", CORS: d.CORS, Authenticate: d.Authenticate,
			Routes: []httpserver.Route{
				{
					Method: http.MethodPost, Pattern: "/api/keys/offer", Auth: httpserver.Principal, Tags: tags,
					Summary: "Begin an app key",
					Doc:     "Returns the id of an app key to be, and the DID to which the delegation for it must be addressed. Nothing is stored.",
					Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Offer{}}}, Handler: a.offer,
				},
				{
					Method: http.MethodPost, Pattern: "/api/keys", Auth: httpserver.Principal, Tags: tags,
					Summary: "Make an app key",
					Doc: "The delegation, signed by the caller and addressed to the holder that was offered, says what the key may do and until when (at most 366 days): " +
						"`*` on `ixo:oracle`, `knowledge/read` on `ixo:knowledge`, `fs/…` on a place in the file store, and nothing else. The key is shown once.",
					Body: NewKey{}, MaxBody: 64 << 10, Replies: []httpserver.Reply{
						{Status: http.StatusCreated, Body: MadeKey{}},
						{Status: http.StatusForbidden, Doc: "The caller may not grant this."},
						{Status: http.StatusConflict, Doc: "There is one of that name, or there are too many."},
					}, Handler: a.make,
				},
				{
					Method: http.MethodGet, Pattern: "/api/keys", Auth: httpserver.Principal, Tags: tags,
					Summary: "List the caller's app keys", Doc: "The newest first, with those that ended in the last 30 days, without the keys themselves.",
					Replies: []httpserver.Reply{{Status: http.StatusOK, Body: KeyList{}}}, Handler: a.list,
				},
				{
					Method: http.MethodDelete, Pattern: "/api/keys/{id}", Auth: httpserver.Principal, Tags: tags,
					Params:  []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "The app key's id."}},
					Summary: "Revoke an app key", Doc: "Every node refuses it at once; open streams end within a second. Doing it again is fine.",
					Replies: []httpserver.Reply{{Status: http.StatusNoContent}}, Handler: a.revoke,
				},
			},
		},
		{
			Name: "appkey", Doc: "What an app key may do.", CORS: d.CORS, Authenticate: d.Face.Wrap(appkey.Any),
			Routes: []httpserver.Route{{
				Method: http.MethodGet, Pattern: "/v1/key", Auth: httpserver.Principal, Tags: []string{"Faces"},
				Summary: "What this app key may do",
				Doc: "Needs an app key: `Authorization: Bearer cak_…`, or Basic with the key as password. Says what it may do, when it ends and " +
					"what is left of its budget, also when nothing is.",
				Security: []string{SchemeKey, SchemeBasic},
				Replies:  []httpserver.Reply{{Status: http.StatusOK, Body: Key{}}}, Handler: a.self,
			}},
		},
	}
}

type api struct{ keys *appkey.Service }

func caller(r *http.Request) (identity.Principal, error) {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return identity.Principal{}, fault.New(fault.Unauthenticated, identity.TextMissing)
	}
	return p, nil
}

// signer is the caller of a request that changes app keys: a delegation alone can be in
// other hands, and is for less than to make or end a key.
func signer(r *http.Request) (identity.Principal, error) {
	p, err := caller(r)
	if err == nil && p.Kind != identity.ByInvocation {
		err = fault.New(fault.Forbidden, "App keys need an invocation that you sign; a delegation alone is not enough.").WithCode("invocation_needed")
	}
	return p, err
}

func (a api) offer(w http.ResponseWriter, r *http.Request) error {
	if _, err := signer(r); err != nil {
		return err
	}
	o, err := a.keys.Offer()
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, Offer{ID: o.ID, Holder: o.Holder})
}

func (a api) make(w http.ResponseWriter, r *http.Request) error {
	who, err := signer(r)
	if err != nil {
		return err
	}
	var body NewKey
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	k, text, err := a.keys.Make(r.Context(), who, appkey.NewKey{
		ID: body.ID, Name: body.Name, Delegation: body.Delegation,
		Budget: appkey.Amount{Tokens: body.Budget.Tokens, Micros: body.Budget.CostMicros},
	})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusCreated, MadeKey{Key: a.body(k), Text: text})
}

func (a api) list(w http.ResponseWriter, r *http.Request) error {
	who, err := caller(r)
	if err != nil {
		return err
	}
	keys, err := a.keys.List(r.Context(), who.DID)
	if err != nil {
		return err
	}
	out := KeyList{Keys: make([]Key, len(keys))}
	for i, k := range keys {
		out.Keys[i] = a.body(k)
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a api) revoke(w http.ResponseWriter, r *http.Request) error {
	who, err := signer(r)
	if err != nil {
		return err
	}
	if _, err := a.keys.Revoke(r.Context(), who.DID, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a api) self(w http.ResponseWriter, r *http.Request) error {
	k, ok := appkey.FromContext(r.Context())
	if !ok {
		return fault.New(fault.Unauthenticated, TextMissingKey)
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, a.body(k))
}

func (a api) body(k appkey.Key) Key {
	out := Key{
		ID: k.ID, Name: k.Name, Maker: k.Maker, DID: k.DID, Scopes: k.Scopes, Capabilities: []Capability{},
		Spent:   amount(k.Spent),
		Created: stamp(k.Created), Expires: stamp(k.Expires), LastUsed: stamp(k.Used), Revoked: stamp(k.Revoked),
		State: k.State(a.keys.Now()),
	}
	for _, c := range k.Capabilities() {
		out.Capabilities = append(out.Capabilities, Capability{Can: c.Can, With: c.With})
	}
	if left, limited := k.Left(); limited {
		budget, left := amount(k.Budget), amount(left)
		out.Budget, out.Left = &budget, &left
	}
	return out
}

func amount(a appkey.Amount) Amount { return Amount{Tokens: a.Tokens, CostMicros: a.Micros} }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
