package oraclesql

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql/pluginsql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql/usagesql"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// PluginStore returns the records of one plugin.
func (st *Store) PluginStore(name string) plugin.Store { return st.keysOf(name) }

func (st *Store) keysOf(name string) pluginsql.Keys {
	return pluginsql.Keys{DB: st.db, Plugin: name, Report: st.report}
}

// mark stores records in a transaction of the caller's.
func (st *Store) mark(ctx context.Context, tx sqldb.Querier, marks []run.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	now, err := st.db.NowIn(ctx, tx)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if err := st.keysOf(m.Store).In(tx, now).Put(ctx, m.Key, m.Value, m.For); err != nil {
			return err
		}
	}
	return nil
}

// Sweep deletes expired keys of all plugins and counts of long ago, a slice of each,
// and reports whether there may be more.
func (st *Store) Sweep(ctx context.Context, limit int) (more bool, err error) {
	now, err := st.db.Now(ctx)
	if err != nil {
		return false, err
	}
	for _, one := range []struct {
		what, text string
		before     int64
	}{
		{"keys", `DELETE FROM oracle_plugin_keys WHERE expires_ms > 0 AND expires_ms <= $1 AND (plugin, key) IN (
			SELECT plugin, key FROM oracle_plugin_keys WHERE expires_ms > 0 AND expires_ms <= $1 ORDER BY expires_ms LIMIT $2)`, sqldb.MS(now)},
		{"model usage", `DELETE FROM oracle_model_usage WHERE (day, owner, model, source) IN (
			SELECT day, owner, model, source FROM oracle_model_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - usagesql.Days},
		{"usage of days", `DELETE FROM oracle_day_usage WHERE (day, model, source) IN (
			SELECT day, model, source FROM oracle_day_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - usagesql.Days},
		{"usage of months", `DELETE FROM oracle_month_usage WHERE (month, owner) IN (
			SELECT month, owner FROM oracle_month_usage WHERE month < $1 ORDER BY month LIMIT $2)`, oracle.DayOf(now) - usagesql.Days},
		{"usage", `DELETE FROM oracle_usage WHERE (sponsor, day) IN (
			SELECT sponsor, day FROM oracle_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - usageDays},
	} {
		n, err := st.db.WriteOne(ctx, one.text, one.before, limit)
		if err != nil {
			return false, fmt.Errorf("sweep %s: %w", one.what, err)
		}
		more = more || n == int64(limit)
	}
	return more, nil
}
