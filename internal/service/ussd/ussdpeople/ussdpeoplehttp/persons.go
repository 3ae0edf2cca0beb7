package ussdpeoplehttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

const pathLinks = "/api/telephones"

// NewLink names the account of a telephone that a person wants to be one with.
type NewLink struct {
	Account string `json:"account" jsonschema:"the account ID that the telephone shows in the profile"`
}

// Link is an account of a telephone that is the same person as the caller.
type Link struct {
	Account string    `json:"account"`
	Linked  time.Time `json:"linkedAt"`
}

// LinkList is the accounts that are the same person as the caller.
type LinkList struct {
	Telephones []Link `json:"telephones"`
}

// PersonDeps is what the routes of people need.
type PersonDeps struct {
	People *ussdpeople.Service
	// Authenticate is that of identity.Oracle.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

type persons struct{ people *ussdpeople.Service }

// Persons returns the routes with which people link their telephones.
func Persons(d PersonDeps) httpserver.Surface {
	a := persons{d.People}
	account := []httpserver.Param{{Name: "account", In: "path", Required: true, Doc: "the account's identifier"}}
	routes := []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: pathLinks, Summary: "Make a code that links a telephone",
			Doc: "Type the code at the telephone within ten minutes: log in to the account, choose My profile, Link web, and give the PIN. " +
				"From then on the account asks the oracle and the documents as the caller.",
			Body: NewLink{}, MaxBody: maxBody, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: ussdpeople.Told{}}},
			Handler: identityhttp.InPerson("Telephones", a.begin),
		},
		{
			Method: http.MethodGet, Pattern: pathLinks, Summary: "The caller's telephones",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: LinkList{}}},
			Handler: identityhttp.InPerson("Telephones", a.list),
		},
		{
			Method: http.MethodDelete, Pattern: pathLinks + "/{account}", Summary: "Unlink a telephone", Params: account,
			Doc: "Doing it again is fine.", Replies: []httpserver.Reply{{Status: http.StatusNoContent}},
			Handler: identityhttp.InPerson("Telephones", a.unlink),
		},
		{
			Method: http.MethodPost, Pattern: pathLinks + "/{account}/reset-pin", Summary: "Make a code that resets the PIN of a linked telephone", Params: account,
			Doc: "Good for ten minutes, once, at the account's own telephone.",
			Replies: []httpserver.Reply{
				{Status: http.StatusOK, Body: ussdpeople.Told{}},
				{Status: http.StatusNotFound, Doc: "the caller is not linked with that account"},
			}, Handler: identityhttp.InPerson("Telephones", a.resetPIN),
		},
	}
	for i := range routes {
		routes[i].Auth, routes[i].Tags = httpserver.Principal, []string{"Telephones"}
	}
	return httpserver.Surface{
		Name: "telephones", Doc: "Telephones of people who also have a key.", CORS: d.CORS, Authenticate: d.Authenticate, Routes: routes,
	}
}

func (a persons) begin(w http.ResponseWriter, r *http.Request, did string) error {
	var in NewLink
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	told, err := a.people.LinkCode(r.Context(), did, in.Account)
	if err != nil {
		return err
	}
	return answer(w, told)
}

func (a persons) list(w http.ResponseWriter, r *http.Request, did string) error {
	links, err := a.people.LinkedAccounts(r.Context(), did)
	if err != nil {
		return err
	}
	out := LinkList{Telephones: make([]Link, len(links))}
	for i, l := range links {
		out.Telephones[i] = Link{Account: l.Account, Linked: l.Created}
	}
	return answer(w, out)
}

func (a persons) unlink(w http.ResponseWriter, r *http.Request, did string) error {
	if err := a.people.Unlink(r.Context(), did, r.PathValue("account")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a persons) resetPIN(w http.ResponseWriter, r *http.Request, did string) error {
	told, err := a.people.OwnResetCode(r.Context(), did, r.PathValue("account"))
	if err != nil {
		return err
	}
	return answer(w, told)
}
