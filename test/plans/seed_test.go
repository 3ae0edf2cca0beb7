package plans_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
	"github.com/castalia-org/castalia/test/testenv"
)

// rows is how many every table has.
func rows() int64 {
	if os.Getenv("CASTALIA_LONG") != "" {
		return 1_000_000
	}
	return 4000
}

// old is how many rows of each table are so old that sweepers want them: more than a
// slice.
const old = 600

// now is the time of the tests. Times that are not old are in the future of it.
var now = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// An expression of i for columns that are not just some text or number.
var special = map[string]string{
	"filestore_blobs.state": "CASE WHEN i <= 600 THEN 0 WHEN i <= 1200 THEN 2 ELSE 1 END",
	"filestore_blobs.at_ms": "i", "filestore_files.trashed_ms": "CASE WHEN i <= 600 THEN 1 ELSE 0 END",
	"filestore_namespaces.ns":            "'n' || i",
	"filestore_text_indexes.id":          "'n' || i",
	"filestore_text_indexes.seq":         "CASE WHEN i % 1000 = 0 THEN i - 1 ELSE i END",
	"filestore_text_segments.collection": "'n' || i",
	"filestore_text_segments.dead_ms":    "0", "filestore_text_indexes.dirty_ms": "CASE WHEN i <= 40 THEN i ELSE 0 END",
	"filestore_text_indexes.crowded": "CASE WHEN i <= 40 THEN 1 ELSE 0 END", "knowledge_collections.crowded": "CASE WHEN i <= 40 THEN 1 ELSE 0 END",
	"oracle_text_indexes.crowded": "CASE WHEN i <= 40 THEN 1 ELSE 0 END", "oracle_text_indexes.dirty_ms": "CASE WHEN i <= 40 THEN i ELSE 0 END",
	"oracle_text_segments.dead_ms": "0", "oracle_sessions.unread": "CASE WHEN i > 600 AND i <= 1200 THEN 1 ELSE 0 END",
	"audit_acts.id": "'0000' || (1000000000 + i) || '-x'", "filestore_unread.ns": "'n' || i", "queue_items.queue": "'plans'", "queue_items.lane": "'x' || (i % 10)", "queue_items.holder": "''",
	"platform_feeds.name": "'filestore/n' || i", "platform_feeds.last": "i",
	"knowledge_collections.dirty_ms": "CASE WHEN i <= 40 THEN i ELSE 0 END", "knowledge_segments.dead_ms": "0", "knowledge_collections.scanned": "1",
	"oracle_runs.status": "CASE WHEN i <= 10 THEN 'running' ELSE 'done' END", "oracle_runs.pruned": "CASE WHEN i <= 600 THEN 0 ELSE 1 END",
	"oracle_calls.status": "CASE WHEN i <= 10 THEN 'ringing' ELSE 'ended' END", "oracle_calls.recording_state": "''", "oracle_calls.ended_ms": "1",
	"oracle_sessions.expires_ms":    "CASE WHEN i <= 600 THEN 1 ELSE 0 END",
	"oracle_plugin_keys.expires_ms": "CASE WHEN i <= 600 THEN 1 ELSE 0 END",
	"oracle_usage.day":              "CASE WHEN i <= 600 THEN i ELSE 100000 + i END", "oracle_model_usage.day": "CASE WHEN i <= 600 THEN i ELSE 100000 + i END",
	"oracle_day_usage.day": "CASE WHEN i <= 600 THEN i ELSE 100000 + i END",
	// Everybody spends in one month.
	"oracle_month_usage.month": "CASE WHEN i <= 600 THEN 1 ELSE 100000 END",
	"ussd_counts.day":          "CASE WHEN i <= 600 THEN '2020-01-01' ELSE '2099-01-01' END", "ussd_sms_days.day": "CASE WHEN i <= 600 THEN '2020-01-01' ELSE '2099-01-01' END",
	"ussd_sms.state": "'sent'", "ussd_questions.state": "CASE WHEN i <= 600 THEN 2 ELSE 1 END", "ussd_sessions.status": "1", "ussd_attempts.locked_until_ms": "0",
	"platform_leases.epoch":       "CASE WHEN i <= 2500 THEN 1 ELSE 4000000000000 + i END",
	"platform_leases.expires_ms":  "CASE WHEN i <= 2500 THEN 0 ELSE 4000000000000 + i END",
	"webhook_deliveries.endpoint": "'x' || i",
	"oracle_sessions.loaded":      "'[]'",
	"oracle_sessions.cold":        "CASE WHEN i % 2 = 0 THEN 1 ELSE 0 END",
	"oracle_cold.dead_ms":         "CASE WHEN i <= 600 THEN i ELSE 0 END",
	"knowledge_documents.state":   "CASE WHEN i <= 600 THEN 0 ELSE 2 END",
	"knowledge_documents.ns":      "'x' || (i % 1000)",
}

