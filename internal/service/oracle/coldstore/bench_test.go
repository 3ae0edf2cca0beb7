package coldstore_test

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// BenchmarkRoom says how much room 2,000 conversations of ten turns take in SQLite, pages
// with all their indexes, before and after they are archived, and how much in objects.
// What is said is cut from our guides: questions of about 100 bytes, answers of about 900.
//
//	go test -run none -bench Room -benchtime 1x ./internal/service/oracle/coldstore
func BenchmarkRoom(b *testing.B) {
	const talks, turns = 2000, 10
	db := oracletest.Migrated(b, sqldbtest.SQLite(b))
	st, prose := oraclesql.New(db), guides(b)
	cold, err := coldstore.New(coldstore.Deps{
		DB: db, Blobs: blobmem.New(), Keys: keys(1), Idle: oraclesql.Idle, Log: slog.New(slog.DiscardHandler),
	})
	ok(b, err)
	cut := func(size int) string {
		size = size/2 + rand.IntN(size)
		at := rand.IntN(len(prose) - size)
		return string(prose[at : at+size])
	}
	empty := used(b, db)
	for range talks {
		s := oracletest.NewSession(b, st)
		for range turns {
			oracletest.Answer(b, st, oracletest.Say(b, st, s.ID, cut(100), oracle.Interrupt).Run, cut(900))
		}
	}
	for {
		n, err := st.Prune(b.Context(), time.Now().Add(time.Hour), 1000)
		ok(b, err)
		if n == 0 {
			break
		}
	}
	_, err = db.WriteOne(b.Context(), `UPDATE oracle_sessions SET unread = 0, indexed_seq = next_seq`)
	ok(b, err)
	hot := used(b, db) - empty
	l, _, err := lease.NewKeeper(db, "me").Acquire(b.Context(), "bench", time.Hour)
	ok(b, err)
	moving, moved := cold.Moving(func() bool { return false }), int64(0)
	for b.Loop() {
		ok(b, moving.Walk(b.Context(), later(), func(ids []string) error {
			n, err := moving.Move(b.Context(), l, later(), ids)
			moved += n
			return err
		}))
	}
	totals, err := cold.Totals(b.Context())
	ok(b, err)
	if moved != talks {
		b.Fatalf("%d went, want %d", moved, talks)
	}
	left := used(b, db) - empty
	b.ReportMetric(float64(hot)/talks, "hot-B/talk")
	b.ReportMetric(float64(left)/talks, "left-B/talk")
	b.ReportMetric(float64(totals.Stored)/talks, "object-B/talk")
	b.ReportMetric(float64(hot)/float64(left), "hot/left")
	b.ReportMetric(float64(hot)/float64(left+totals.Stored), "hot/all")
}

// BenchmarkThaw is how long somebody waits for a conversation of ten turns.
func BenchmarkThaw(b *testing.B) {
	db := oracletest.Migrated(b, sqldbtest.SQLite(b))
	prose := guides(b)
	cold, err := coldstore.New(coldstore.Deps{
		DB: db, Blobs: blobmem.New(), Keys: keys(1), Idle: oraclesql.Idle, Log: slog.New(slog.DiscardHandler),
	})
	ok(b, err)
	st := oraclesql.New(db).WithCold(cold)
	s := oracletest.NewSession(b, st)
	for i := range 10 {
		begun := oracletest.Say(b, st, s.ID, string(prose[i*99:i*99+99]), oracle.Interrupt)
		oracletest.Answer(b, st, begun.Run, string(prose[i*900:i*900+900]))
	}
	_, err = st.Prune(b.Context(), time.Now().Add(time.Hour), 1000)
	ok(b, err)
	_, err = db.WriteOne(b.Context(), `UPDATE oracle_sessions SET unread = 0, indexed_seq = next_seq`)
	ok(b, err)
	l, _, err := lease.NewKeeper(db, "me").Acquire(b.Context(), "bench", time.Hour)
	ok(b, err)
	for b.Loop() {
		b.StopTimer()
		n, err := cold.Moving(func() bool { return false }).Move(b.Context(), l, later(), []string{s.ID})
		if err != nil || n != 1 {
			b.Fatal(n, err)
		}
		b.StartTimer()
		if list, err := st.Messages(b.Context(), oracletest.Owner, s.ID, 0); err != nil || len(list) != 20 {
			b.Fatal(len(list), err)
		}
	}
}

func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// guides is what our guides say, as ASCII.
func guides(tb testing.TB) (out []byte) {
	tb.Helper()
	files, err := filepath.Glob("../../../../docs/guides/*.md")
	ok(tb, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		ok(tb, err)
		for _, c := range text {
			if c < 0x80 {
				out = append(out, c)
			}
		}
	}
	return out
}

// used is how many bytes of the file's pages are in use.
func used(tb testing.TB, db *sqldb.DB) int64 {
	tb.Helper()
	var pages, free, size int64
	for pragma, into := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		ok(tb, db.Read().QueryRowContext(tb.Context(), `PRAGMA `+pragma).Scan(into))
	}
	return (pages - free) * size
}
