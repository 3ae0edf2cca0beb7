package oraclesql

import (
	"context"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

var _ usage.Store = (*Store)(nil)

// AddUsage adds sums of calls to those that are there.
func (st *Store) AddUsage(ctx context.Context, rows []usage.Row) error {
	if len(rows) == 0 {
		return nil
	}
	args, values := make([]any, 0, len(rows)*13), make([]string, 0, len(rows))
	for _, r := range rows {
		n := len(args)
		marks := make([]string, 13)
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", n+i+1)
		}
		values = append(values, "("+strings.Join(marks, ", ")+")")
		u := r.Usage
		args = append(args, r.Day, r.Owner, r.Model, r.Source, r.Calls, r.Failed, u.InputTokens, u.CachedTokens,
			u.OutputTokens, u.ReasoningTokens, u.CostMicros, r.FirstMS, r.Firsts)
	}
	_, err := st.db.WriteOne(sqldb.Later(ctx), `INSERT INTO oracle_model_usage
		(day, owner, model, source, calls, failed, input, cached, output, reasoning, cost_micros, first_ms, firsts) VALUES `+strings.Join(values, ", ")+`
		ON CONFLICT (day, owner, model, source) DO UPDATE SET calls = oracle_model_usage.calls + excluded.calls, failed = oracle_model_usage.failed + excluded.failed,
		input = oracle_model_usage.input + excluded.input, cached = oracle_model_usage.cached + excluded.cached,
		output = oracle_model_usage.output + excluded.output, reasoning = oracle_model_usage.reasoning + excluded.reasoning,
		cost_micros = oracle_model_usage.cost_micros + excluded.cost_micros,
		first_ms = oracle_model_usage.first_ms + excluded.first_ms, firsts = oracle_model_usage.firsts + excluded.firsts`, args...)
	if err != nil {
		return fmt.Errorf("add usage: %w", err)
	}
	return nil
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

// Usage sums calls up.
func (st *Store) Usage(ctx context.Context, q usage.Query) ([]usage.Row, error) {
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
	for _, column := range []string{"calls", "failed", "input", "cached", "output", "reasoning", "cost_micros", "first_ms", "firsts"} {
		sums = append(sums, `CAST(SUM(`+column+`) AS BIGINT)`) // PostgreSQL adds up to numerics
	}
	text := `SELECT ` + strings.Join(columns, ", ") + `, ` + strings.Join(sums, ", ") + `
		FROM oracle_model_usage WHERE ` + where
	if len(group) > 0 {
		list := strings.Join(group, ", ")
		text += ` GROUP BY ` + list + ` ORDER BY ` + list
	} else {
		text += ` HAVING COUNT(*) > 0`
	}
	rows, err := st.db.Read().QueryContext(ctx, text+fmt.Sprintf(` LIMIT %d`, maxUsageRows), args...)
	if err != nil {
		return nil, fmt.Errorf("sum usage: %w", err)
	}
	return collect(rows, func(row scanner) (usage.Row, error) {
		var r usage.Row
		u := &r.Usage
		err := row.Scan(&r.Day, &r.Owner, &r.Model, &r.Source, &r.Calls, &r.Failed, &u.InputTokens, &u.CachedTokens,
			&u.OutputTokens, &u.ReasoningTokens, &u.CostMicros, &r.FirstMS, &r.Firsts)
		return r, err
	})
}

// modelUsageDays is how long sums are kept.
const modelUsageDays = 400
