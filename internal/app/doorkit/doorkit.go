// Package doorkit puts together who may come in: the setting ACCESS rules, else the
// document that operators change, else what was chosen before there was one.
//
// It promises that what was chosen last holds until another choice is made, so that a
// setting that got lost opens nothing: what ACCESS says at a start becomes a version of the
// document, too, where that has any.
//
// Decision: ADR 0289.
package doorkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Access is who may come in now.
type Access struct {
	// Document is there once the documents were read.
	Document *operatordoc.Document[membership.Mode]
	// Before says that somebody had chosen when the program started.
	Before bool
}

// Mode is what is in force.
func (a *Access) Mode() membership.Mode { return a.Document.Value() }

// Chosen reports whether an operator chose that, now or before.
func (a *Access) Chosen() bool {
	return a.Before || a.Document.State().Source != operatordoc.FromDefault
}

// Deps is what a choice is made with.
type Deps struct {
	DB       *sqldb.DB
	Settings config.Access
	// Open says that everybody may come in where nobody chose.
	Open bool
	Now  func() time.Time
	Log  *slog.Logger
}

var errNotChosen = errors.New("ACCESS: not given, and in production you choose who may come in: " +
	"ACCESS=open (everybody who makes a key), ACCESS=invite (whom you invite with `castalia invite`) or ACCESS=closed (whom you add with `castalia members add`)")

// Choose looks what was chosen, at a start of the program; chosen says that somebody did.
// A production deployment that nobody chose for does not start, unless it has users from
// before there was a choice.
func Choose(ctx context.Context, d Deps) (chosen bool, err error) {
	store := membershipsql.New(d.DB)
	if mode := membership.Mode(d.Settings.Mode); mode != "" {
		return true, errors.Join(store.Choose(ctx, mode, d.Now()), remember(ctx, d, mode))
	}
	mode, err := before(ctx, d.DB)
	switch {
	case err != nil:
		return false, err
	case mode.Known():
		d.Log.Info("ACCESS is not set: what was chosen before holds", slog.String("event", "access.kept"), slog.String("access", string(mode)))
		return true, store.Choose(ctx, mode, d.Now())
	case !d.Open:
		used, err := people.Any(ctx, d.DB)
		if err == nil && !used {
			err = errNotChosen
		}
		return false, err
	}
	return false, nil
}

// before returns what was chosen last, without the setting; "" where nobody chose.
func before(ctx context.Context, db *sqldb.DB) (membership.Mode, error) {
	newest, err := operatordocsql.New(db).NewestVersion(ctx, membership.DocumentName)
	if err != nil {
		return "", err
	}
	if mode, err := membership.ParseMode(newest.Text); newest.Number > 0 && err == nil {
		return mode, nil
	}
	return membershipsql.New(db).Choice(ctx)
}

// remember stores what the setting says behind what operators stored.
func remember(ctx context.Context, d Deps, mode membership.Mode) error {
	docs := operatordocsql.New(d.DB)
	newest, err := docs.NewestVersion(ctx, membership.DocumentName)
	if err != nil || newest.Number == 0 || says(newest, mode) {
		return err
	}
	text := []byte(mode.Text())
	_, err = docs.AddVersion(ctx, operatordoc.Version{
		Document: membership.DocumentName, Text: text, Size: len(text), Author: "ACCESS", Written: d.Now(),
	}, newest.Number)
	if other, ok := errors.AsType[*operatordoc.ConflictError](err); ok && says(other.Newest, mode) {
		return nil // another node of the fleet did
	}
	return err
}

func says(v operatordoc.Version, mode membership.Mode) bool {
	was, err := membership.ParseMode(v.Text)
	return err == nil && was == mode
}

// Document is the operators' document. It reads what was chosen before there were versions.
func Document(ctx context.Context, db *sqldb.DB, s config.Access) (operatordoc.Definition[membership.Mode], error) {
	mode, err := membershipsql.New(db).Choice(ctx)
	return membership.Document(membership.Mode(s.Mode), cmp.Or(mode, membership.Open)), err
}

// Finding is what the doctor says of it.
func Finding(ctx context.Context, db *sqldb.DB, s config.Access) (string, error) {
	mode, how := membership.Mode(s.Mode), "by ACCESS"
	if mode == "" {
		var err error
		if mode, err = before(ctx, db); err != nil {
			return "", err
		}
		how = "as it was chosen before"
	}
	if mode == "" {
		mode, how = membership.Open, "since nobody chose"
	}
	n, err := membershipsql.New(db).CountMembers(ctx)
	if err != nil {
		return "", err
	}
	if n == 0 && len(s.DIDs) == 0 && mode == membership.Closed {
		return "", errors.New("closed, and there is no member: nobody may come in")
	}
	return fmt.Sprintf("%s (%s), %d members", mode, how, n+int64(len(s.DIDs))), nil
}
