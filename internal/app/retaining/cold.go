package retaining

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// NewCold opens the place of conversations that nobody uses, under the keys of files.
func NewCold(db *sqldb.DB, blobs blob.Store, s *config.Settings, log *slog.Logger) (*coldstore.Store, error) {
	keys, err := keyring.FilesOf(db, s)
	if err != nil {
		return nil, err
	}
	return coldstore.New(coldstore.Deps{
		DB: db, Blobs: blobs, Idle: oraclesql.Idle, Log: log,
		Keys: coldstore.Keys{Current: keys.Current, Old: keys.Old, InForce: keys.InForce},
	})
}

// tidyEvery is how often the archive is tidied, also while no rule is in force.
const tidyEvery = time.Hour

// Run sweeps, measures and tidies until ctx ends.
func (r *Retaining) Run(ctx context.Context) error {
	if r.cold == nil {
		return r.Keeper.Run(ctx)
	}
	var tidying sync.WaitGroup
	tidying.Go(func() {
		_ = r.Leases.Every(ctx, "retention/archive/tidy", tidyEvery, func(ctx context.Context, _ lease.Lease) error { return r.tidy(ctx) })
	})
	err := r.Keeper.Run(ctx)
	tidying.Wait()
	return err
}

func (r *Retaining) tidy(ctx context.Context) error {
	var before time.Time
	if keep := r.Rules()[retention.Runs]; keep > 0 {
		now, err := r.DB.Now(ctx)
		if err != nil {
			return err
		}
		before = now.Add(-keep)
	}
	return r.cold.Tidy(ctx, before)
}

// Archived is the body of the answer to POST /operator/retention/archive.
type Archived struct {
	// Moved is how many conversations went now. More says that there may be more of them:
	// ask again.
	Moved int64            `json:"moved"`
	More  bool             `json:"more"`
	Now   coldstore.Totals `json:"now"`
}

// archiveFor is how long one request moves conversations.
const archiveFor = 10 * time.Second

var (
	errNoArchive   = fault.New(fault.Conflict, "No rule says what is archived: give `archive` a time such as 90d in the document retention").WithCode("no_rule")
	errNoTalks     = fault.New(fault.Conflict, "This node has no conversations: ask one that serves the oracle").WithCode("no_oracle")
	errAlreadyDone = fault.New(fault.Conflict, "A node is moving conversations already: look again in a minute").WithCode("under_way")
)

func (r *Retaining) archiveRoute() httpserver.Route {
	return httpserver.Route{
		Method: http.MethodPost, Pattern: "/operator/retention/archive", Auth: httpserver.Operator, Tags: []string{"Operators"},
		Summary: "Archive conversations now",
		Doc:     "Moves conversations that are due by the rule `archive` to the object store without waiting for the hour, for some seconds: ask again while there are more.",
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Archived{}}}, Handler: r.archive,
	}
}

func (r *Retaining) archive(w http.ResponseWriter, req *http.Request) error {
	switch {
	case r.cold == nil:
		return errNoTalks
	case r.Rules()[retention.Archive] == 0:
		return errNoArchive
	}
	ctx, cancel := context.WithTimeout(req.Context(), archiveFor)
	defer cancel()
	moved, ok, err := r.Now(ctx, retention.Archive, r.Sources[retention.Archive][0])
	body := Archived{Moved: moved, More: errors.Is(ctx.Err(), context.DeadlineExceeded)}
	switch {
	case err != nil && (!body.More || req.Context().Err() != nil):
		return err
	case err == nil && !ok:
		return errAlreadyDone
	}
	if body.Now, err = r.cold.Totals(req.Context()); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}
