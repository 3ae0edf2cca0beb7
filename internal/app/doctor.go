package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/app/doorkit"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/keysleft"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/datadir"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

// DoctorOptions say how thorough and how bold the doctor is.
type DoctorOptions struct{ Deep, Repair bool }

// Finding is one thing that the doctor looked at.
type Finding struct {
	Part    string
	Text    string
	Problem bool
	Remedy  string
}

// Doctor examines a deployment and tells what it finds as it goes. It may run
// beside a live server of either shape: the database is opened for reading only,
// and nothing is made, neither a folder nor a key. To repair it deletes objects,
// and for that it needs the data folder of the embedded shape for itself.
func Doctor(ctx context.Context, opt Options, how DoctorOptions, tell func(Finding)) (err error) {
	s := &opt.Settings
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openToExamine(ctx, s, how.Repair); err != nil {
		return err
	}
	e := examination{r: r, s: s, tell: tell}
	e.report("database", r.db.Dialect().String()+" answers", r.db.Ping(ctx), "check DATABASE_URL and that the server runs")
	e.tables(ctx, how.Deep)
	e.keys(ctx)
	e.report("objects", "the object store answers", r.pingBlobs(ctx, s), "check BLOB_URL and its credentials, or the folder objects")
	if shipping.Given(s) && len(s.Identity.OracleKey) > 0 {
		text, err := shipping.Examine(ctx, s)
		e.report("replica", text, err, "check REPLICA_URL, its credentials, and that the server runs")
	}
	e.report("bus", "messages can be sent", r.bus.Ping(ctx), "check NATS_URL; without it nodes are slower to notice each other")
	pending, err := pendingMigrations(ctx, r.db)
	if err != nil {
		return err
	}
	var late error
	if pending > 0 {
		late = fmt.Errorf("%d migrations are pending", pending)
	}
	e.report("schema", "every migration is applied", late, "run `castalia migrate`")
	if late == nil {
		e.documents(ctx, opt)
	}
	if late != nil || len(s.Files.MasterKey) != seal.KeySize {
		return nil // the services' tables may not be there yet, or nothing can be opened
	}
	under, err := keysleft.Find(ctx, r.db, s, nil)
	e.report("keys", under, err, keysleft.RemedyOf(err))
	if known, err := knowledgekit.ExamineEmbeddings(ctx, r.db, s.Knowledge); known != "" || err != nil {
		e.report("embeddings", known, err, "check EMBEDDINGS_URL, EMBEDDINGS_KEY and EMBEDDINGS_MODEL, and that the service runs")
	}
	who, err := doorkit.Finding(ctx, r.db, s.Access)
	e.report("access", who, err, "add one with `castalia members add DID`")
	if err := e.conversations(ctx, how.Deep); err != nil {
		return err
	}
	files, err := newFiles(ctx, r, opt, filestore.Config{})
	if err != nil {
		return err
	}
	return upkeep.New(files).Doctor(ctx, upkeep.Examine{Deep: how.Deep, Repair: how.Repair}, func(f upkeep.Finding) {
		out := Finding{Part: "files", Text: f.Text, Problem: f.Problem && !f.Repaired}
		switch {
		case f.Repaired:
			out.Text += " (repaired)"
		case f.Problem && !how.Repair:
			out.Remedy = "run `castalia doctor --repair`, or restore from a backup what cannot be repaired"
		}
		tell(out)
	})
}

// openToExamine opens a deployment that is there, beside whoever uses it, or
// with alone for this process only.
func (r *resources) openToExamine(ctx context.Context, s *config.Settings, alone bool) (err error) {
	if r.now, err = s.Server.Clock(); err != nil {
		return err
	}
	onDisk := !s.Storage.Database.Given() || !s.Storage.Blobs.Given()
	if onDisk {
		if err := CheckFolder(*s); err != nil {
			return err
		}
	}
	if onDisk && alone {
		lock, err := datadir.Lock(s.Storage.Data)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, lock.Release)
	}
	if err := r.openExisting(ctx, s, sqldb.OpenReadOnly); err != nil {
		return err
	}
	if err := r.openBlobsBeside(ctx, s); err != nil {
		return err
	}
	return r.openBus(ctx, s)
}

func pendingMigrations(ctx context.Context, db *sqldb.DB) (int, error) {
	pending := 0
	for _, m := range allMigrations() {
		state, err := db.MigrationStatus(ctx, m)
		if err != nil {
			return 0, err
		}
		for _, one := range state {
			if one.Applied.IsZero() {
				pending++
			}
		}
	}
	return pending, nil
}

// examination is one visit of the doctor.
type examination struct {
	r    *resources
	s    *config.Settings
	tell func(Finding)
}

func (e examination) report(part, good string, err error, remedy string) {
	if err != nil {
		e.tell(Finding{Part: part, Text: strings.ReplaceAll(err.Error(), "\n", "; "), Problem: true, Remedy: remedy})
		return
	}
	e.tell(Finding{Part: part, Text: good})
}

// conversations looks whether those in the archive are there.
func (e examination) conversations(ctx context.Context, deep bool) error {
	cold, err := retaining.NewCold(e.r.db, e.r.blobs, e.s, e.r.log)
	if err != nil {
		return err
	}
	n, err := cold.Examine(ctx, deep, func(problem string) {
		e.report("conversations", "", errors.New(problem), "give its key back, or restore the object from a backup")
	})
	e.report("conversations", fmt.Sprintf("%d archived ones were looked at", n), err, "check BLOB_URL and its credentials")
	return nil
}

// tables asks the database whether it is sound.
func (e examination) tables(ctx context.Context, deep bool) {
	problems, err := e.r.db.Check(ctx, deep)
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	e.report("tables", "the database is sound", err, "restore the last backup; on PostgreSQL use its own tools")
	if deep {
		sum, err := tablecopy.SumOf(ctx, e.r.db)
		e.report("records", fmt.Sprintf("%d rows of %d tables, sum %.16s", sum.Rows, sum.Tables, sum.Hash), err, "the database could not be read whole: see what it says")
	}
}

// keys reads the keys and compares them with what the database knows of them.
func (e examination) keys(ctx context.Context) {
	err := keyring.Load(e.s, !e.s.Storage.Database.Given(), keyring.Read, e.r.log)
	if err == nil {
		err = keyring.Compare(ctx, e.r.db.Read(), e.s)
	}
	e.report("keys", "every key is the one this database was made with", err, "give back the keys that were in force; never make new ones for old data")
}
