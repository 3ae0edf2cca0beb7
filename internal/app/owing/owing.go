// Package owing lets operators see what people have in credits and owe, and has claims that
// failed tried again.
//
// It promises that a page reads as many rows as it shows, whatever else is owed. Where the plugins of
// credits and claims are off, the answers say so and are empty.
package owing

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/plugins/claims"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
)

// The bounds of a page, and of what is asked for.
const (
	usualPage, mostPage = 50, 200
	maxText             = 500
)

// Claims are the claims of all people.
type Claims interface {
	Overview(ctx context.Context, after string, limit int) (page []claims.Owed, next string, err error)
	PutAside(ctx context.Context, after string, limit int) (page []claims.Owed, next string, err error)
	TryAgain(ctx context.Context, id string) (bool, error)
}

// Credits are the accounts of all people.
type Credits interface {
	AccountOf(ctx context.Context, did string) (credits.Account, []credits.Claim, error)
}

// Deps is what the routes stand on.
type Deps struct {
	Claims  Claims  // nil where the plugin is off
	Credits Credits // the same
	// People finds whose accounts are shown.
	People func(ctx context.Context, search, after string, limit int) (people.Page, error)
}

// Use takes the plugins that are on.
func (d *Deps) Use(loaded []registry.Loaded) {
	for _, l := range loaded {
		if c, ok := l.Plugin.(Claims); ok {
			d.Claims = c
		}
		if c, ok := l.Plugin.(Credits); ok {
			d.Credits = c
		}
	}
}

// ClaimPage is the body of GET /operator/claims.
type ClaimPage struct {
	// On says that the plugin is on.
	On     bool          `json:"on"`
	Claims []claims.Owed `json:"claims"`
	// Next continues the list; it is empty at its end.
	Next string `json:"next,omitempty"`
}

// Balance is what somebody has.
type Balance struct {
	DID string `json:"did"`
	// Note reminds of who it is, where they are a member.
	Note string `json:"note,omitempty"`
	credits.Account
	// Claims are what they owe, at most a hundred.
	Claims []credits.Claim `json:"claims"`
}

// BalancePage is the body of GET /operator/credits.
type BalancePage struct {
	On       bool      `json:"on"`
	Balances []Balance `json:"balances"`
	Next     string    `json:"next,omitempty"`
	// More says that a search by note has more than are shown.
	More bool `json:"more,omitempty"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	tags := []string{"Operators"}
	limit := httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "At most 200, usually 50."}
	after := httpserver.Param{Name: "after", In: "query", Doc: "`next` of the page before."}
	return httpserver.Surface{Name: "owing", Doc: "Credits and claims of all people.", Routes: []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: "/operator/claims", Auth: httpserver.Operator, Tags: tags, Summary: "Claims",
			Doc: "What is owed: outstanding claims and submitted ones, or, with `state=failed`, those that were put aside after all their tries, with why. `on` is false where the plugin is off.",
			Params: []httpserver.Param{
				{Name: "state", In: "query", Doc: "owed (as without it) or failed."}, after, limit,
			},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: ClaimPage{}}}, Handler: d.claims,
		},
		{
			Method: http.MethodPost, Pattern: "/operator/claims/{id}/retry", Auth: httpserver.Operator, Tags: tags,
			Summary: "Try a claim again", Doc: "Gives a claim that failed all its tries again.",
			Params:  []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "The claim."}},
			Replies: []httpserver.Reply{{Status: http.StatusNoContent}, {Status: http.StatusNotFound, Doc: "It had not failed."}},
			Handler: d.retry,
		},
		{
			Method: http.MethodGet, Pattern: "/operator/credits", Auth: httpserver.Operator, Tags: tags, Summary: "Credits of people",
			Doc:     "What each has, spent and owes, in order of DID: of the people that `GET /operator/people` lists. `on` is false where turns cost no credits.",
			Params:  []httpserver.Param{{Name: "search", In: "query", Doc: "How their DID begins, or their note."}, after, limit},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: BalancePage{}}}, Handler: d.balances,
		},
	}}
}

// asked is what a page is asked for.
type asked struct {
	state, search, after string
	limit                int
}

func read(r *http.Request) (a asked, err error) {
	q := r.URL.Query()
	a = asked{state: q.Get("state"), search: strings.TrimSpace(q.Get("search")), after: q.Get("after"), limit: usualPage}
	if text := q.Get("limit"); text != "" {
		if a.limit, err = strconv.Atoi(text); err != nil || a.limit < 1 || a.limit > mostPage {
			return a, fault.Newf(fault.Invalid, "limit: given %.20q, allowed are 1 to %d", text, mostPage)
		}
	}
	texts := a.search + a.after
	if max(len(a.search), len(a.after)) > maxText || !utf8.ValidString(texts) || strings.ContainsRune(texts, 0) {
		return a, fault.Newf(fault.Invalid, "search and after are text in UTF-8 of at most %d bytes", maxText)
	}
	return a, nil
}

func (d Deps) claims(w http.ResponseWriter, r *http.Request) error {
	a, err := read(r)
	if err != nil {
		return err
	}
	body := ClaimPage{On: d.Claims != nil, Claims: []claims.Owed{}}
	if a.state != "" && a.state != "owed" && a.state != string(claims.Failed) {
		return fault.Newf(fault.Invalid, "state: given %.20q, allowed are owed and failed", a.state)
	}
	if body.On {
		list := d.Claims.Overview
		if a.state == string(claims.Failed) {
			list = d.Claims.PutAside
		}
		page, next, err := list(r.Context(), a.after, a.limit)
		if err != nil {
			return err
		}
		body.Claims, body.Next = append(body.Claims, page...), next
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (d Deps) retry(w http.ResponseWriter, r *http.Request) error {
	again, err := false, error(nil)
	if d.Claims != nil {
		again, err = d.Claims.TryAgain(r.Context(), r.PathValue("id"))
	}
	if err == nil && !again {
		err = fault.New(fault.NotFound, "There is no such claim among those that failed.")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d Deps) balances(w http.ResponseWriter, r *http.Request) error {
	a, err := read(r)
	if err != nil {
		return err
	}
	body := BalancePage{On: d.Credits != nil, Balances: []Balance{}}
	if !body.On {
		return httpserver.WriteJSON(w, http.StatusOK, body)
	}
	page, err := d.People(r.Context(), a.search, a.after, a.limit)
	if err != nil {
		return err
	}
	body.Next, body.More = page.Next, page.More
	for _, p := range page.People {
		account, owed, err := d.Credits.AccountOf(r.Context(), p.DID)
		if err != nil {
			return err
		}
		body.Balances = append(body.Balances, Balance{DID: p.DID, Note: p.Note, Account: account, Claims: owed})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}
