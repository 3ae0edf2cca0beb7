package people

import (
	"context"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// Limits are what somebody may have, or what they used of it. As a limit 0 is none.
type Limits struct {
	Bytes      int64 `json:"bytes" doc:"Of all versions of their files, the trash included."`
	Messages   int64 `json:"messages" doc:"To the oracle, in a day of UTC."`
	CostMicros int64 `json:"costMicros" doc:"Of the model, in a day of UTC, in millionths of a US dollar."`
}

// with is what somebody may have who has an allowance of their own.
func (l Limits) with(a membership.Allowance) Limits {
	for _, one := range []struct {
		into *int64
		own  *int64
	}{{&l.Bytes, a.Bytes}, {&l.Messages, a.Messages}, {&l.CostMicros, a.CostMicros}} {
		if one.own != nil {
			*one.into = *one.own
		}
	}
	return l
}

// OwnQuota is the body of PUT /operator/people/{did}/quota.
type OwnQuota struct {
	Bytes      *int64 `json:"bytes,omitempty" doc:"Of all versions of their files; 0 is no limit, null what everybody may have."`
	Messages   *int64 `json:"messages,omitempty" doc:"To the oracle, in a day of UTC; 0 is no limit, null what everybody may have."`
	CostMicros *int64 `json:"costMicros,omitempty" doc:"Of the model, in a day of UTC, in millionths of a US dollar; 0 is no limit, null what everybody may have."`
}

// Quota is what a person may have, and what they used.
type Quota struct {
	DID string `json:"did"`
	// Limit is what holds for them; Usual is what holds for everybody.
	Limit Limits `json:"limit"`
	Usual Limits `json:"usual"`
	// Own is what operators chose for them; nil: nothing.
	Own *OwnQuota `json:"own,omitempty"`
	// Used is what counts now. Messages and costs are counted while there is a limit.
	Used Limits     `json:"used"`
	By   string     `json:"by,omitempty"`
	At   *time.Time `json:"at,omitempty"`
}

// Counted returns how much somebody used of what a node's services measure.
func Counted(db *sqldb.DB, serves func(service string) bool,
	now func() time.Time,
) func(ctx context.Context, did string) (Limits, error) {
	return func(ctx context.Context, did string) (used Limits, err error) {
		if serves("filestore") {
			scope, err := filestore.Owner(identity.NamespaceOf(did)).Scope(filestore.List)
			if err != nil {
				return used, err
			}
			u, err := filestoresql.New(db).Usage(ctx, scope)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return used, err
			}
			used.Bytes = u.VersionBytes
		}
		if serves("oracle") {
			used.Messages, used.CostMicros, err = oraclesql.New(db).Used(ctx, did, now())
		}
		return used, err
	}
}

// BytesOf is what a namespace may hold, for the file store. Usual is asked each time.
func BytesOf(quotas *membership.Quotas, usual func() Limits) func(namespace string) int64 {
	return func(namespace string) int64 {
		return usual().with(quotas.Of(DIDOf(namespace))).Bytes
	}
}

// MeasureOf is what a person may have of the oracle in a day.
func MeasureOf(quotas *membership.Quotas) func(sponsor string, usual oracle.Measure) oracle.Measure {
	return func(sponsor string, usual oracle.Measure) oracle.Measure {
		l := Limits{Messages: usual.Messages, CostMicros: usual.CostMicros}.with(quotas.Of(sponsor))
		return oracle.Measure{Messages: l.Messages, CostMicros: l.CostMicros}
	}
}

func (d Deps) quotaRoutes(tags []string, did []httpserver.Param) []httpserver.Route {
	const pattern = "/operator/people/{did}/quota"
	replies := []httpserver.Reply{{Status: http.StatusOK, Body: Quota{}}}
	return []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Operator, Tags: tags, Params: did,
			Summary: "What somebody may have", Doc: "Their limits, what holds for everybody, and what they used.",
			Replies: replies, Handler: d.showQuota,
		},
		{
			Method: http.MethodPut, Pattern: pattern, Auth: httpserver.Operator, Tags: tags, Params: did,
			Summary: "Let somebody have more, or less", Doc: "Holds on every node within a second, in the place of what was chosen for them before. What they have already stays.",
			Body: OwnQuota{}, Example: map[string]any{"bytes": 5 << 30, "messages": 500}, Replies: replies, Handler: d.setQuota,
		},
		{
			Method: http.MethodDelete, Pattern: pattern, Auth: httpserver.Operator, Tags: tags, Params: did,
			Summary: "Let somebody have what everybody may", Doc: "Takes back what was chosen for them.",
			Replies: replies, Handler: d.endQuota,
		},
	}
}

func (d Deps) showQuota(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	did, err := d.named(r)
	if err != nil {
		return err
	}
	own, err := d.Book.QuotaOf(ctx, did)
	if err != nil {
		return err
	}
	usual := d.Usual()
	q := Quota{DID: did, Usual: usual, Limit: usual}
	if own != nil {
		q.Limit, q.By, q.At = usual.with(own.Allowance), own.By, &own.At
		q.Own = &OwnQuota{Bytes: own.Bytes, Messages: own.Messages, CostMicros: own.CostMicros}
	}
	if q.Used, err = d.Used(ctx, did); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, q)
}

func (d Deps) setQuota(w http.ResponseWriter, r *http.Request) error {
	var body OwnQuota
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	return d.changeQuota(w, r, membership.Allowance(body))
}

func (d Deps) endQuota(w http.ResponseWriter, r *http.Request) error {
	return d.changeQuota(w, r, membership.Allowance{})
}

func (d Deps) changeQuota(w http.ResponseWriter, r *http.Request, a membership.Allowance) error {
	by := httpserver.OperatorOf(r.Context()).Name
	did, err := d.named(r)
	if err != nil {
		return err
	}
	if _, err := d.Book.SetQuota(r.Context(), did, a, by); err != nil {
		return err
	}
	d.Quotas.Announce(r.Context())
	return d.showQuota(w, r)
}
