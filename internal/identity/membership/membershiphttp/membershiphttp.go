// Package membershiphttp has the routes of membership: people redeem an
// invitation, operators keep members and invitations.
//
// Redeeming is bound to the DID that signed the request; it asks nobody for
// membership, and wrong codes count as wrong credentials of their address.
package membershiphttp

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// InvitePath is the page of the console that redeems a code, which stands behind
// the # so that no server and no proxy sees it.
const InvitePath = "/console/invite#"

const (
	listLimit = 100
	listMax   = 500
	maxSearch = 200
)

// Failures bounds how many wrong codes an address may try. Guessed counts one
// and returns the refusal that is due.
type Failures interface {
	Guessed(ctx context.Context) error
}

// Deps is what the routes need.
type Deps struct {
	Book *membership.Book
	Door *membership.Door
	// Authenticate is that of identity.Entrance.
	Authenticate func(httpserver.Handler) httpserver.Handler
	Failures     Failures
	CORS         httpserver.CORSPolicy
}

// Access is the body of GET /operator/access.
type Access struct {
	Access  membership.Mode `json:"access"`
	Members int64           `json:"members"`
	// Named is how many members ACCESS_DIDS names on this node.
	Named int `json:"named"`
}

// Member is somebody who may come in.
type Member struct {
	DID        string `json:"did"`
	Note       string `json:"note,omitempty"`
	Invitation string `json:"invitation,omitempty"`
	Added      string `json:"added,omitempty"`
}

// MemberList is the body of GET /operator/members.
type MemberList struct {
	Members []Member `json:"members"`
	// Next continues the list; it is empty at its end.
	Next string `json:"next,omitempty"`
	// More says that a search by note has more than are shown.
	More bool `json:"more,omitempty"`
}

// NewMember is the body of PUT /operator/members/{did}.
type NewMember struct {
	Note string `json:"note,omitempty"`
}

// Invitation is what operators see of one.
type Invitation struct {
	ID      string `json:"id"`
	Note    string `json:"note,omitempty"`
	Uses    int64  `json:"uses"`
	MaxUses int64  `json:"maxUses"`
	Created string `json:"created"`
	Expires string `json:"expires"`
	// Over says why it does not count any more.
	Over string `json:"over,omitempty"`
}

// InvitationList is the body of GET /operator/invitations.
type InvitationList struct {
	Invitations []Invitation `json:"invitations"`
}

// NewInvitation is the body of POST /operator/invitations.
type NewInvitation struct {
	MaxUses   int64  `json:"maxUses,omitempty"`
	ExpiresIn int64  `json:"expiresIn,omitempty"`
	Note      string `json:"note,omitempty"`
}

// MadeInvitation is its answer. The code is shown this once.
type MadeInvitation struct {
	Invitation
	Code string `json:"code"`
	Path string `json:"path"`
}

