package filestoresql_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/test/testenv"
)

const (
	benchWriters = 16 // of each node
	benchTime    = 5 * time.Second
)

// BenchmarkOneNamespace stores small files in one namespace of PostgreSQL, from one node
// and from three, each change in a transaction of its own (before) and together (after),
// in turns, and prints how many times faster that is. Servers of tests do not wait for
// their disk; here a commit takes 5 ms, as on one.
func BenchmarkOneNamespace(b *testing.B) {
	testenv.Need(b, "postgres")
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			url := testenv.Postgres(b)
			db := sqldbtest.Migrate(b, sqldbtest.Open(b, url, sqldb.Options{}), filestoresql.Migrations())
			err := db.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				for _, text := range []string{slowDisk, onCommit} {
					if _, err := tx.ExecContext(ctx, text); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			var before, after float64
			for b.Loop() {
				before = max(before, rate(b, url, nodes, filestoresql.Alone))
				after = max(after, rate(b, url, nodes, filestoresql.New))
			}
			b.ReportMetric(before, "before/s")
			b.ReportMetric(after, "after/s")
			b.ReportMetric(after/before, "ratio")
		})
	}
}

// slowDisk has every commit that takes a number of a feed wait, once, with its locks held.
const slowDisk = `CREATE FUNCTION slow_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF current_setting('bench.waited', true) IS DISTINCT FROM txid_current()::text THEN
		PERFORM set_config('bench.waited', txid_current()::text, true), pg_sleep(0.005);
	END IF;
	RETURN NULL;
END $$`

const onCommit = `CREATE CONSTRAINT TRIGGER slow_disk AFTER INSERT OR UPDATE ON platform_feeds
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow_disk()`

// rate is how many files a second were stored.
func rate(b *testing.B, url string, nodes int, open func(*sqldb.DB) *filestoresql.Store) float64 {
	b.Helper()
	services := make([]*filestore.Service, nodes)
	for i := range services {
		db := sqldbtest.Open(b, url, sqldb.Options{})
		services[i] = filestore.New(filestore.Deps{Store: open(db)}, filestore.Config{MasterKey: filestoretest.MasterKey})
	}
	ns := "did:key:z" + filename.New()
	ctx, cancel := context.WithTimeout(b.Context(), benchTime)
	defer cancel()
	var stored atomic.Int64
	var all sync.WaitGroup
	text := strings.Repeat("a line of text\n", 70)
	for i := range nodes * benchWriters {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, err := services[i%nodes].Put(ctx, filestore.Owner(ns), filestore.Put{
					Path: fmt.Sprintf("/%d/%d.txt", i, n), Mode: filestore.Upsert, MimeType: "text/plain",
					Body: strings.NewReader(text), Size: int64(len(text)),
				})
				switch {
				case err == nil:
					stored.Add(1)
				case ctx.Err() == nil && !fault.Is(err, fault.Unavailable): // too busy is an answer
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(stored.Load()) / benchTime.Seconds()
}
