package filestorehttp

import (
	"net/http"
	"net/url"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
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
	// Plain says that the link is an address alone.
	Plain bool `json:"plain,omitempty"`
	// Upload says that files are sent by it, of which uses counts; maxBytes and bytes
	// are what it takes and what came.
	Upload   bool  `json:"upload,omitempty"`
	MaxBytes int64 `json:"maxBytes,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
}

// UploadLinkBody asks for a link by which everybody who has it sends files to a folder.
type UploadLinkBody struct {
	Path      string `json:"path"`
	MaxBytes  int64  `json:"maxBytes"`
	MaxFiles  int64  `json:"maxFiles,omitempty"`
	ExpiresAt string `json:"expiresAt"`
}

// PlainBody asks for a link that is an address alone: everybody who has it reads.
type PlainBody struct {
	Path      string `json:"path"`
	MaxUses   int64  `json:"maxUses,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
}

// PlainLink is such a link. Its address is told this once.
type PlainLink struct {
	ShareEntry
	URL string `json:"url"`
}

// ShareList is a page of links.
type ShareList struct {
	Shares []ShareEntry `json:"shares"`
}

func (a *api) shareRoutes() []httpserver.Route {
	return []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: prefix + "/shares", Summary: "Register a share link, so that it is counted and can be ended", Tags: []string{"Files"},
			Auth: httpserver.Principal, Body: ShareBody{}, Replies: []httpserver.Reply{{Status: 201, Body: ShareEntry{}}},
			Handler: a.with(a.share),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/shares/plain", Summary: "Make a link that any browser and any program can open", Tags: []string{"Files"},
			Doc:  "The address itself is the secret: everybody who gets it reads the file or folder, until the link ends. Only the owner makes such links. They are listed, counted and ended like others; the address is told this once.",
			Auth: httpserver.Principal, Body: PlainBody{}, Replies: []httpserver.Reply{{Status: 201, Body: PlainLink{}}},
			Handler: a.with(a.sharePlainly),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/shares/upload", Summary: "Make a link by which files are sent to a folder", Tags: []string{"Files"},
			Doc: "Everybody who gets the address sends files, from any browser or by `curl -T`, until it is over: by time, by bytes, or by files (1000 unless maxFiles says). " +
				"They see nothing of the folder and replace nothing. Only the owner makes such links. They are listed and ended like others; the address is told this once.",
			Auth: httpserver.Principal, Body: UploadLinkBody{}, Replies: []httpserver.Reply{{Status: 201, Body: PlainLink{}}},
			Handler: a.with(a.shareForUploads),
		},
		{
			Method: http.MethodGet, Pattern: prefix + "/shares", Summary: "List share links, newest first",
			Tags: []string{"Files"}, Auth: httpserver.Principal,
			Params: []httpserver.Param{limitParam, fromParam}, Replies: []httpserver.Reply{{Status: 200, Body: ShareList{}}},
			Handler: a.with(a.shares),
		},
		{
			Method: http.MethodDelete, Pattern: prefix + "/shares/{id}", Summary: "End a share link at once",
			Tags: []string{"Files"}, Auth: httpserver.Principal,
			Params: []httpserver.Param{{Name: "id", In: "path", Required: true}}, Replies: []httpserver.Reply{{Status: 204}},
			Handler: a.with(a.endShare),
		},
	}
}

func (a *api) shareEntry(s filestore.Share) ShareEntry {
	return ShareEntry{
		s.ID, s.Path, s.TokenCID, stamp(s.Created), stamp(s.Expires), s.MaxUses, s.Uses, stamp(s.Revoked),
		s.State(a.svc.Now()),
		plainlink.IsPlain(s), plainlink.TakesUploads(s), s.MaxBytes, s.Bytes,
	}
}

func (a *api) share(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body ShareBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	token, err := ucan.Parse(body.Delegation)
	if err != nil {
		return fault.Wrap(fault.Invalid, "the delegation cannot be read", err)
	}
	p, _ := identity.FromContext(r.Context())
	if !p.Signs(token.Leaf.Issuer) {
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

func (a *api) sharePlainly(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body PlainBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	expires, err := expiresAt(body.ExpiresAt)
	if err != nil {
		return err
	}
	secret, made, err := a.plain.Make(r.Context(), access,
		plainlink.Wanted{Path: body.Path, MaxUses: body.MaxUses, Expires: expires})
	if err != nil {
		return err
	}
	address := &url.URL{Path: "/s/" + secret}
	switch f, err := a.svc.Stat(r.Context(), access, made.Path); {
	case err == nil: // the name is for those who save it
		address = address.JoinPath(f.Name)
	case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid): // a folder; "/" is no file
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, PlainLink{a.shareEntry(made), a.base(r) + address.EscapedPath()})
}

// expiresAt reads when a link is to end; "" is never.
func expiresAt(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fault.New(fault.Invalid, "expiresAt must be a time such as 2027-01-31T12:00:00Z")
	}
	return at, nil
}

func (a *api) shareForUploads(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body UploadLinkBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	expires, err := expiresAt(body.ExpiresAt)
	if err != nil {
		return err
	}
	secret, made, err := a.plain.MakeForUploads(r.Context(), access,
		plainlink.WantedUploads{Path: body.Path, Expires: expires, MaxBytes: body.MaxBytes, MaxFiles: body.MaxFiles})
	if err != nil {
		return err
	}
	// The slash at the end is for curl -T, which then adds the name.
	return httpserver.WriteJSON(w, http.StatusCreated, PlainLink{a.shareEntry(made), a.base(r) + "/s/" + secret + "/"})
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
