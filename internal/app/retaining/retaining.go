// Package retaining puts retention together: the rules, from settings or from the
// document that operators change, the records of every service, where exports go, and
// the route by which operators look at it.
package retaining

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/fileretention"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// Document is the operator's document of rules. It is held by the environment when any
// RETENTION_ duration was given: one that says off, too.
func Document(s config.Retention) operatordoc.Definition[retention.Rules] {
	given := retention.Rules{}
	for class, keep := range map[string]config.Keep{
		retention.Transcripts: s.Transcripts, retention.Archive: s.Archive, retention.Runs: s.Runs, retention.Calls: s.Calls,
		retention.Events: s.Events, retention.Audit: s.Audit, retention.Shares: s.Shares, retention.Forms: s.Forms,
	} {
		if keep.Given {
			given[class] = keep.Time
		}
	}
	return operatordoc.Definition[retention.Rules]{
		Name: "retention", Title: "How long records are kept", Media: "application/yaml", MaxBytes: retention.MaxRules,
		Variable: "RETENTION_…", Text: given.Text(),
		Parse: func(text []byte, _ operatordoc.Source) (retention.Rules, error) { return retention.ParseRules(text) },
	}
}

// Deps is what retention stands on.
type Deps struct {
	DB *sqldb.DB
	// Cold is where conversations go that nobody uses; nil leaves them where they are.
	Cold     *coldstore.Store
	Leases   *lease.Keeper
	Settings *config.Settings
	// Serves says which services this node has: only of those are there surely tables.
	Serves func(service string) bool
	Rules  *operatordoc.Document[retention.Rules]
	Trail  *audit.Trail
	// Outbox hears of conversations that are erased.
	Outbox oraclesql.Outbox
	Log    *slog.Logger
}

// Retaining is retention on one node.
type Retaining struct {
	*retention.Keeper
	rules *operatordoc.Document[retention.Rules]
	cold  *coldstore.Store // nil where there is none
}

// New puts retention together.
func New(d Deps) (*Retaining, error) {
	exports, err := exportsOf(d.Settings)
	if err != nil {
		return nil, err
	}
	keeper := retention.New(retention.Config{
		DB: d.DB, Leases: d.Leases, Rules: d.Rules.Value, Sources: sources(d), Exports: exports, Log: d.Log,
	})
	r := &Retaining{Keeper: keeper, rules: d.Rules}
	if len(keeper.Sources[retention.Archive]) > 0 {
		r.cold = d.Cold
	}
	return r, nil
}

func sources(d Deps) map[string][]retention.Source {
	all := d.Trail.Retained()
	add := func(more map[string][]retention.Source) {
		for _, class := range slices.Sorted(maps.Keys(more)) {
			all[class] = append(all[class], more[class]...)
		}
	}
	if d.Serves("filestore") {
		add(fileretention.Sources(d.DB, knowledgesql.New(d.DB)))
	}
	if d.Serves("oracle") {
		talks := oraclesql.New(d.DB).WithOutbox(d.Outbox)
		if d.Cold != nil {
			talks = talks.WithCold(d.Cold)
			runsAreErased := func() bool { return d.Rules.Value()[retention.Runs] > 0 }
			all[retention.Archive] = []retention.Source{d.Cold.Moving(runsAreErased)}
		}
		add(talks.Retained())
	}
	if d.Serves("ussd") {
		add(ussdsql.New(d.DB).Retained())
	}
	return all
}

// exportsOf opens the place of exports; nil: there is none.
func exportsOf(s *config.Settings) (*retention.Exports, error) {
	at := s.Retention.Exports
	if !at.Given() {
		return nil, nil //nolint:nilnil // there is none
	}
	if s.Retention.ExportRecipients == "" {
		return nil, fmt.Errorf("RETENTION_EXPORT_URL: exports hold what people said: give RETENTION_EXPORT_RECIPIENTS (`castalia key new --backup` makes one)")
	}
	lock, err := archive.LockTo(strings.ReplaceAll(s.Retention.ExportRecipients, ",", "\n"))
	if err != nil {
		return nil, fmt.Errorf("RETENTION_EXPORT_RECIPIENTS: %w", err)
	}
	store, err := stores.Place("RETENTION_EXPORT_URL", at, s, true)
	if err != nil {
		return nil, err
	}
	seal := func(to io.Writer) (io.WriteCloser, error) { return archive.Encrypt(to, lock) }
	return &retention.Exports{Store: store, Seal: seal}, nil
}

// Retention is the body of GET /operator/retention.
type Retention struct {
	// Classes are what there may be rules for, with what the next sweep would erase.
	Classes []retention.State `json:"classes"`
	// Tables are as they were last measured: once a day.
	Tables []retention.Table `json:"tables"`
	// Source says where the rules come from; ReadOnly that they change with a restart.
	Source   string `json:"source"`
	ReadOnly bool   `json:"readOnly"`
	// Proposed says that the rules are those of the request, and not in force.
	Proposed bool `json:"proposed,omitempty"`
	// Exported says that records are exported before they are erased.
	Exported bool `json:"exported"`
	// Archived are the conversations that were moved; absent where there is no oracle.
	Archived *coldstore.Totals `json:"archived,omitempty"`
	At       time.Time         `json:"at"`
}

// Surface returns the route.
func (r *Retaining) Surface() httpserver.Surface {
	return httpserver.Surface{Name: "retention", Routes: []httpserver.Route{r.archiveRoute(), {
		Method: http.MethodGet, Pattern: "/operator/retention", Auth: httpserver.Operator, Tags: []string{"Operators"},
		Summary: "What is kept, and for how long",
		Doc:     "The rules in force, what the next sweep would erase by them, and what each table holds and how fast it grows. Nothing is erased by asking. The rules are the document `retention`.",
		Params: []httpserver.Param{{
			Name: "rules", In: "query", Doc: "Rules as the document has them, to see what they would erase; those in force otherwise.",
		}},
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Retention{}}}, Handler: r.look,
	}}}
}

func (r *Retaining) look(w http.ResponseWriter, req *http.Request) error {
	state := r.rules.State()
	body := Retention{
		Source: string(state.Source), ReadOnly: state.ReadOnly(), Exported: r.Exports != nil, At: time.Now().UTC(),
		Proposed: req.URL.Query().Has("rules"),
	}
	var proposed retention.Rules
	if body.Proposed {
		var err error
		if proposed, err = retention.ParseRules([]byte(req.URL.Query().Get("rules"))); err != nil {
			return fault.Wrap(fault.Invalid, err.Error(), err)
		}
	}
	ctx, cancel := context.WithTimeout(req.Context(), lookLimit)
	defer cancel()
	var err error
	if body.Classes, err = r.States(ctx, proposed); err != nil {
		return err
	}
	if body.Tables, err = r.Tables(ctx); err != nil {
		return err
	}
	if r.cold != nil {
		totals, err := r.cold.Totals(ctx)
		if err != nil {
			return err
		}
		body.Archived = &totals
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

// lookLimit bounds how long counting may take.
const lookLimit = 10 * time.Second
