// Package ussdpeoplehttp has the routes with which operators keep accounts of
// telephones.
//
// Numbers of telephones come in bodies, never in paths, which are logged on the way,
// and go out masked. A code is in one answer, once, which no cache may keep.
package ussdpeoplehttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

// maxBody bounds a request: a number, or a few words.
const maxBody = 4 << 10

const pathAccounts = "/operator/ussd/accounts"

// Account is one account in a list. Its number is masked.
type Account struct {
	Account  string     `json:"account"`
	Phone    string     `json:"phoneNumber" jsonschema:"masked"`
	Name     string     `json:"name"`
	Email    string     `json:"email,omitempty"`
	Language string     `json:"language"`
	Created  time.Time  `json:"createdAt"`
	Closed   *time.Time `json:"closedAt,omitempty"`
	DID      string     `json:"did,omitempty" jsonschema:"the person that it is linked with"`
}

// AccountList is a page of accounts, in order of their ids.
type AccountList struct {
	Accounts []Account `json:"accounts"`
}

// AccountSearch is which accounts to list.
type AccountSearch struct {
	PhoneNumber string `json:"phoneNumber,omitempty" jsonschema:"the whole E.164 number"`
	Text        string `json:"text,omitempty" jsonschema:"a part of the name or the e-mail address"`
	After       string `json:"after,omitempty" jsonschema:"the last account of the page before"`
	Limit       int    `json:"limit,omitempty" jsonschema:"1 to 500, which it is when not given"`
}

// Destination is the telephone that an account moves to.
type Destination struct {
	PhoneNumber string `json:"phoneNumber" jsonschema:"the whole E.164 number"`
}

// Done names the account that something was done to.
type Done struct {
	Account string `json:"account"`
}

// ActList is what was done to accounts, the newest first.
type ActList struct {
	Acts []ussdpeople.Act `json:"acts"`
}

type operators struct {
	people *ussdpeople.Service
}

// Operators returns the routes of operators.
func Operators(people *ussdpeople.Service) httpserver.Surface {
	a := operators{people: people}
	account := []httpserver.Param{{Name: "account", In: "path", Required: true, Doc: "the account's identifier"}}
	reply := func(v any) []httpserver.Reply {
		return []httpserver.Reply{
			{Status: http.StatusOK, Body: v},
			{Status: http.StatusNotFound, Doc: "no such account, or the caller is not an operator"},
		}
	}
	routes := []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: pathAccounts, Summary: "Accounts of telephones", Replies: reply(AccountList{}), Handler: a.list,
			Params: []httpserver.Param{
				{Name: "after", In: "query", Doc: "the last account of the page before"},
				{Name: "limit", In: "query", Schema: 0, Doc: "1 to 500, which it is when not given"},
			},
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/search", Summary: "Find accounts by number, name or e-mail",
			Body: AccountSearch{}, MaxBody: maxBody, Replies: reply(AccountList{}), Handler: a.search,
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/{account}/reset-pin", Summary: "Make a code that resets a PIN", Params: account,
			Doc: "Tell the code to the caller, once you know who that is. It is good for 30 minutes, for five tries, once, and on the account's own telephone. " +
				"Using it ends the account's link with a person.",
			Replies: reply(ussdpeople.Told{}), Handler: a.resetPIN,
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/{account}/reset-pin/sms", Summary: "Make a code that resets a PIN, and send its beginning", Params: account,
			Doc: "The same code. Its first three digits go to the account's own telephone by a text message and are shown to nobody; the other five are the answer. " +
				"Find out who asks and tell them those: neither the telephone nor what you tell is enough alone.",
			Replies: append(reply(ussdpeople.Told{}),
				httpserver.Reply{Status: http.StatusConflict, Doc: "there is no gateway for text messages, or the number gets none now"}), Handler: a.sendResetPIN,
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/{account}/close", Summary: "Close an account", Params: account,
			Doc: "Nobody logs in to it any more, and its PIN is forgotten; its record stays until it is erased.", Replies: reply(Done{}), Handler: a.close,
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/{account}/erase", Summary: "Erase an account", Params: account,
			Doc: "Removes it with its sessions, questions and conversations, and answers with a receipt that names nobody.", Replies: reply(ussdpeople.Receipt{}), Handler: a.erase,
		},
		{
			Method: http.MethodPost, Pattern: pathAccounts + "/{account}/move", Summary: "Move an account to another telephone", Params: account,
			Doc:  "Its PIN stays. Its sessions and its link with a person end.",
			Body: Destination{}, MaxBody: maxBody,
			Replies: append(reply(Done{}), httpserver.Reply{Status: http.StatusConflict, Doc: "the telephone has enough accounts"}), Handler: a.move,
		},
		{
			Method: http.MethodGet, Pattern: "/operator/ussd/acts", Summary: "What was done to accounts", Replies: reply(ActList{}), Handler: a.acts,
			Params: []httpserver.Param{
				{Name: "account", In: "query", Doc: "one account; all when not given"},
				{Name: "limit", In: "query", Schema: 0, Doc: "1 to 500; 50 when not given"},
			},
		},
	}
	for i := range routes {
		routes[i].Auth, routes[i].Tags = httpserver.Operator, []string{"USSD, for operators"}
	}
	return httpserver.Surface{Name: "ussd people", Doc: "Accounts of telephones, for operators.", Routes: routes}
}

