// Package ussdkeyhttp has the routes of requests for new keys: for people, who ask with the
// new key and refuse with the old one, and for operators, who decide.
//
// Numbers of telephones go out masked. A code is in one answer, once, which no cache may keep.
package ussdkeyhttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

const (
	pathOperators = "/operator/ussd/key-requests"
	pathPersons   = "/api/key-requests"
	maxBody       = 4 << 10
)

// KeyRequest is a request that a new key takes the place of a lost one.
type KeyRequest struct {
	ID        string     `json:"id"`
	Account   string     `json:"account"`
	Phone     string     `json:"phoneNumber,omitempty" jsonschema:"masked; for operators"`
	Person    string     `json:"person" jsonschema:"the DID whose key was lost, and in whose name the new one signs"`
	Key       string     `json:"key" jsonschema:"the DID of the new key"`
	Linked    time.Time  `json:"linkedAt" jsonschema:"since when the telephone and the person are one"`
	Asked     time.Time  `json:"askedAt"`
	Ready     time.Time  `json:"readyAt" jsonschema:"from then on it can be approved"`
	Expires   time.Time  `json:"expiresAt"`
	State     string     `json:"state" jsonschema:"waiting, approved, refused, cancelled, undone or expired"`
	Decided   *time.Time `json:"decidedAt,omitempty"`
	DecidedBy string     `json:"decidedBy,omitempty"`
	MayUndo   bool       `json:"mayUndo,omitempty" jsonschema:"whether the operator who asks may undo it"`
}

// KeyRequestList is requests, the newest first.
type KeyRequestList struct {
	Requests []KeyRequest `json:"requests"`
}

// NewKeyRequest names the account of the telephone that is linked with the lost key.
type NewKeyRequest struct {
	Account string `json:"account" jsonschema:"the account ID that the telephone shows in the profile"`
}

func shown(r ussdkey.Request) KeyRequest {
	out := KeyRequest{
		ID: r.ID, Account: r.Account, Person: r.Person, Key: r.Key, Linked: r.Linked, Asked: r.Asked, Ready: r.Ready,
		Expires: r.Expires, State: string(r.State), DecidedBy: r.DecidedBy,
	}
	if !r.Decided.IsZero() {
		out.Decided = &r.Decided
	}
	return out
}

// answer writes what no cache may keep: it is about people.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Cache-Control", "no-store")
	return httpserver.WriteJSON(w, http.StatusOK, v)
}

var idParam = []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "the request's identifier"}}

func replies(conflict string) []httpserver.Reply {
	return []httpserver.Reply{
		{Status: http.StatusOK, Body: KeyRequest{}},
		{Status: http.StatusNotFound, Doc: "no such request"},
		{Status: http.StatusConflict, Doc: conflict},
	}
}

type operators struct{ keys *ussdkey.Service }

// Operators returns the routes of operators.
func Operators(keys *ussdkey.Service) httpserver.Surface {
	a := operators{keys}
	routes := []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: pathOperators, Summary: "Requests for new keys", InnerRole: httpserver.Owner,
			Doc:     "Those that wait, and those that were approved and can be undone.",
			Params:  []httpserver.Param{{Name: "all", In: "query", Doc: "true lists the others too"}},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: KeyRequestList{}}},
			Handler: a.list,
		},
		{
			Method: http.MethodPost, Pattern: pathOperators + "/{id}/approve", Summary: "Bind a new key to a person", Params: idParam,
			Doc: "Find out who asks first. From then on the new key signs in the name of the person, and whatever the old one signed is refused. " +
				"Nobody approves what is about themselves, nor does whom they lend their role; about who has a role here an owner decides, in person.",
			Replies:   replies("it does not wait any more or not long enough, or the key was used for something of its own"),
			InnerRole: httpserver.Owner, Handler: a.approve,
		},
		{
			Method: http.MethodPost, Pattern: pathOperators + "/{id}/refuse", Summary: "Refuse a request for a new key", Params: idParam,
			Replies: replies("it does not wait any more"), Handler: a.refuse,
		},
		{
			Method: http.MethodPost, Pattern: pathOperators + "/{id}/undo", Summary: "Give a person the key before back", Params: idParam,
			Doc:       "For mistakes. The new key is nobody's from then on, and cannot be bound again.",
			Replies:   replies("it was not approved, or another key took its place since"),
			InnerRole: httpserver.Owner, Handler: a.undo,
		},
	}
	for i := range routes {
		routes[i].Auth, routes[i].Tags = httpserver.Operator, []string{"ussd operator"}
	}
	return httpserver.Surface{Name: "ussd keys", Doc: "New keys in the place of lost ones, for operators.", Routes: routes}
}

