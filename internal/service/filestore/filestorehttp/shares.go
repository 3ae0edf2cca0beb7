package filestorehttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// ShareBody registers a link. The delegation is made and signed by the caller;
// the key that it is made to travels in the link's fragment and is never sent
// here.
type ShareBody struct {
	Delegation string `json:"delegation"`
	Path       string `json:"path"`
	MaxUses    int64  `json:"maxUses,omitempty"`
}

// ShareEntry is a link.
type ShareEntry struct {
	ID        string `json:"id"`
	Path      string `json:"path"`
	TokenCID  string `json:"tokenCid"`
	CreatedAt string `json:"createdAt"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	MaxUses   int64  `json:"maxUses,omitempty"`
	Uses      int64  `json:"uses"`
	RevokedAt string `json:"revokedAt,omitempty"`
	// State is open, used up, expired or ended.
	State string `json:"state"`
}

// ShareList is a page of links.
type ShareList struct {
	Shares []ShareEntry `json:"shares"`
}

func (a *api) shareRoutes() []httpserver.Route {
	return []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: prefix + "/shares", Summary: "Register a share link, so that it is counted and can be ended", Tags: []string{"files"},
			Auth: httpserver.Principal, Body: ShareBody{}, Replies: []httpserver.Reply{{Status: 201, Body: ShareEntry{}}}, Handler: a.with(a.share),
		},
		{
			Method: http.MethodGet, Pattern: prefix + "/shares", Summary: "List share links, newest first", Tags: []string{"files"}, Auth: httpserver.Principal,
			Params: []httpserver.Param{limitParam, fromParam}, Replies: []httpserver.Reply{{Status: 200, Body: ShareList{}}}, Handler: a.with(a.shares),
		},
		{
			Method: http.MethodDelete, Pattern: prefix + "/shares/{id}", Summary: "End a share link at once", Tags: []string{"files"}, Auth: httpserver.Principal,
			Params: []httpserver.Param{{Name: "id", In: "path", Required: true}}, Replies: []httpserver.Reply{{Status: 204}}, Handler: a.with(a.endShare),
		},
	}
}

func (a *api) shareEntry(s filestore.Share) ShareEntry {
	return ShareEntry{s.ID, s.Path, s.TokenCID, stamp(s.Created), stamp(s.Expires), s.MaxUses, s.Uses, stamp(s.Revoked), s.State(a.svc.Now())}
}

func (a *api) share(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body ShareBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	token, err := ucan.Parse(body.Delegation)
	if err != nil {
		return fault.Wrap(fault.Invalid, "the delegation can not be read", err)
	}
	p, _ := identity.FromContext(r.Context())
	if string(token.Leaf.Issuer) != p.DID {
		return fault.New(fault.Forbidden, "a link is registered by whoever signed it")
	}
	n := filestore.NewShare{TokenCID: token.CID(), TwinCID: token.Leaf.TwinCID(), Path: body.Path, MaxUses: body.MaxUses}
	if !token.Leaf.NoExpiry {
		n.Expires = time.Unix(token.Leaf.Expires, 0)
	}
	s, err := a.svc.Share(r.Context(), access, n)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, a.shareEntry(s))
}

func (a *api) shares(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	all, err := a.svc.Shares(r.Context(), access, p)
	if err != nil {
		return err
	}
	out := ShareList{Shares: make([]ShareEntry, 0, len(all))}
	for _, s := range all {
		out.Shares = append(out.Shares, a.shareEntry(s))
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) endShare(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	if err := a.svc.EndShare(r.Context(), access, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
