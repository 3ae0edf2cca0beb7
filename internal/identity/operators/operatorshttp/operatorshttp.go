// Package operatorshttp has the routes of operators' roles, and says who signed a
// request to an operators' route.
//
// Opening a setup link is bound to the DID that signed the request; wrong codes count
// as wrong credentials of their address. An owner cannot take the own role away: a
// slip must not lock a community out of its console. Whoever has ownership by a
// delegation cannot give or take roles: those would outlive it.
package operatorshttp

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// SetupPath is the page of the console that opens a link, whose code stands behind
// the # so that no server and no proxy sees it.
const SetupPath = "/console/setup#"

// setupRoute opens a link.
const setupRoute = "/api/setup"

// maxListed bounds one answer; operators are few.
const maxListed = 500

// Deps is what the routes need.
type Deps struct {
	Book *operators.Book
	// Authenticate is that of identity.Entrance.
	Authenticate func(httpserver.Handler) httpserver.Handler
	// Guessed counts a wrong code and returns the refusal that is due.
	Guessed func(ctx context.Context) error
	// Welcome lets a new operator in where strangers may not come.
	Welcome func(ctx context.Context, did string) error
	// Audit, when set, writes down who became an owner: nobody is an operator before that.
	Audit func(ctx context.Context, who httpserver.OperatorIdentity, act, target string) (func(status int), error)
	CORS  httpserver.CORSPolicy
}

// Me is the body of GET /operator/me.
type Me struct {
	// Name is a DID, or which secret was shown.
	Name string `json:"name"`
	Role string `json:"role"`
}

// Record is an operator.
type Record struct {
	DID   string `json:"did"`
	Role  string `json:"role"`
	Note  string `json:"note,omitempty"`
	By    string `json:"by,omitempty"`
	Added string `json:"added"`
}

// List is the body of GET /operator/operators.
type List struct {
	Operators []Record `json:"operators"`
	// Next continues the list; it is empty at its end.
	Next string `json:"next,omitempty"`
}

// NewRecord is the body of PUT /operator/operators/{did}.
type NewRecord struct {
	Role string `json:"role"`
	Note string `json:"note,omitempty"`
}

