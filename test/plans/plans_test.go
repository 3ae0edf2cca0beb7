package plans_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/feed/feedsql"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
)

// slice is what sweepers take at once here.
const slice = 100

// leases is how many are old.
const leases = 2500

// work is something that is done all the time, and the most rows that it may read, of
// a table of any size.
type work struct {
	name string
	most int64
	do   func(ctx context.Context) error
}

// TestWorkReadsWhatItIsAbout runs every worker's queries and those of operators' lists.
func TestWorkReadsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB, reads *sqldbtest.Reads) {
		for _, w := range works(db) {
			t.Run(w.name, func(t *testing.T) {
				var err error
				n := reads.Of(t, db, func() { err = w.do(t.Context()) })
				if err != nil {
					t.Fatal(err)
				}
				if n > w.most {
					t.Errorf("%d rows were read, at most %d", n, w.most)
				}
			})
		}
	})
}

func works(db *sqldb.DB) []work {
	phones, people, files, books, talks := ussdsql.New(db), identitysql.New(db), filestoresql.New(db),
		knowledgesql.New(db), oraclesql.New(db)
	hooks, items := webhooksql.New(db, queue.Config{}), queue.New(db, queue.Config{Name: "plans"})
	return []work{
		{"identity sweep", 10 * slice, func(ctx context.Context) error { return second(people.Sweep(ctx, now, slice)) }},
		{"identity revocations sweep", 4 * slice, func(ctx context.Context) error {
			_, _, err := people.SweepRevocations(ctx, now, slice)
			return err
		}},
		{"identity revocations", 4 * slice, func(ctx context.Context) error { return second(people.Revocations(ctx, 100, slice)) }},
		{"leases sweep", 8 * leases, func(ctx context.Context) error {
			n, err := lease.NewKeeper(db, "me").Sweep(ctx, time.Hour)
			if n != leases {
				err = errors.Join(err, fmt.Errorf("%d leases were forgotten, want %d: more than a slice", n, leases))
			}
			return err
		}},
		{"ussd sweep", 2*slice + old, func(ctx context.Context) error { return second(phones.Sweep(ctx, now, now, slice)) }},
		{"ussd prune", 7 * (2*slice + old), func(ctx context.Context) error { return second(phones.Prune(ctx, now, slice)) }},
		{"ussd new telephones", slice, func(ctx context.Context) error {
			return second(phones.KnownPhones(ctx, sqldb.Time(4000000000000+rows()), func(string) {}))
		}},
		{"ussd questions", slice, func(ctx context.Context) error { return second(phones.TakeQuestions(ctx, time.Minute, 10)) }},
		{"ussd acts page", 2 * slice, func(ctx context.Context) error { return second(phones.Acts(ctx, "", 50)) }},
		{"ussd submissions page", slice, func(ctx context.Context) error { return second(phones.Submissions(ctx, "x7", "", 50)) }},
		{"oracle sweep", 5 * 4 * slice, func(ctx context.Context) error { return second(talks.Sweep(ctx, slice)) }},
		{"oracle hidden sessions", 2 * slice, func(ctx context.Context) error { return second(talks.Expired(ctx, now, slice)) }},
		{"oracle frames prune", 10 * slice, func(ctx context.Context) error { return second(talks.Prune(ctx, now, 64)) }},
		{"oracle lost runs", slice, func(ctx context.Context) error { return second(talks.Claimable(ctx, time.Second, 10)) }},
		{"oracle live runs", slice, func(ctx context.Context) error { return second(talks.Live(ctx)) }},
		{"oracle lost calls", slice, func(ctx context.Context) error { return second(talks.SweepCalls(ctx, now, 100)) }},
		{"oracle recordings", slice, func(ctx context.Context) error {
			return second(talks.ClaimRecordings(ctx, call.Due{Ended: now, Lost: now}, time.Minute, 10))
		}},
		{"filestore pending", 4 * old, func(ctx context.Context) error { return second(files.ExpirePending(ctx, now, slice)) }},
		{"filestore receipts", 4 * slice, func(ctx context.Context) error { return second(files.ExpireOnce(ctx, now, slice)) }},
		{"filestore uploads", 2 * slice, func(ctx context.Context) error { return second(files.ExpiredUploads(ctx, now, slice)) }},
		{"filestore dead blobs", 4 * slice, func(ctx context.Context) error { return second(files.DeadBlobs(ctx, now, 10)) }},
		{"filestore trash", 4 * slice, func(ctx context.Context) error { return second(files.ExpiredTrash(ctx, now, slice)) }},
		{"knowledge dead segments", slice, func(ctx context.Context) error { return second(books.DeadSegments(ctx, now, 16)) }},
		{"filestore indexer", 3 * slice, func(ctx context.Context) error { return second(files.IndexBehind(ctx, "", slice)) }},
		{"filestore indexer's patrol", 8 * slice, func(ctx context.Context) error { return second(files.IndexMissed(ctx, "", slice)) }},
		{"filestore tidier", 2 * slice, dirty(files.IndexShelf())},
		{"oracle indexer", 4 * old, func(ctx context.Context) error { return second(talks.Unread(ctx, now, 64, "", slice)) }},
		{"oracle tidier", 2 * slice, dirty(talks.IndexShelf())},
		{"oracle usage report", 2 * slice, func(ctx context.Context) error {
			return second(talks.Usage(ctx, usage.Query{From: 1, To: slice, By: []usage.Dimension{usage.ByDay}}))
		}},
		{"oracle spenders", slice, func(ctx context.Context) error { return second(talks.Spenders(ctx, 100000, 10)) }},
		{"ussd sessions by day", slice, func(ctx context.Context) error { return second(phones.Begun(ctx, "2026-01-01")) }},
		{"knowledge tidier", 3 * slice, func(ctx context.Context) error {
			return second(books.Dirty(ctx, segmentsize.Many, segmentsize.Tiers(false), now, "", 16))
		}},
		// A namespace is looked at for its turn, 600 of them, and not each document.
		{"knowledge reader", 10 * old, func(ctx context.Context) error { _, _, err := books.Take(ctx, "me", time.Minute); return err }},
		{"knowledge waits", slice, func(ctx context.Context) error { return second(books.Waits(ctx)) }},
		{"heads of feeds", slice, func(ctx context.Context) error { return second(feedsql.In(db)(ctx, []string{"x1", "x2"})) }},
		{"webhooks prune", 10 * slice, func(ctx context.Context) error { return second(hooks.Prune(ctx, now, slice)) }},
		{"queue", 20 * slice, func(ctx context.Context) error { return second(items.Take(ctx, 10, nil)) }},
		{"audit page", slice, func(ctx context.Context) error { return second(audit.New(db).List(ctx, audit.Filter{Limit: 50})) }},
		{"audit page of an actor", slice, func(ctx context.Context) error {
			return second(audit.New(db).List(ctx, audit.Filter{Limit: 50, Actor: "x7"}))
		}},
		{"ussd accounts page", 4 * slice, func(ctx context.Context) error {
			return second(phones.Accounts(ctx, ussdpeople.Search{Limit: slice, After: "x5"}))
		}},
		{"ussd accounts of a telephone", slice, func(ctx context.Context) error {
			return second(phones.Accounts(ctx, ussdpeople.Search{Limit: slice, Phone: "x7"}))
		}},
		{"knowledge unscanned", slice, func(ctx context.Context) error { return second(books.Unscanned(ctx, 16)) }},
	}
}

// dirty asks what is to be tidied.
func dirty(records shelf.Records) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return second(records.Dirty(ctx, segmentsize.Many, segmentsize.Tiers(false), now, "", 16))
	}
}

// second is what became of a call that returns something too.
func second[T any](_ T, err error) error { return err }
