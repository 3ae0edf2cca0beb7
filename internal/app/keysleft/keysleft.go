// Package keysleft says what is under other keys than the newest.
//
// A change of keys that was cut short leaves files, documents, conversations and PINs under the former
// key: whoever drops that loses them. It promises to find them without opening any, and
// changes nothing.
package keysleft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// remedy is what to do about keys that were not given.
const remedy = "give the former keys back (FILES_MASTER_KEYS_OLD, PIN_ENCRYPTION_KEYS_OLD), run `castalia rotate-keys`, and only then drop them"

// RemedyOf is what to do about an error of Find.
func RemedyOf(err error) string {
	if errors.Is(err, ErrMissing) {
		return remedy
	}
	return "check the database, and ask again"
}

// ErrMissing is about what is under keys that were not given.
var ErrMissing = errors.New("under keys that were not given")

// Find returns what is true of the keys, in words, or ErrMissing; any other error says
// that it could not be found out. serves says which services have tables; nil: all.
func Find(ctx context.Context, db *sqldb.DB, s *config.Settings, serves func(service string) bool) (string, error) {
	files, err := keyring.FilesOf(db, s)
	if err != nil {
		return "", err
	}
	pins, err := keyring.PINsOf(db, s)
	if err != nil {
		return "", err
	}
	// whether each is the newest
	spaces, collections, cold := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, old := range files.Old {
		spaces[filestore.MasterID(old)], collections[knowledge.MasterID(old)] = false, false
		cold[coldstore.MasterID(old)] = false
	}
	spaces[filestore.MasterID(files.Current)], collections[knowledge.MasterID(files.Current)] = true, true
	cold[coldstore.MasterID(files.Current)] = true
	in := func(keys map[string]bool) func(string) (known, newest bool) {
		return func(id string) (known, newest bool) {
			newest, known = keys[id]
			return known, newest
		}
	}
	earlier, missing := map[string]bool{}, map[string]bool{}
	for _, of := range []struct {
		service, what string
		under         func(context.Context) ([]string, error)
		knows         func(id string) (known, newest bool)
	}{
		{"filestore", "files", filestoresql.New(db).MasterKeys, in(spaces)},
		{"filestore", "documents of knowledge", knowledgesql.New(db).MasterKeys, in(collections)},
		{"oracle", "archived conversations", func(ctx context.Context) ([]string, error) { return coldstore.MasterKeys(ctx, db) }, in(cold)},
		{"ussd", "PINs", ussdsql.New(db).PINKeys, pins.Knows},
	} {
		if serves != nil && !serves(of.service) {
			continue
		}
		ids, err := of.under(ctx)
		if err != nil {
			return "", fmt.Errorf("find the keys of %s: %w", of.what, err)
		}
		for _, id := range ids {
			switch known, newest := of.knows(id); {
			case !known:
				missing[of.what] = true
			case !newest:
				earlier[of.what] = true
			}
		}
	}
	switch {
	case len(missing) > 0:
		return "", fmt.Errorf("%s are %w", names(missing), ErrMissing)
	case len(earlier) > 0:
		return names(earlier) + " are under an earlier key: run `castalia rotate-keys` before it is dropped", nil
	}
	return "everything is under the newest keys", nil
}

// names lists things in their order.
func names(of map[string]bool) string {
	var all []string
	for _, what := range []string{"files", "documents of knowledge", "archived conversations", "PINs"} {
		if of[what] {
			all = append(all, what)
		}
	}
	return strings.Join(all, ", ")
}

// Causes tells operators what a node cannot open, when they want to know, and the log at
// once. The node starts all the same: whoever has lost a key has the rest.
func Causes(ctx context.Context, db *sqldb.DB, s *config.Settings, serves func(service string) bool,
	log *slog.Logger,
) causes.Part {
	switch _, err := Find(ctx, db, s, serves); {
	case errors.Is(err, ErrMissing):
		log.Error("some of what is stored cannot be opened", slog.String("event", "key.missing"), slog.String("cause", told(err)))
	case err != nil:
		log.Warn("whether a key is missing could not be found out", slog.String("event", "key.unknown"), slog.Any("error", err))
	}
	return causes.Part{Name: "keys", Costly: true, Look: func(ctx context.Context) []string {
		if _, err := Find(ctx, db, s, serves); err != nil {
			return []string{told(err)}
		}
		return nil
	}}
}

// told is what operators hear.
func told(err error) string {
	if errors.Is(err, ErrMissing) {
		return err.Error() + "; " + remedy
	}
	return "whether a key is missing could not be found out: " + err.Error()
}
