// Package archiving puts backups together: where they go and for whom they are encrypted,
// from settings alone; the schedule, from settings or from the document that operators
// change; and the routes by which they make, see and check them.
//
// Where everything goes and who can read it is for who runs the machine: whoever could
// change that by a page could carry the whole deployment away, keys too.
package archiving

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/backup"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/trouble"
)

// usual is the schedule of a place for which nobody chose one.
var usual = backup.Schedule{Every: 24 * time.Hour, Keep: 14}

// Document is the operator's document of the schedule. It is held by the environment when
// BACKUP_EVERY or BACKUP_KEEP was given; the one that was not is as usual.
func Document(s config.Backups) operatordoc.Definition[backup.Schedule] {
	var (
		plan  backup.Schedule
		given string
	)
	if s.Place.Given() {
		plan = usual
	}
	if s.Every.Given || s.Keep != "" {
		if s.Every.Given {
			plan.Every = s.Every.Time
		}
		every, keep, _ := strings.Cut(plan.Text(), "\n")
		if s.Keep != "" { // whether it is one is for who reads the document
			keep = fmt.Sprintf("keep: %q\n", s.Keep)
		}
		given = every + "\n" + keep
	}
	def := operatordoc.Definition[backup.Schedule]{
		Name: "backups", Title: "How often backups are made", Media: "application/yaml", MaxBytes: backup.MaxSchedule,
		Variable: "BACKUP_EVERY, BACKUP_KEEP", Text: given,
		Parse: func(text []byte, _ operatordoc.Source) (backup.Schedule, error) { return backup.ParseSchedule(text) },
	}
	if s.Place.Given() {
		def.BuiltIn = []byte(usual.Text())
	}
	return def
}

// Deps is what backups stand on.
type Deps struct {
	DB         *sqldb.DB
	Blobs      blob.Store
	Leases     *lease.Keeper
	Migrations []sqldb.Migrations
	Settings   *config.Settings
	Schedule   *operatordoc.Document[backup.Schedule]
	// Ship is the replica; nil where there is none.
	Ship    *shipping.Ship
	Trail   *audit.Trail
	Metrics *telemetry.Metrics
	Version string
	Log     *slog.Logger
}

// Archiving is backups on one node.
type Archiving struct {
	*backup.Keeper
	deps       Deps
	recipients []string
}

// New puts backups together.
func New(d Deps) (*Archiving, error) {
	a := &Archiving{deps: d, recipients: []string{}}
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	a.Keeper = backup.New(backup.Config{
		DB: d.DB, Leases: d.Leases, Place: place, Schedule: d.Schedule.Value, Write: a.write, Program: d.Version,
		Trail: d.Trail, Log: d.Log,
	})
	a.Measure(d.Metrics)
	return a, nil
}

// write writes an archive of the deployment, with the keys that the embedded shape made.
func (a *Archiving) write(ctx context.Context, to io.Writer) (archive.Summary, error) {
	keys, err := keyring.Kept(a.deps.Settings)
	if err != nil {
		return archive.Summary{}, err
	}
	signer, err := shipping.Signer(a.deps.Settings)
	if err != nil {
		return archive.Summary{}, err
	}
	return archive.Write(ctx, to, archive.Place{
		DB: a.deps.DB, Blobs: a.deps.Blobs, Migrations: a.deps.Migrations, Keys: keys,
		Program: a.deps.Version, Signer: signer,
	})
}

// place reads where backups go; nil: nowhere.
func (a *Archiving) place() (*backup.Place, error) {
	s := a.deps.Settings
	if !s.Backups.Place.Given() {
		return nil, nil //nolint:nilnil // there is none
	}
	if s.Backups.Recipients == "" {
		return nil, errors.New("BACKUP_URL: a backup holds everything, keys too: give BACKUP_RECIPIENTS (`castalia backups key` makes one)")
	}
	for one := range strings.SplitSeq(s.Backups.Recipients, ",") {
		a.recipients = append(a.recipients, strings.TrimSpace(one))
	}
	lock, err := archive.LockTo(strings.Join(a.recipients, "\n"))
	if err != nil {
		return nil, fmt.Errorf("BACKUP_RECIPIENTS: %w", err)
	}
	if _, err := a.open(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // a folder may be mounted later
	}
	mac := hmac.New(sha256.New, s.Identity.OracleKey)
	mac.Write([]byte("castalia backups"))
	return &backup.Place{Open: a.open, Lock: lock, Key: mac.Sum(nil), Deployment: shipping.Deployment(s)[:8]}, nil
}

// open opens the place. A folder that is not there is not made: it may be that of a disk
// that is not mounted, and the archive would fill another. Other deployments may be writing
// there.
func (a *Archiving) open() (blob.Store, error) {
	s := a.deps.Settings
	u, err := url.Parse(s.Backups.Place.Reveal())
	if err == nil && u.Scheme == "file" {
		if _, err := os.Stat(u.Path); err != nil {
			return nil, fmt.Errorf("BACKUP_URL: the folder %s: %w", u.Path, errors.Unwrap(err))
		}
	}
	return stores.Place("BACKUP_URL", s.Backups.Place, s, false)
}

// Causes says to operators what is wrong with backups.
func (a *Archiving) Causes() *causes.Part {
	return &causes.Part{Name: "backups", Look: func(context.Context) []*trouble.Trouble { return a.Trouble() }}
}