// Open is the body of POST /api/setup.
type Open struct {
	Code string `json:"code"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	a := api{d}
	tags, did := []string{"Operators"}, httpserver.Param{Name: "did", In: "path", Required: true, Doc: "The operator's DID."}
	return httpserver.Surface{
		Name: "operators", Doc: "Who runs this deployment.", CORS: d.CORS, Authenticate: d.Authenticate,
		Routes: []httpserver.Route{
			{
				Method: http.MethodPost, Pattern: setupRoute, Auth: httpserver.Principal, Tags: []string{"Identity"},
				Summary: "Open a setup link",
				Doc: "Makes the DID that signed the request an owner, by the code of a link that `castalia serve` or `castalia setup-link` " +
					"printed. Needs an invocation as for the oracle, with X-Auth-Type: ucan. A link is good for an hour and for one DID; asking again with the same DID is fine.",
				Body: Open{}, Replies: []httpserver.Reply{
					{Status: http.StatusOK, Body: Record{}}, {Status: http.StatusGone, Doc: "It was used or has expired."},
				}, Handler: a.open,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/me", Auth: httpserver.Operator, Tags: tags,
				InnerRole: httpserver.Owner, Summary: "Who you are here", Doc: "The name and role under which this request is served.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Me{}}}, Handler: a.me,
			},
			{
				Method: http.MethodGet, Pattern: "/operator/operators", Auth: httpserver.Operator, Tags: tags,
				Summary: "Operators", Doc: "Who has a role, in order of DID.",
				Params:  []httpserver.Param{{Name: "after", In: "query", Doc: "Continue after this DID."}},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: List{}}}, Handler: a.list,
			},
			{
				Method: http.MethodPut, Pattern: "/operator/operators/{did}", Auth: httpserver.Operator, Role: httpserver.Owner, Tags: tags,
				Summary: "Give a role", Doc: "viewer looks, operator changes, owner also says who the operators are. For owners in person; not for yourself.",
				Params: []httpserver.Param{did}, Body: NewRecord{}, Example: map[string]any{"role": "viewer"},
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Record{}}}, Handler: a.give,
			},
			{
				Method: http.MethodDelete, Pattern: "/operator/operators/{did}", Auth: httpserver.Operator, Role: httpserver.Owner, Tags: tags,
				Summary: "Take a role away", Doc: "Counts on every node at once. For owners in person; not for yourself. Delegations that the DID made for " + operators.OperatorResource + " are worth nothing from then on.",
				Params: []httpserver.Param{did}, Replies: []httpserver.Reply{{Status: http.StatusNoContent}}, Handler: a.take,
			},
		},
	}
}

type api struct{ Deps }

func (a api) open(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, ok := identity.FromContext(ctx)
	if !ok || !p.InPerson() || p.Root != p.DID {
		return fault.New(fault.Forbidden, "A setup link is opened with a key of your own.")
	}
	var body Open
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	owner, err := a.Book.Open(ctx, p.DID, body.Code)
	if err != nil {
		if fault.Is(err, fault.NotFound) {
			return cmp.Or(a.Guessed(ctx), err)
		}
		return err
	}
	if a.Audit != nil {
		who := httpserver.OperatorIdentity{Name: owner.DID, Role: httpserver.Owner}
		ended, err := a.Audit(ctx, who, http.MethodPost+" "+setupRoute, setupRoute)
		if err != nil {
			return err // the same link, asked again, writes it down
		}
		ended(http.StatusOK)
	}
	if err := a.Welcome(ctx, owner.DID); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, recordBody(owner))
}

func (api) me(w http.ResponseWriter, r *http.Request) error {
	who := httpserver.OperatorOf(r.Context())
	return httpserver.WriteJSON(w, http.StatusOK, Me{Name: who.Name, Role: who.Role.String()})
}

func (a api) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Book.Operators(r.Context(), r.URL.Query().Get("after"), maxListed)
	if err != nil {
		return err
	}
	body := List{Operators: make([]Record, len(list))}
	for i, one := range list {
		body.Operators[i] = recordBody(one)
	}
	if len(list) == maxListed {
		body.Next = list[maxListed-1].DID
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

// mayChange refuses what an owner would do to the own role, and what somebody does who has
// ownership for a while: roles stay when the delegation has ended.
func mayChange(r *http.Request) error {
	who := httpserver.OperatorOf(r.Context())
	if who.Lent {
		return fault.New(fault.Forbidden, "Roles are given and taken by an owner in person: yours is lent by a delegation.").WithCode("role_lent")
	}
	if who.Name == r.PathValue("did") {
		return fault.New(fault.Conflict, "You cannot change your own role: another owner can, or `castalia operators` on the server.").WithCode("own_role")
	}
	return nil
}

func (a api) give(w http.ResponseWriter, r *http.Request) error {
	var body NewRecord
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	role, err := operators.ParseRole(body.Role)
	if err != nil {
		return err
	}
	if err := mayChange(r); err != nil {
		return err
	}
	made, err := a.Book.Give(r.Context(), r.PathValue("did"), role, body.Note, httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	if err := a.Welcome(r.Context(), made.DID); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, recordBody(made))
}

func (a api) take(w http.ResponseWriter, r *http.Request) error {
	if err := mayChange(r); err != nil {
		return err
	}
	if err := a.Book.Take(r.Context(), r.PathValue("did"), httpserver.OperatorOf(r.Context()).Name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func recordBody(r operators.Record) Record {
	return Record{DID: r.DID, Role: string(r.Role), Note: r.Note, By: r.By, Added: r.Added.UTC().Format(time.RFC3339)}
}

// errTaken ends what is sent to somebody whose role was taken away meanwhile.
var errTaken = fault.New(fault.Forbidden, "Your role was taken away.").WithCode("role_too_low")

// Signed says who signed a request, for httpserver.Config. Credentials that are not
// good are nobody's: whoever sends them is answered as if they had sent none.
func Signed(s *identity.Service, book *operators.Book) func(*http.Request) (httpserver.OperatorIdentity, error) {
	roles := map[operators.Role]httpserver.Role{
		operators.Viewer: httpserver.Viewer, operators.Operator: httpserver.Changer, operators.Owner: httpserver.Owner,
	}
	return func(r *http.Request) (httpserver.OperatorIdentity, error) {
		ctx, c := r.Context(), identityhttp.Credentials(r)
		if !strings.EqualFold(c.AuthType, "ucan") {
			return httpserver.OperatorIdentity{}, nil
		}
		p, err := s.Authenticate(ctx, identity.Operators, c)
		switch {
		case fault.Is(err, fault.Unauthenticated), fault.Is(err, fault.Forbidden):
			return httpserver.OperatorIdentity{}, nil
		case err != nil:
			return httpserver.OperatorIdentity{}, err
		}
		role, from, err := book.RoleOf(ctx, p)
		if err != nil || role == operators.None {
			return httpserver.OperatorIdentity{}, err
		}
		own, err := book.Held(ctx, p.DID)
		if err != nil {
			return httpserver.OperatorIdentity{}, err
		}
		still := func(ctx context.Context) error {
			if err := s.Stands(ctx, p); err != nil {
				return err
			}
			if now, _, err := book.RoleOf(ctx, p); err != nil || roles[now] < roles[role] {
				return cmp.Or(err, error(errTaken))
			}
			return nil
		}
		return httpserver.OperatorIdentity{
			Name: p.DID, Role: roles[role], From: from, Lent: roles[own] < roles[role], Still: still,
		}, nil
	}
}