// masked is a request for the operator who asks.
func (a operators) masked(r *http.Request, k ussdkey.Request) (out KeyRequest, err error) {
	out = shown(k)
	if k.Phone != "" {
		out.Phone = telemetry.MaskPhone(k.Phone)
	}
	if httpserver.OperatorOf(r.Context()).Role >= httpserver.Changer { // what the route of undoing needs
		out.MayUndo, err = a.keys.MayUndo(r.Context(), k, operator(r))
	}
	return out, err
}

func (a operators) list(w http.ResponseWriter, r *http.Request) error {
	all, err := a.keys.Open(r.Context(), r.URL.Query().Get("all") == "true")
	if err != nil {
		return err
	}
	out := KeyRequestList{Requests: make([]KeyRequest, len(all))}
	for i := range all {
		if out.Requests[i], err = a.masked(r, all[i]); err != nil {
			return err
		}
	}
	return answer(w, out)
}

func operator(r *http.Request) ussdkey.Operator {
	who := httpserver.OperatorOf(r.Context())
	return ussdkey.Operator{Name: who.Name, Owner: who.Role == httpserver.Owner && !who.Lent, From: who.From}
}

func (a operators) approve(w http.ResponseWriter, r *http.Request) error {
	return a.decided(w, r)(a.keys.Approve(r.Context(), r.PathValue("id"), operator(r)))
}

func (a operators) refuse(w http.ResponseWriter, r *http.Request) error {
	return a.decided(w, r)(a.keys.Refuse(r.Context(), r.PathValue("id"), operator(r).Name))
}

func (a operators) undo(w http.ResponseWriter, r *http.Request) error {
	return a.decided(w, r)(a.keys.Undo(r.Context(), r.PathValue("id"), operator(r)))
}

func (a operators) decided(w http.ResponseWriter, r *http.Request) func(ussdkey.Request, error) error {
	return func(k ussdkey.Request, err error) error {
		if err != nil {
			return err
		}
		out, _ := a.masked(r, k) // it is decided, and the list says who may undo it
		return answer(w, out)
	}
}

// PersonDeps is what the routes of people need.
type PersonDeps struct {
	Keys   *ussdkey.Service
	People *ussdpeople.Service
	// Authenticate is that of identity.Entrance: a new key is no member of anything yet.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

type persons struct{ PersonDeps }

// Persons returns the routes of people.
func Persons(d PersonDeps) httpserver.Surface {
	a := persons{d}
	routes := []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: pathPersons, Summary: "Make a code that asks for a new key",
			Doc: "For who lost a key whose telephone is linked. Ask with the new key and type the code at the telephone within ten minutes: " +
				"log in to the account, choose My profile, Lost key, and give the PIN. That makes a request, which an operator has to approve.",
			Body: NewKeyRequest{}, MaxBody: maxBody,
			Replies: []httpserver.Reply{
				{Status: http.StatusOK, Body: ussdpeople.Told{}},
				{Status: http.StatusConflict, Doc: "the key was used for something of its own: make another one"},
			},
			Handler: identityhttp.InPerson("Keys", a.begin),
		},
		{
			Method: http.MethodGet, Pattern: pathPersons, Summary: "Requests for new keys that are about the caller",
			Doc:     "For the caller's key, which can refuse them, or made with it.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: KeyRequestList{}}},
			Handler: identityhttp.InPerson("Keys", a.list),
		},
		{
			Method: http.MethodPost, Pattern: pathPersons + "/{id}/refuse", Summary: "Refuse a new key with the old one", Params: idParam,
			Doc:     "Whoever has the key that would be replaced is stronger than the telephone. Unlink the telephone too, if it is in wrong hands.",
			Replies: replies("it does not wait any more"), Handler: identityhttp.InPerson("Keys", a.refuse),
		},
	}
	for i := range routes {
		routes[i].Auth, routes[i].Tags = httpserver.Principal, []string{"Telephones"}
	}
	return httpserver.Surface{
		Name: "new keys", Doc: "New keys in the place of lost ones.", CORS: d.CORS, Authenticate: d.Authenticate, Routes: routes,
	}
}

func (a persons) begin(w http.ResponseWriter, r *http.Request, did string) error {
	var in NewKeyRequest
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	if err := a.Keys.Fresh(r.Context(), did); err != nil {
		return err
	}
	told, err := a.People.KeyCode(r.Context(), did, in.Account)
	if err != nil {
		return err
	}
	return answer(w, told)
}

func (a persons) list(w http.ResponseWriter, r *http.Request, did string) error {
	all, err := a.Keys.Of(r.Context(), did)
	if err != nil {
		return err
	}
	out := KeyRequestList{Requests: make([]KeyRequest, len(all))}
	for i := range all {
		out.Requests[i] = shown(all[i])
	}
	return answer(w, out)
}

func (a persons) refuse(w http.ResponseWriter, r *http.Request, did string) error {
	done, err := a.Keys.RefuseOwn(r.Context(), r.PathValue("id"), did)
	if err != nil {
		return err
	}
	return answer(w, shown(done))
}
