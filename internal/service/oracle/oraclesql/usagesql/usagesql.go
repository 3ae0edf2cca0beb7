// Package usagesql keeps what models were asked, and what it cost, in the oracle's tables.
//
// It promises what usage.Store promises: the sums of people, of days and of months grow
// together or not at all.
package usagesql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// Sums is the usage.Store on a database.
type Sums struct{ db *sqldb.DB }

var _ usage.Store = Sums{}

// New makes Sums. The database must have the oracle's tables.
func New(db *sqldb.DB) Sums { return Sums{db: db} }

// counted are the columns that are added up.
var counted = []string{
	"messages", "calls", "failed", "input", "cached", "output", "reasoning", "cost_micros", "first_ms", "firsts",
}

// sums are a row's values of those columns.
func sums(r usage.Row) []any {
	u := r.Usage
	return []any{
		r.Messages, r.Calls, r.Failed, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.CostMicros,
		r.FirstMS, r.Firsts,
	}
}

// AddUsage adds sums of calls to those that are there: of people, of days and of months,
// all or none.
func (s Sums) AddUsage(ctx context.Context, rows []usage.Row) error {
	if len(rows) == 0 {
		return nil
	}
	people := adding{table: "oracle_model_usage", keys: []string{"day", "owner", "model", "source"}, sums: counted}
	days := adding{table: "oracle_day_usage", keys: []string{"day", "model", "source"}, sums: counted}
	months := adding{
		table: "oracle_month_usage", keys: []string{"month", "owner"}, sums: []string{"messages", "calls", "tokens", "cost_micros"},
	}
	for _, r := range rows {
		people.add([]any{r.Day, r.Owner, r.Model, r.Source}, sums(r))
	}
	day := func(r usage.Row) usage.Row { return usage.Row{Day: r.Day, Model: r.Model, Source: r.Source} }
	for _, r := range summed(rows, day) {
		days.add([]any{r.Day, r.Model, r.Source}, sums(r))
	}
	month := func(r usage.Row) usage.Row { return usage.Row{Day: oracle.MonthOf(r.Day), Owner: r.Owner} }
	for _, r := range summed(rows, month) {
		u := r.Usage
		months.add([]any{r.Day, r.Owner}, []any{r.Messages, r.Calls, u.InputTokens + u.OutputTokens, u.CostMicros})
	}
	return s.db.Write(sqldb.Later(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		for _, a := range []adding{people, days, months} {
			if _, err := tx.ExecContext(ctx, a.text(), a.args...); err != nil {
				return fmt.Errorf("add usage to %s: %w", a.table, err)
			}
		}
		return nil
	})
}

// summed adds rows up that become the same, in one order for all nodes, so that none
// waits for another in a circle.
func summed(rows []usage.Row, as func(usage.Row) usage.Row) []usage.Row {
	all := map[usage.Row]usage.Row{}
	for _, r := range rows {
		all[as(r)] = all[as(r)].Add(r)
	}
	out := make([]usage.Row, 0, len(all))
	for k, r := range all {
		r.Day, r.Owner, r.Model, r.Source = k.Day, k.Owner, k.Model, k.Source
		out = append(out, r)
	}
	slices.SortFunc(out, usage.Row.Compare)
	return out
}

// adding is a statement that adds rows to those that have the same keys.
type adding struct {
	table      string
	keys, sums []string
	values     []string
	args       []any
}

func (a *adding) add(keys, sums []any) {
	marks := make([]string, len(keys)+len(sums))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", len(a.args)+i+1)
	}
	a.values = append(a.values, "("+strings.Join(marks, ", ")+")")
	a.args = append(append(a.args, keys...), sums...)
}

func (a *adding) text() string {
	set := make([]string, len(a.sums))
	for i, column := range a.sums {
		set[i] = fmt.Sprintf("%[1]s = %[2]s.%[1]s + excluded.%[1]s", column, a.table)
	}
	keys := strings.Join(a.keys, ", ")
	return fmt.Sprintf(`INSERT INTO %s (%s, %s) VALUES %s ON CONFLICT (%s) DO UPDATE SET %s`, a.table, keys,
		strings.Join(a.sums, ", "), strings.Join(a.values, ", "), keys, strings.Join(set, ", "))
}

// maxUsageRows bounds an answer.
const maxUsageRows = 10_000

// dimensions are the columns to group by, with what stands for one that nobody
// grouped by.
var dimensions = []struct {
	by            usage.Dimension
	column, empty string
}{
	{usage.ByDay, "day", "0"}, {usage.ByUser, "owner", "''"}, {usage.ByModel, "model", "''"}, {usage.BySource, "source", "''"},
}

// Usage sums calls up: from the rows of people where somebody asks about them, from
// those of days otherwise, of which there are no more when more people ask.
func (s Sums) Usage(ctx context.Context, q usage.Query) ([]usage.Row, error) {
	var columns, group []string
	for _, d := range dimensions {
		column := d.empty
		for _, by := range q.By {
			if by == d.by {
				column = d.column
				group = append(group, d.column)
			}
		}
		columns = append(columns, column)
	}
	where, args := `day >= $1 AND day <= $2`, []any{q.From, q.To}
	for _, f := range []struct{ column, value string }{{"owner", q.Owner}, {"model", q.Model}, {"source", q.Source}} {
		if f.value != "" {
			args = append(args, f.value)
			where += fmt.Sprintf(` AND %s = $%d`, f.column, len(args))
		}
	}
	var sums []string
	for _, column := range counted {
		sums = append(sums, `CAST(SUM(`+column+`) AS BIGINT)`) // PostgreSQL adds up to numerics
	}
	table := "oracle_day_usage"
	if q.Owner != "" || slices.Contains(q.By, usage.ByUser) {
		table = "oracle_model_usage"
	}
	text := `SELECT ` + strings.Join(columns, ", ") + `, ` + strings.Join(sums, ", ") + `
		FROM ` + table + ` WHERE ` + where
	if len(group) > 0 {
		list := strings.Join(group, ", ")
		text += ` GROUP BY ` + list + ` ORDER BY ` + list
	} else {
		text += ` HAVING COUNT(*) > 0`
	}
	rows, err := s.db.Read().QueryContext(ctx, text+fmt.Sprintf(` LIMIT %d`, maxUsageRows), args...)
	if err != nil {
		return nil, fmt.Errorf("sum usage: %w", err)
	}
	return collect(rows, func() (usage.Row, error) {
		var r usage.Row
		u := &r.Usage
		err := rows.Scan(&r.Day, &r.Owner, &r.Model, &r.Source, &r.Messages, &r.Calls, &r.Failed, &u.InputTokens,
			&u.CachedTokens, &u.OutputTokens, &u.ReasoningTokens, &u.CostMicros, &r.FirstMS, &r.Firsts)
		return r, err
	})
}

// Spenders lists who spent most in a month.
func (s Sums) Spenders(ctx context.Context, month int64, limit int) ([]usage.Spender, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT owner, messages, calls, tokens, cost_micros FROM oracle_month_usage
		WHERE month = $1 ORDER BY cost_micros DESC, tokens DESC, owner LIMIT $2`, month, limit)
	if err != nil {
		return nil, fmt.Errorf("list spenders: %w", err)
	}
	return collect(rows, func() (one usage.Spender, err error) {
		err = rows.Scan(&one.Owner, &one.Messages, &one.Calls, &one.Tokens, &one.CostMicros)
		return one, err
	})
}

// Days is how long sums are kept.
const Days = 400

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, scan func() (T, error)) ([]T, error) {
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan()
		if err != nil {
			return nil, fmt.Errorf("read row: %w", err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return out, nil
}
