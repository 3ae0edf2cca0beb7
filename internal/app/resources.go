package app

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/measure"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/app/webhooks"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/bus/busnats"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/diskroom"
	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/feed/feedsql"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// resources is what every service stands on.
type resources struct {
	log     *slog.Logger
	metrics *telemetry.Metrics
	traces  *telemetry.Traces
	node    string // this node's name, unique in the fleet
	now     func() time.Time

	db     *sqldb.DB
	heads  feed.Heads // of the database
	quiet  quiet.Watch
	blobs  blob.Store
	room   *diskroom.Room // of the data folder's disk; nil where nothing is kept there
	ship   *shipping.Ship // the replica; nil where there is none
	bus    bus.Bus
	leases *lease.Keeper
	outbox *webhooks.Outbox // what services report to

	closers []func() error
	hooks   // see Options
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

func appMigrations() sqldb.Migrations { return sqldb.Migrations{Service: "app", FS: migrationFiles} }

// prepareResources does what needs no store: it takes the data folder, fills in
// the secrets and begins to trace. On failure it gives back what it took.
func prepareResources(ctx context.Context, opt *Options, key keyring.Source) (_ *resources, err error) {
	s := &opt.Settings
	r := &resources{log: opt.Log, metrics: telemetry.NewMetrics(), node: lease.NodeName(), hooks: opt.hooks}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.now, err = s.Server.Clock(); err != nil {
		return nil, err
	}
	embedded := !s.Storage.Database.Given()
	if embedded || !s.Storage.Blobs.Given() {
		lock, err := stores.Take(s.Storage.Data, opt.Log)
		if err != nil {
			return nil, err
		}
		r.closers = append(r.closers, lock.Release)
	}
	if err := shipping.Guard(ctx, s); err != nil {
		return nil, err
	}
	if err := keyring.Load(s, embedded, key, opt.Log); err != nil {
		return nil, err
	}
	if r.ship, err = shipping.Prepare(s, opt.Version, opt.Log); err != nil {
		return nil, err
	}
	if r.ship != nil {
		r.closers = append(r.closers, r.ship.Closed)
	}
	r.traces, err = measure.Traces(ctx, s.Server.TraceEndpoint, opt.Version, r.node, r.log, &r.closers)
	return r, err
}

// useDatabase opens the database, brings the program's own tables up to date and
// compares the keys. After a failure it may be called again.
func (r *resources) useDatabase(ctx context.Context, s *config.Settings) error {
	if err := r.openDatabase(ctx, s); err != nil {
		return err
	}
	if err := r.db.Migrate(ctx, appMigrations()); err != nil {
		return err
	}
	return cmp.Or(archive.Ready(ctx, r.db), keyring.Check(ctx, r.db, s))
}

// openOthers opens what is not the database, in the shape that the settings ask for.
func (r *resources) openOthers(ctx context.Context, s *config.Settings) error {
	for _, open := range []func(context.Context, *config.Settings) error{r.openBlobs, r.openBus} {
		if err := open(ctx, s); err != nil {
			return err
		}
	}
	if r.ship != nil {
		r.blobs = r.ship.Watch(r.db, r.blobs, r.metrics)
	}
	if r.objects != nil {
		r.blobs = r.objects(r.blobs)
	}
	r.leases, r.outbox = lease.NewKeeper(r.db, r.node), webhooks.NewOutbox(r.db, &r.quiet)
	return r.leases.Orphans(ctx)
}

// openDatabase opens the database, unless it is open already.
func (r *resources) openDatabase(ctx context.Context, s *config.Settings) error {
	return r.openDatabaseBy(ctx, s, sqldb.Open)
}

func (r *resources) openDatabaseBy(ctx context.Context, s *config.Settings, open opener) error {
	if r.db != nil {
		return nil
	}
	url := cmp.Or(s.Storage.Database.Reveal(), "sqlite:"+stores.File(s))
	opt, err := stores.Pool(s, sqldb.Options{Logger: r.log, Fault: r.fault, KeepLog: r.ship != nil})
	if err != nil {
		return err
	}
	if r.db, err = open(ctx, url, opt); err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	r.heads.Read, r.heads.Quiet, r.heads.Logger = feedsql.In(r.db), &r.quiet, r.log
	r.closers = append(r.closers, r.db.Close)
	if r.metrics != nil {
		measure.Database(r.metrics, r.db)
	}
	return nil
}

func (r *resources) openBlobs(_ context.Context, s *config.Settings) error {
	if !s.Storage.Blobs.Given() {
		store, err := blobdisk.New(stores.ObjectFolder(s))
		if err != nil {
			return err
		}
		r.room = diskroom.Of(stores.ObjectFolder(s))
		r.blobs = r.room.Guard(store)
		return nil
	}
	var err error
	r.blobs, err = stores.S3("BLOB_URL", s.Storage.Blobs, s)
	return err
}

// short reports that this node's disk has, or lately had, no room for something.
func (r *resources) short() bool { return r.room != nil && r.room.Short() }

func (r *resources) openBus(_ context.Context, s *config.Settings) error {
	if !s.Storage.NATS.Given() {
		r.bus = busmem.New()
	} else {
		nats, err := busnats.New(busnats.Config{URL: s.Storage.NATS.Reveal(), Name: r.node, Logger: r.log})
		if err != nil {
			return fmt.Errorf("NATS_URL: %w", err)
		}
		r.bus = nats
	}
	r.closers = append(r.closers, r.bus.Close)
	return nil
}

func (r *resources) close() error {
	var errs []error
	for _, closer := range slices.Backward(r.closers) {
		errs = append(errs, closer())
	}
	r.closers = nil
	return errors.Join(errs...)
}
