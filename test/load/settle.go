package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

const (
	// settleLimit is how long indexers may take before a run is given up: what they read
	// would be among the figures.
	settleLimit = 15 * time.Minute
	settleLook  = time.Second
)

// left says what indexers have to do in a database, by the questions that they ask
// themselves; nothing when that is nothing.
func left(ctx context.Context, db *sqldb.DB) (string, error) {
	files, talks, books := filestoresql.New(db), oraclesql.New(db), knowledgesql.New(db)
	dirty := func(records shelf.Records) func() (bool, error) {
		return func() (bool, error) {
			found, err := records.Dirty(ctx, segmentsize.Many, segmentsize.Tiers(false), time.Now(), "", 1)
			return len(found) > 0, err
		}
	}
	for _, work := range []struct {
		what string
		some func() (bool, error)
	}{
		{"files to index", func() (bool, error) {
			found, err := files.IndexBehind(ctx, "", 1)
			return len(found) > 0, err
		}},
		{"conversations to index", func() (bool, error) { // also those in which somebody spoke just now
			found, err := talks.Unread(ctx, sqldb.Time(math.MaxInt64), 1, "", 1)
			return len(found) > 0, err
		}},
		{"documents to read", func() (bool, error) { return books.Waits(ctx) }},
		{"indexes of files to tidy", dirty(files.IndexShelf())},
		{"indexes of conversations to tidy", dirty(talks.IndexShelf())},
	} {
		switch some, err := work.some(); {
		case err != nil:
			return "", fmt.Errorf("look for %s: %w", work.what, err)
		case some:
			return work.what, nil
		}
	}
	return "", nil
}

// settle returns when the fleet's indexers have nothing to do.
func (p *place) settle(ctx context.Context, say func(string, ...any)) (err error) {
	db, err := sqldb.Open(ctx, p.database, sqldb.Options{MaxReaders: 1, MaxWriters: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	begin := time.Now()
	for before := ""; ; {
		what, err := left(ctx, db)
		if err != nil {
			return err
		}
		if what == "" {
			say("indexers rest after %s", time.Since(begin).Round(100*time.Millisecond))
			return nil
		}
		if what != before {
			say("waiting for indexers: there are %s", what)
		}
		before = what
		if time.Since(begin) > settleLimit {
			return fmt.Errorf("after %s there are still %s: the figures would have that work in them", settleLimit, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleLook):
		}
	}
}