func (a operators) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, maxPage)
	if err != nil {
		return err
	}
	return a.page(w, r, ussdpeople.Search{After: r.URL.Query().Get("after"), Limit: limit})
}

func (a operators) search(w http.ResponseWriter, r *http.Request) error {
	var in AccountSearch
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	if in.Limit < 0 || in.Limit > maxPage {
		return fault.Newf(fault.Invalid, "limit must be a number from 1 to %d", maxPage)
	}
	return a.page(w, r, ussdpeople.Search{Phone: in.PhoneNumber, Text: in.Text, After: in.After, Limit: in.Limit})
}

func (a operators) page(w http.ResponseWriter, r *http.Request, q ussdpeople.Search) error {
	found, err := a.people.Accounts(r.Context(), q)
	if err != nil {
		return err
	}
	out := AccountList{Accounts: make([]Account, len(found))}
	for i, one := range found {
		out.Accounts[i] = Account{
			Account: one.ID, Phone: telemetry.MaskPhone(one.Phone), Name: one.Name, Email: one.Email, Language: one.Language,
			Created: one.Created, DID: one.DID,
		}
		if !one.Closed.IsZero() {
			out.Accounts[i].Closed = &one.Closed
		}
	}
	return answer(w, out)
}

// answer writes what no cache may keep: it is about people.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, v)
}

func (a operators) resetPIN(w http.ResponseWriter, r *http.Request) error {
	told, err := a.people.ResetCode(r.Context(), r.PathValue("account"), httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	return answer(w, told)
}

func (a operators) sendResetPIN(w http.ResponseWriter, r *http.Request) error {
	told, err := a.people.SendResetCode(r.Context(), r.PathValue("account"), httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	return answer(w, told)
}

func (a operators) close(w http.ResponseWriter, r *http.Request) error {
	if err := a.people.Close(r.Context(), r.PathValue("account"), httpserver.OperatorOf(r.Context()).Name); err != nil {
		return err
	}
	return answer(w, Done{Account: r.PathValue("account")})
}

func (a operators) erase(w http.ResponseWriter, r *http.Request) error {
	receipt, err := a.people.Erase(r.Context(), r.PathValue("account"), httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	return answer(w, receipt)
}

func (a operators) move(w http.ResponseWriter, r *http.Request) error {
	var in Destination
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	if err := a.people.Move(r.Context(), r.PathValue("account"), in.PhoneNumber,
		httpserver.OperatorOf(r.Context()).Name); err != nil {
		return err
	}
	return answer(w, Done{Account: r.PathValue("account")})
}

func (a operators) acts(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, defaultActs)
	if err != nil {
		return err
	}
	acts, err := a.people.Acts(r.Context(), r.URL.Query().Get("account"), limit)
	if err != nil {
		return err
	}
	return answer(w, ActList{Acts: acts})
}

const (
	maxPage     = 500
	defaultActs = 50
)

func limitOf(r *http.Request, def int) (int, error) {
	given := r.URL.Query().Get("limit")
	if given == "" {
		return def, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > maxPage {
		return 0, fault.Newf(fault.Invalid, "limit must be a number from 1 to %d", maxPage)
	}
	return n, nil
}
