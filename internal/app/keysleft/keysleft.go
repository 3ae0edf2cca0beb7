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
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// What is kept under keys.
const (
	files         = "files"
	documents     = "documents of knowledge"
	conversations = "archived conversations"
	pins          = "PINs"
)

// inOrder is how they are told of.
var inOrder = []string{files, documents, conversations, pins}

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
	masters, err := keyring.FilesOf(db, s)
	if err != nil {
		return "", err
	}
	sealing, err := keyring.PINsOf(db, s)
	if err != nil {
		return "", err
	}
	// whether each is the newest
	spaces, collections, cold := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, old := range masters.Old {
		spaces[filestore.MasterID(old)], collections[knowledge.MasterID(old)] = false, false
		cold[coldstore.MasterID(old)] = false
	}
	spaces[filestore.MasterID(masters.Current)], collections[knowledge.MasterID(masters.Current)] = true, true
	cold[coldstore.MasterID(masters.Current)] = true
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
		{"filestore", files, filestoresql.New(db).MasterKeys, in(spaces)},
		{"filestore", documents, knowledgesql.New(db).MasterKeys, in(collections)},
		{"oracle", conversations, func(ctx context.Context) ([]string, error) { return coldstore.MasterKeys(ctx, db) }, in(cold)},
		{"ussd", pins, ussdsql.New(db).PINKeys, sealing.Knows},
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
		return "", &missingError{missing}
	case len(earlier) > 0:
		return names(earlier) + " are under an earlier key: run `castalia rotate-keys` before it is dropped", nil
	}
	return "everything is under the newest keys", nil
}

// names lists things in their order.
func names(of map[string]bool) string {
	var all []string
	for _, what := range inOrder {
		if of[what] {
			all = append(all, what)
		}
	}
	return strings.Join(all, ", ")
}

// missingError names what is under keys that were not given.
type missingError struct{ of map[string]bool }

// Error implements error.
func (e *missingError) Error() string { return names(e.of) + " are " + ErrMissing.Error() }

// Unwrap says which error it is.
func (e *missingError) Unwrap() error { return ErrMissing }

// Causes tells operators what a node cannot open, when they want to know, and the log at
// once. The node starts all the same: whoever has lost a key has the rest.
func Causes(ctx context.Context, db *sqldb.DB, s *config.Settings, serves func(service string) bool,
	log *slog.Logger,
) causes.Part {
	switch _, err := Find(ctx, db, s, serves); {
	case errors.Is(err, ErrMissing):
		log.Error("some of what is stored cannot be opened", slog.String("event", "key.missing"), slog.String("cause", err.Error()+"; "+remedy))
	case err != nil:
		log.Warn("whether a key is missing could not be found out", slog.String("event", "key.unknown"), slog.Any("error", err))
	}
	return causes.Part{Name: "keys", Costly: true, Look: func(ctx context.Context) []*trouble.Trouble {
		_, err := Find(ctx, db, s, serves)
		return troubles(err)
	}}
}

// kept are the names of what there is, as sentences of platform/trouble choose by them.
var kept = map[string]string{
	files: "files", documents: "knowledge", conversations: "conversations", pins: "pins",
}

// troubles is what operators hear of an error of Find, one for each thing that is missing
// its key.
func troubles(err error) []*trouble.Trouble {
	missing, ok := errors.AsType[*missingError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return []*trouble.Trouble{trouble.New("health.keysUnknown", words.Values{"error": err.Error()})}
	}
	var all []*trouble.Trouble
	for _, what := range inOrder {
		if missing.of[what] {
			all = append(all, trouble.New("health.keyMissing", words.Values{"what": kept[what]}))
		}
	}
	return all
}