// Redeem is the body of POST /api/invitations/redeem.
type Redeem struct {
	Code string `json:"code"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	a := api{d}
	operators, did := []string{"Operators"}, httpserver.Param{Name: "did", In: "path", Required: true, Doc: "The member's DID."}
	return httpserver.Surface{
		Name: "membership", Doc: "Who may come in, and invitations.", CORS: d.CORS, Authenticate: d.Authenticate,
		Routes: []httpserver.Route{
			{
				Method: http.MethodPost, Pattern: "/api/invitations/redeem", Auth: httpserver.Principal, Tags: []string{"Identity"},
				Summary: "Redeem an invitation",
				Doc: "Makes the DID that signed the request a member. Needs an invocation as for the oracle, with X-Auth-Type: ucan; a bare " +
					"delegation is not enough. Asking again with the same DID is fine and uses nothing up. Where ACCESS is closed nobody comes in by it.",
				Body: Redeem{}, MaxBody: 4 << 10, Replies: []httpserver.Reply{
					{Status: http.StatusOK, Body: Member{}},
					{Status: http.StatusForbidden, Doc: "ACCESS is closed."},
					{Status: http.StatusNotFound, Doc: "No such invitation."},
					{Status: http.StatusGone, Doc: "It was used up or withdrawn, or has expired."},
				},
				Handler: a.redeem,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/access", Auth: httpserver.Operator, Tags: operators,
				Summary: "Who may come in", Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Access{}}}, Handler: a.access,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/members", Auth: httpserver.Operator, Tags: operators,
				Summary: "Members", Doc: "In order of DID. Those of ACCESS_DIDS are not listed.",
				Params: []httpserver.Param{
					{Name: "search", In: "query", Doc: "How their DID begins, or their note."},
					{Name: "after", In: "query", Doc: "The DID after which to go on."},
					{Name: "limit", In: "query", Schema: 0, Doc: "At most 500, usually 100."},
				},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: MemberList{}}}, Handler: a.members,
			},
			{
				Method: http.MethodPut, Pattern: "/operator/members/{did}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{did},
				Summary: "Add a member", Doc: "Whoever is a member already stays as they are.",
				Body: NewMember{}, Replies: []httpserver.Reply{
					{Status: http.StatusOK, Body: Member{}}, {Status: http.StatusCreated, Body: Member{}},
				}, Handler: a.addMember,
			},
			{
				Method: http.MethodDelete, Pattern: "/operator/members/{did}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{did},
				Summary: "Remove a member",
				Doc:     "Every node refuses them, and what they delegated, within a second; open streams and sockets end. What they stored stays.",
				Replies: []httpserver.Reply{
					{Status: http.StatusNoContent}, {Status: http.StatusConflict, Doc: "ACCESS_DIDS names the DID."},
				}, Handler: a.removeMember,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/invitations", Auth: httpserver.Operator, Tags: operators,
				Summary: "Invitations", Doc: "The newest first, without their codes.",
				Params:  []httpserver.Param{{Name: "limit", In: "query", Schema: 0, Doc: "At most 500, usually 100."}},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: InvitationList{}}}, Handler: a.invitations,
			},
			{
				Method: http.MethodPost, Pattern: "/operator/invitations", Auth: httpserver.Operator, Tags: operators,
				Summary: "Make an invitation", Doc: "maxUses is 1 to 10000 (usually 1), expiresIn is seconds up to 90 days (usually 7 days). The code is shown once.",
				Body: NewInvitation{}, Replies: []httpserver.Reply{{Status: http.StatusCreated, Body: MadeInvitation{}}},
				Handler: a.invite,
			},
			{
				Method: http.MethodDelete, Pattern: "/operator/invitations/{id}", Auth: httpserver.Operator, Tags: operators,
				Params:  []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "The invitation's id."}},
				Summary: "Withdraw an invitation", Doc: "Whoever came by it stays a member.",
				Replies: []httpserver.Reply{{Status: http.StatusNoContent}}, Handler: a.revoke,
			},
		},
	}
}

type api struct{ Deps }

func (a api) redeem(w http.ResponseWriter, r *http.Request) error {
	var body Redeem
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	ctx := r.Context()
	p, ok := identity.FromContext(ctx)
	if !ok {
		return fault.New(fault.Unauthenticated, identity.TextMissingInvocation)
	}
	if a.Door.Mode() == membership.Closed { // the operator may have closed it after the invitation was made
		if err := a.Door.AdmitDID(ctx, p.DID); err != nil {
			return err
		}
	}
	m, err := a.Book.Redeem(ctx, p.DID, body.Code)
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			return cmp.Or(a.Failures.Guessed(ctx), err)
		}
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, memberBody(m))
}

func (a api) access(w http.ResponseWriter, r *http.Request) error {
	n, err := a.Book.CountMembers(r.Context())
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Access{Access: a.Door.Mode(), Members: n, Named: a.Book.Named()})
}

func (a api) members(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	search, after := strings.TrimSpace(q.Get("search")), q.Get("after")
	if len(search) > maxSearch || !utf8.ValidString(search+after) || strings.ContainsRune(search+after, 0) {
		return fault.Newf(fault.Invalid, "search and after are text in UTF-8, search of at most %d bytes", maxSearch)
	}
	var list []membership.Member
	noted := search != "" && !strings.HasPrefix(search, "did:")
	if noted { // in one page: notes have no order of their own
		list, err = a.Book.MembersNoted(r.Context(), search, limit+1)
	} else {
		list, err = a.Book.MembersNamed(r.Context(), search, after, limit)
	}
	if err != nil {
		return err
	}
	body := MemberList{Members: []Member{}, More: noted && len(list) > limit}
	for _, m := range list[:min(len(list), limit)] {
		body.Members = append(body.Members, memberBody(m))
	}
	if len(list) == limit && !noted {
		body.Next = list[limit-1].DID
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) addMember(w http.ResponseWriter, r *http.Request) error {
	var body NewMember
	if r.ContentLength != 0 {
		if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
			return err
		}
	}
	m, added, err := a.Book.AddMember(r.Context(), r.PathValue("did"), body.Note)
	if err != nil {
		return err
	}
	if !added {
		return httpserver.WriteJSON(w, http.StatusOK, Member{DID: m.DID})
	}
	return httpserver.WriteJSON(w, http.StatusCreated, memberBody(m))
}

func (a api) removeMember(w http.ResponseWriter, r *http.Request) error {
	if err := a.Book.RemoveMember(r.Context(), r.PathValue("did")); err != nil {
		return err
	}
	a.Door.Announce(r.Context())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a api) invitations(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	now := time.Now()
	list, err := a.Book.Invitations(r.Context(), now.Add(membership.MaxLife), limit)
	if err != nil {
		return err
	}
	body := InvitationList{Invitations: make([]Invitation, len(list))}
	for i, one := range list {
		body.Invitations[i] = invitationBody(one, now)
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a api) invite(w http.ResponseWriter, r *http.Request) error {
	var body NewInvitation
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	if body.ExpiresIn < 0 || body.ExpiresIn > int64(membership.MaxLife/time.Second) {
		return fault.New(fault.Invalid, "expiresIn must be a whole number of seconds, at most 90 days")
	}
	i, code, err := a.Book.Invite(r.Context(), membership.NewInvitation{
		Uses: body.MaxUses, Life: time.Duration(body.ExpiresIn) * time.Second, Note: body.Note,
	})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, MadeInvitation{
		Invitation: invitationBody(i, i.Created), Code: code, Path: InvitePath + code,
	})
}

func (a api) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := a.Book.RevokeInvitation(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func memberBody(m membership.Member) Member {
	out := Member{DID: m.DID, Note: m.Note, Invitation: m.Invite}
	if !m.Added.IsZero() {
		out.Added = timestamp(m.Added)
	}
	return out
}

func invitationBody(i membership.Invitation, now time.Time) Invitation {
	return Invitation{
		ID: i.ID, Note: i.Note, Uses: i.Uses, MaxUses: i.MaxUses, Created: timestamp(i.Created),
		Expires: timestamp(i.Expires), Over: i.Over(now),
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return listLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > listMax {
		return 0, fault.Newf(fault.Invalid, "limit must be a whole number from 1 to %d", listMax)
	}
	return n, nil
}
