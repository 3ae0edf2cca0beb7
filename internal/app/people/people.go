// Package people lets operators find who uses a deployment, say what one of them may have,
// keep somebody out, and export and erase what is kept of somebody.
//
// Who they are is known by what they have here: a membership, files, conversations,
// delegations, or a block. Each of those has them in order, so that a page reads as many
// rows as it shows, whatever else is there.
package people

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// The bounds of a page and of a search.
const (
	usualPage, mostPage = 50, 200
	maxSearch           = 200
)

// List pages through names, in order of their bytes.
type List func(ctx context.Context, after string, limit int) ([]string, error)

// Deps is what people stand on.
type Deps struct {
	Book *membership.Book
	// Announce makes every node look who may come in.
	Announce func(ctx context.Context)
	// Lists are those who have something stored.
	Lists []List
	// RoleOf returns the role of a DID.
	RoleOf func(ctx context.Context, did string) (operators.Role, error)
	// PersonOf returns in whose name a key signs: a lost one may have been bound anew.
	PersonOf func(did string) string
	// Service is the deployment's own DID.
	Service string
	// Quotas are what operators chose for single people, Usual is what holds for all.
	Quotas *membership.Quotas
	Usual  func() Limits
	// Used says how much of it a DID used.
	Used func(ctx context.Context, did string) (Limits, error)
	// Holdings are what is kept of people, in the order in which it is erased. Elsewhere
	// names services that keep something too and that this node does not have.
	Holdings []Holding
	// Settles is how long after a block all nodes know of it, and what began before it ended.
	Settles   time.Duration
	Elsewhere func(ctx context.Context) ([]string, error)
	// Export writes all of that.
	Export func(ctx context.Context, did string, a *Archive) error
	Log    *slog.Logger
}

// Person is what operators see of somebody.
type Person struct {
	DID string `json:"did"`
	// Note reminds of who it is, where they are a member.
	Note   string `json:"note,omitempty"`
	Member bool   `json:"member"`
	// Invitation is the one by which they came.
	Invitation string         `json:"invitation,omitempty"`
	Added      *time.Time     `json:"added,omitempty"`
	Role       operators.Role `json:"role,omitempty"`
	Blocked    *Block         `json:"blocked,omitempty"`
}

// Block is that somebody is kept out.
type Block struct {
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Note string    `json:"note,omitempty"`
}

// Page is the body of GET /operator/people.
type Page struct {
	People []Person `json:"people"`
	// Next continues the list; it is empty at its end.
	Next string `json:"next,omitempty"`
	// More says that a search by note has more than are shown.
	More bool `json:"more,omitempty"`
}