// Tables that have a row only while there is something to do.
var few = map[string]int64{"filestore_unread": old, "webhook_deleted": old}

type column struct{ name, kind string }

// seeded returns a database with every table full.
func seeded(t *testing.T, url string, reads *sqldbtest.Reads) *sqldb.DB {
	t.Helper()
	db := sqldbtest.Open(t, url, sqldb.Options{Seen: reads.Seen})
	for _, m := range []sqldb.Migrations{
		audit.Migrations(), identitysql.Migrations(), ussdsql.Migrations(), filestoresql.Migrations(),
		knowledgesql.Migrations(), oraclesql.Migrations(), webhooksql.Migrations(), queue.Migrations(),
	} {
		if err := db.Migrate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	query := `SELECT m.name, p.name, p.type FROM sqlite_schema m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, p.cid`
	if db.Dialect() == sqldb.Postgres {
		query = `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`
	}
	found, err := db.Read().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]column{}
	for found.Next() {
		var table string
		var c column
		if err := found.Scan(&table, &c.name, &c.kind); err != nil {
			t.Fatal(err)
		}
		tables[table] = append(tables[table], c)
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		t.Fatal(err)
	}
	for table, columns := range tables {
		if !strings.HasSuffix(table, "_migrations") {
			fill(t, db, table, columns)
			reads.Ready(t, db, table)
		}
	}
	return db
}

func fill(t *testing.T, db *sqldb.DB, table string, columns []column) {
	t.Helper()
	const step = 10_000
	var names, values []string
	for _, c := range columns {
		names, values = append(names, c.name), append(values, value(table, c))
	}
	most := rows()
	if n, ok := few[table]; ok {
		most = n
	}
	for from := int64(0); from < most; from += step {
		text := fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM (WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n) s`,
			table, strings.Join(names, ", "), strings.Join(values, ", "), from+1, min(from+step, most))
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, text)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// value is what row i has in a column.
func value(table string, c column) string {
	if v := special[table+"."+c.name]; v != "" {
		return v
	}
	kind := strings.ToLower(c.kind)
	switch {
	case strings.HasSuffix(c.name, "_ms"):
		return fmt.Sprintf("CASE WHEN i <= %d THEN i ELSE 4000000000000 + i END", old)
	case strings.Contains(kind, "blob"):
		return "x'00'"
	case kind == "bytea":
		return `'\x00'::bytea`
	case strings.Contains(kind, "int"), strings.Contains(kind, "real"), strings.Contains(kind, "double"):
		return "i"
	case kind == "boolean":
		return "false"
	}
	return "'x' || i"
}

// each runs a test on both engines.
func each(t *testing.T, body func(t *testing.T, db *sqldb.DB, reads *sqldbtest.Reads)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		reads := sqldbtest.Reads{Small: rows() < 100_000}
		body(t, seeded(t, sqldbtest.SQLiteURL(t), &reads), &reads)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testenv.Need(t, "postgres")
		reads := sqldbtest.Reads{Small: rows() < 100_000}
		body(t, seeded(t, testenv.Postgres(t), &reads), &reads)
	})
}
