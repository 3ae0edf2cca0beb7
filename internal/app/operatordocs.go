package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/app/addresskit"
	"github.com/castalia-org/castalia/internal/app/archiving"
	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/doorkit"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/app/namekit"
	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/backup"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
	"github.com/castalia-org/castalia/internal/service/oracle/oracledocs"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
)

// operatorDocs are the documents.
type operatorDocs struct {
	*oracledocs.Documents
	synonyms *operatordoc.Document[*analyse.Synonyms]
	menus    *operatordoc.Document[*ussdbook.Book]
	rules    *operatordoc.Document[retention.Rules]
	plugins  *operatordoc.Document[pluginconf.Values]
	backups  *operatordoc.Document[backup.Schedule]
	access   *operatordoc.Document[membership.Mode]
	address  addresskit.Admin
	name     *operatordoc.Document[string]
	shelf    *operatordoc.Shelf
}

// openOperatorDocs makes the documents that operators change while the program
// runs, and reads what is stored of them.
func openOperatorDocs(ctx context.Context, r *resources, opt Options) (*operatordoc.Shelf, operatorDocs, error) {
	shelf := operatordoc.NewShelf(operatordocsql.New(r.db), operatordoc.Config{
		Hints: r.bus, Head: r.heads.Of(operatordocsql.VersionFeed), Logger: opt.Log, Now: r.now,
	})
	reached, err := addresskit.AtStart(ctx, r.db, opt.Settings.Server)
	if err != nil {
		return nil, operatorDocs{}, err
	}
	d, err := oracledocs.Put(shelf, oracledocs.Deps{
		Settings: opt.Settings.Oracle, Calls: opt.Settings.Calls, SealKey: opt.Settings.Identity.OracleKey,
		Getenv: opt.Getenv, Guides: docs.Guides, Home: reached.Base(), Log: opt.Log, Now: r.now,
	})
	if err != nil {
		return nil, operatorDocs{}, err
	}
	words, err := operatordoc.Put(shelf, knowledgekit.SynonymsDocument())
	if err != nil {
		return nil, operatorDocs{}, err
	}
	telephone := opt.Settings.USSD
	gates, err := readGateways(telephone)
	if err != nil {
		return nil, operatorDocs{}, err
	}
	served := len(opt.Services) == 0 || slices.Contains(opt.Services, "ussd") // commands speak for all nodes
	//nolint:contextcheck // it is read later, by whoever stores it
	menus, err := operatordoc.Put(shelf, telephonekit.MenuDocument(telephone.MenuText, telephone.Menu, gates.screens,
		served))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	rules, err := operatordoc.Put(shelf, retaining.Document(opt.Settings.Retention))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	plugins, err := operatordoc.Put(shelf, pluginconf.Definition(opt.Plugins, opt.Settings.Identity.OracleKey))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	backups, err := operatordoc.Put(shelf, archiving.Document(opt.Settings.Backups))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	choice, err := doorkit.Document(ctx, r.db, opt.Settings.Access)
	if err != nil {
		return nil, operatorDocs{}, err
	}
	access, err := operatordoc.Put(shelf, choice)
	if err != nil {
		return nil, operatorDocs{}, err
	}
	where, err := operatordoc.Put(shelf, addresskit.Document(opt.Settings.Server))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	name, err := operatordoc.Put(shelf, namekit.Document(opt.Settings.Oracle.Name, opt.Given))
	if err != nil {
		return nil, operatorDocs{}, err
	}
	address := addresskit.Admin{Now: where, Started: reached, Clock: r.now}
	return shelf, operatorDocs{d, words, menus, rules, plugins, backups, access, address, name, shelf}, shelf.Load(ctx)
}

// buildOperatorDocs makes the part that has the documents and their routes.
func (a *App) buildOperatorDocs(ctx context.Context) (part, error) {
	shelf, d, err := openOperatorDocs(ctx, a.res, a.opt)
	if err != nil {
		return part{}, err
	}
	a.documents, a.access.Document, a.address = d, d.access, d.address
	a.opt.Settings.Oracle.Name = d.name.Value() // for what is told it once
	author := func(r *http.Request) string { return httpserver.OperatorOf(r.Context()).Name }
	out := part{
		name: "operator documents",
		surfaces: []httpserver.Surface{
			operatordochttp.Surface(operatordochttp.Deps{Shelf: shelf, Author: author}),
			pluginconf.Surface(a.usePluginValues(pluginconf.Deps{
				Plugins: a.pluginStates, Stored: d.plugins, Shelf: shelf, Author: author,
			})),
		},
		workers: map[string]func(context.Context) error{"changes": shelf.Run},
	}
	out.surfaces = append(out.surfaces, d.Surfaces(shelf, author)...)
	if a.serves("oracle") {
		out.workers["first look"] = d.WarnOfModels
		out.causes = &causes.Part{Name: "models", Costly: true, Look: d.Answers.Troubles}
	}
	return out, nil
}

// usePluginValues fills the settings of plugins with what operators stored, before any of them
// starts.
func (a *App) usePluginValues(d pluginconf.Deps) pluginconf.Deps {
	var problems []error
	d.Applied = d.Stored.Value()
	a.opt.Given, problems = config.Use(pluginconf.Parts(a.opt.Plugins), a.opt.Given, d.Applied)
	for _, problem := range problems {
		a.opt.Log.Warn("a stored setting of a plugin is not in force", slog.String("event", "plugin.setting_refused"), slog.Any("problem", problem))
	}
	d.Given = a.opt.Given
	return d
}

// OperatorDocs opens the documents for the command line, beside nodes that run or
// not.
func OperatorDocs(ctx context.Context, opt Options, use func(*operatordoc.Shelf) error) (err error) {
	r := &resources{log: opt.Log, now: time.Now}
	defer func() { err = errors.Join(err, r.close()) }()
	s := &opt.Settings
	if err := r.openExisting(ctx, s, sqldb.Open); err != nil {
		return err
	}
	if err := errors.Join(keyring.Load(s, !s.Storage.Database.Given(), keyring.Read, opt.Log),
		r.db.Migrate(ctx, operatordocsql.Migrations()), r.db.Migrate(ctx, membershipsql.Migrations())); err != nil {
		return err
	}
	shelf, _, err := openOperatorDocs(ctx, r, opt)
	if err != nil {
		return err
	}
	return use(shelf)
}

// documents tells what is wrong with the operator's documents, and has the models
// and the services of speech say a word.
func (e examination) documents(ctx context.Context, opt Options) {
	opt.Settings, opt.Log = *e.s, slog.New(slog.DiscardHandler) // with its keys; what is wrong is reported
	shelf, d, err := openOperatorDocs(ctx, e.r, opt)
	if err != nil {
		e.report("documents", "", err, "correct the variable or the file")
		return
	}
	for _, s := range shelf.States() {
		if s.Problem != "" {
			e.report("documents", "", errors.New(s.Name+": "+s.Problem), "store a better version, or restore an earlier one")
		}
	}
	set := d.Models.Value()
	e.report("models", "nothing is known against the models", errors.Join(set.Warnings(time.Now())...), endpoints.ModelsRemedy)
	for _, f := range append(set.Probe(ctx, true), set.ProbeSpeech(ctx)...) {
		var problem error
		if f.Problem != "" {
			problem = errors.New(f.Text())
		}
		e.report(f.Part(), f.Text(), problem, f.Remedy())
	}
}
