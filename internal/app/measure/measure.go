// Package measure shows operators the counters of what the program stands on.
package measure

import (
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// Writes shows whether writes go through.
func Writes(m *telemetry.Metrics, trouble func() string) {
	m.GaugeFunc("database_writes_stuck", "1 while the database takes no writes: they fail, or hang.", func() float64 {
		if trouble() != "" {
			return 1
		}
		return 0
	})
}

// Database shows the database's counters to operators.
func Database(m *telemetry.Metrics, db *sqldb.DB) {
	for name, counter := range map[string]struct {
		help string
		read func(sqldb.Stats) int64
	}{
		"database_writes_total":        {"Write transactions asked for.", func(s sqldb.Stats) int64 { return s.Writes }},
		"database_commits_total":       {"Commits; on SQLite writers share them.", func(s sqldb.Stats) int64 { return s.Commits }},
		"database_write_retries_total": {"Write functions run again after a conflict.", func(s sqldb.Stats) int64 { return s.Retries }},
		"database_slow_writes_total":   {"Write functions that took more than 100 ms.", func(s sqldb.Stats) int64 { return s.Slow }},
	} {
		m.CounterFunc(name, counter.help, func() float64 { return float64(counter.read(db.Stats())) })
	}
	m.GaugeFunc("database_writes_waiting", "Writes that wait for their turn.", func() float64 { return float64(db.Stats().Waiting) })
	m.GaugeFunc("database_readers_open", "Connections that read.", func() float64 { return float64(db.Stats().Readers.OpenConnections) })
	m.GaugeFunc("database_writers_open", "Connections that write.", func() float64 { return float64(db.Stats().Writers.OpenConnections) })
	m.CounterFunc("database_connections_awaited_total", "Times that somebody waited for a connection, since all were in use.", func() float64 {
		s := db.Stats()
		return float64(s.Readers.WaitCount + s.Writers.WaitCount)
	})
	m.GaugeFunc("database_connections_short", "1 while PostgreSQL has fewer connections than this node wants.", func() float64 {
		if db.Stats().Short {
			return 1
		}
		return 0
	})
}