// NewBlock is the body of PUT /operator/people/{did}/block.
type NewBlock struct {
	// Note says why, for operators.
	Note string `json:"note,omitempty"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	tags := []string{"Operators"}
	did := []httpserver.Param{{Name: "did", In: "path", Required: true, Doc: "The person's DID."}}
	return httpserver.Surface{Name: "people", Doc: "Who uses this deployment.", Routes: append([]httpserver.Route{
		{
			Method: http.MethodGet, Pattern: "/operator/people", Auth: httpserver.Operator, Tags: tags,
			Summary: "People", Doc: "Members, who has something stored here, and who is blocked. Telephones are not among them.",
			Params: []httpserver.Param{
				{Name: "search", In: "query", Doc: "How their DID begins, or their note."},
				{Name: "after", In: "query", Doc: "`next` of the page before."},
				{Name: "limit", In: "query", Schema: 0, Doc: "At most 200, usually 50."},
			},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Page{}}}, Handler: d.list,
		},
		{
			Method: http.MethodPut, Pattern: "/operator/people/{did}/block", Auth: httpserver.Operator, Tags: tags, Params: did,
			Summary: "Block somebody", Doc: "Every node refuses them, and what they delegated, within a second, also where everybody may come in; open streams and sockets end. What they stored stays.",
			Body: NewBlock{}, Replies: []httpserver.Reply{
				{Status: http.StatusOK, Body: Person{}}, {Status: http.StatusConflict, Doc: "They have a role, or are the deployment itself."},
			}, Handler: d.block,
		},
		{
			Method: http.MethodDelete, Pattern: "/operator/people/{did}/block", Auth: httpserver.Operator, Tags: tags, Params: did,
			Summary: "End a block", Doc: "They may come in again as others may.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Person{}}}, Handler: d.unblock,
		},
	}, append(d.quotaRoutes(tags, did), d.exportRoute(tags, did), d.eraseRoute(tags, did))...)}
}

func (d Deps) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := usualPage
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostPage {
			return fault.Newf(fault.Invalid, "limit: given %.20q, allowed are 1 to %d", text, mostPage)
		}
		limit = n
	}
	search := strings.TrimSpace(q.Get("search"))
	if len(search) > maxSearch {
		return fault.Newf(fault.Invalid, "search: %d bytes, allowed are %d", len(search), maxSearch)
	}
	after := q.Get("after")
	if !isText(search) || !isText(after) {
		return fault.New(fault.Invalid, "search and after are text in UTF-8")
	}
	page, err := d.Page(r.Context(), search, after, limit)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, page)
}

// Page returns people in order of DID whose DID begins with a search, or those whose note does.
func (d Deps) Page(ctx context.Context, search, after string, limit int) (Page, error) {
	if search != "" && !strings.HasPrefix(search, "did:") {
		return d.noted(ctx, search, limit)
	}
	lists := append([]List{d.members, d.Book.BlockedDIDs}, d.Lists...)
	var names []string
	for _, list := range lists {
		some, err := list(ctx, max(after, membership.Below(search)), limit+1)
		if err != nil {
			return Page{}, err
		}
		for _, name := range some {
			if strings.HasPrefix(name, search) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	page := Page{People: []Person{}}
	if len(names) > limit {
		names = names[:limit]
		page.Next = names[limit-1]
	}
	for _, name := range names {
		did := DIDOf(name)
		if did == "" || did == d.Service {
			continue
		}
		p, err := d.person(ctx, did)
		if err != nil {
			return Page{}, err
		}
		page.People = append(page.People, p)
	}
	return page, nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func (d Deps) members(ctx context.Context, after string, limit int) ([]string, error) {
	list, err := d.Book.Members(ctx, after, limit)
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.DID
	}
	return names, err
}

func (d Deps) noted(ctx context.Context, begins string, limit int) (Page, error) {
	list, err := d.Book.MembersNoted(ctx, begins, limit+1)
	if err != nil {
		return Page{}, err
	}
	page := Page{People: []Person{}, More: len(list) > limit}
	for _, m := range list[:min(len(list), limit)] {
		p, err := d.person(ctx, m.DID)
		if err != nil {
			return Page{}, err
		}
		page.People = append(page.People, p)
	}
	return page, nil
}

func (d Deps) person(ctx context.Context, did string) (Person, error) {
	p := Person{DID: did}
	m, block, err := d.Book.Standing(ctx, did)
	if err != nil {
		return p, err
	}
	if m != nil {
		p.Note, p.Member, p.Invitation, p.Added = m.Note, true, m.Invite, &m.Added
	}
	if block != nil {
		p.Blocked = &Block{At: block.At, By: block.By, Note: block.Note}
	}
	p.Role, err = d.RoleOf(ctx, did)
	return p, err
}

func (d Deps) block(w http.ResponseWriter, r *http.Request) error {
	var body NewBlock
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	ctx := r.Context()
	did, err := d.named(r)
	if err != nil {
		return err
	}
	role, err := d.RoleOf(ctx, did)
	switch {
	case err != nil:
		return err
	case did == d.Service:
		return fault.New(fault.Conflict, "This is the deployment itself.")
	case role != operators.None:
		return fault.Newf(fault.Conflict, "They are %s here: an owner takes that away first", role).WithCode("has_role")
	}
	if _, err := d.Book.Block(ctx, did, body.Note, httpserver.OperatorOf(ctx).Name); err != nil {
		return err
	}
	return d.answer(w, r, did)
}

// named is the person whom a request names. A key that signs in another's name is nobody:
// what is kept, and the role, is under the name.
func (d Deps) named(r *http.Request) (string, error) {
	did := r.PathValue("did")
	if person := d.PersonOf(did); person != did {
		return "", fault.Newf(fault.Conflict, "The key %s signs in the name of %s: name that DID", did, person).WithCode("bound_key")
	}
	return did, nil
}

func (d Deps) unblock(w http.ResponseWriter, r *http.Request) error {
	did := r.PathValue("did")
	if err := d.Book.Unblock(r.Context(), did); err != nil {
		return err
	}
	return d.answer(w, r, did)
}

func (d Deps) answer(w http.ResponseWriter, r *http.Request, did string) error {
	d.Announce(r.Context())
	p, err := d.person(r.Context(), did)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, p)
}
