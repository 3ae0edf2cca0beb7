// Package webhooks puts webhooks together for package app: store, sender, routes
// and workers, and the outbox that other services' stores report to.
package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/publicaddr"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhookhttp"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksend"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
)

// Migrations are the tables that webhooks need.
func Migrations() []sqldb.Migrations {
	return []sqldb.Migrations{queue.Migrations(), webhooksql.Migrations()}
}

// Deps is what they are made of.
type Deps struct {
	DB           *sqldb.DB
	Leases       *lease.Keeper
	Key          []byte // seals secrets
	AllowPrivate bool
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	Log          *slog.Logger
	Now          func() time.Time
}

// Webhooks are the service and its outbox.
type Webhooks struct {
	*Outbox
	service *webhook.Service
	Surface httpserver.Surface
	Workers map[string]func(context.Context) error
}

// New makes them. The outbox is made apart, because services that this one knows
// nothing of report to it.
func New(d Deps, out *Outbox) (*Webhooks, error) {
	sending := webhooksend.Config{
		Client: outbound.Client(outbound.Config{AllowPrivate: d.AllowPrivate}), Refused: outbound.ErrPrivate,
	}
	if !d.AllowPrivate {
		sending.Public = publicaddr.Public
	}
	svc, err := webhook.New(webhook.Deps{
		Store: out.store, Sender: webhooksend.New(sending), Key: d.Key, Log: d.Log, Now: d.Now, Plain: d.AllowPrivate,
	})
	if err != nil {
		return nil, err
	}
	return &Webhooks{
		Outbox:  out,
		service: svc,
		Surface: webhookhttp.Surface(webhookhttp.Deps{Service: svc, Authenticate: d.Authenticate, CORS: d.CORS}),
		Workers: map[string]func(context.Context) error{
			"deliver": svc.Run,
			"prune":   func(ctx context.Context) error { return prune(ctx, d, out.store) },
		},
	}, nil
}

const (
	prunePage = 500
	// pruneEvery bounds how many deliveries an endpoint gets before there are too many.
	pruneEvery = 5 * time.Minute
)

// prune forgets old deliveries, and those that are too many, on one node.
func prune(ctx context.Context, d Deps, store *webhooksql.Store) error {
	return d.Leases.Every(ctx, "webhook prune", pruneEvery, func(ctx context.Context, _ lease.Lease) error {
		for more, err := true, error(nil); more; {
			if more, err = store.PruneCrowds(ctx, webhook.MaxKept, prunePage); err != nil {
				return err
			}
		}
		for {
			if more, err := store.Prune(ctx, d.Now().Add(-webhook.Retention), prunePage); err != nil || !more {
				return err
			}
		}
	})
}

// Outbox is what services report to, in their transactions.
type Outbox struct{ store *webhooksql.Store }

// NewOutbox makes the outbox of a database, whose workers leave out looks while it is quiet.
func NewOutbox(db *sqldb.DB, w *quiet.Watch) *Outbox {
	return &Outbox{webhooksql.New(db, queue.Config{Quiet: w})}
}

// Emit reports what happened to a user.
func (o *Outbox) Emit(ctx context.Context, tx sqldb.Querier, owner, kind string, at time.Time, data any) error {
	if o == nil { // of a command that has no services
		return nil
	}
	return o.store.Emit(ctx, tx, owner, kind, at, data)
}

// EmitIn reports what happened in a namespace to the user whose own it is. Those
// of entities belong to several, and to nobody here.
func (o *Outbox) EmitIn(ctx context.Context, tx sqldb.Querier, namespace, kind string, at time.Time, data any) error {
	owner := namespace
	if account := "did:ixo:" + namespace; strings.HasPrefix(namespace, "ixo1") && identity.NamespaceOf(account) == namespace {
		owner = account
	}
	return o.Emit(ctx, tx, owner, kind, at, data)
}

// CallWebhook implements ussdhook.Programs: the record of a reply is what KeepCall keeps.
func (w *Webhooks) CallWebhook(ctx context.Context, call ussdhook.Call) (ussdhook.Reply, error) {
	made, err := w.service.Call(ctx, call.Hook.Endpoint, call.ID, call.At, call.Data)
	if err != nil {
		return ussdhook.Reply{}, err
	}
	return ussdhook.Reply{Status: made.Result.Status, Body: made.Body, Record: made}, nil
}

// KeepCall keeps a call of CallWebhook in the transaction of what came of it.
func (o *Outbox) KeepCall(ctx context.Context, tx sqldb.Querier, record any, again bool) error {
	made, ok := record.(webhook.Called)
	if !ok {
		return fmt.Errorf("keep call: %T is no record of one", record)
	}
	return o.store.KeepCall(ctx, tx, made, again)
}
