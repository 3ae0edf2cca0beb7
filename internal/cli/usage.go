package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/oracle"
	modelusage "github.com/castalia-org/castalia/internal/service/oracle/usage"
)

func usageCommand() command {
	return command{
		name:    "usage",
		args:    "[--from DAY] [--to DAY] [--by day,user,model,source] [--user DID] [--model NAME] [--source NAME] [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "what models were asked, by whom, and what it cost", run: runUsage,
	}
}

// usageDays is how many days are shown when nobody says how many.
const usageDays = 30

func runUsage(ctx context.Context, args []string, s IO) error {
	fs := shell.NewFlags("usage", s)
	var from settingFlags
	from.register(fs, s)
	first := fs.String("from", "", "first `DAY` (UTC), such as 2026-11-01; 29 days before the last otherwise")
	last := fs.String("to", "", "last `DAY` (UTC), included; today otherwise")
	by := fs.String("by", "day,model", "comma `LIST` of day, user, model and source; empty for the total alone")
	var q modelusage.Query
	fs.StringVar(&q.Owner, "user", "", "only what this `DID` asked")
	fs.StringVar(&q.Model, "model", "", "only the model of this `NAME`")
	fs.StringVar(&q.Source, "source", "", "only what came by `NAME`: oracle, face, telephone, call, or a plugin")
	err := shell.ParseFlags(fs, args)
	if err != nil {
		return err
	}
	if q.By, err = modelusage.ParseBy(*by, modelusage.ByDay, modelusage.ByUser, modelusage.ByModel,
		modelusage.BySource); err != nil {
		return shell.Usagef("%v", err)
	}
	if q.To, err = usageDay(*last, oracle.DayOf(time.Now())); err != nil {
		return err
	}
	if q.From, err = usageDay(*first, q.To-usageDays+1); err != nil {
		return err
	}
	opt, err := from.options(s)
	if err != nil {
		return err
	}
	return app.Usage(ctx, opt, func(store modelusage.Store) error {
		rows, err := store.Usage(ctx, q)
		if err != nil {
			return err
		}
		return printUsage(s, q.By, rows)
	})
}

func usageDay(text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, shell.Usagef("%q is not a day such as 2026-11-01", text)
	}
	return oracle.DayOf(t), nil
}

// printUsage prints a table with the total in its last line.
func printUsage(s IO, by []modelusage.Dimension, rows []modelusage.Row) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(s.Out, "Nothing was asked.")
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	head := []string{}
	for _, d := range by {
		head = append(head, strings.ToUpper(string(d)))
	}
	lines := []string{strings.Join(append(head, "CALLS", "FAILED", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST", "FIRST TOKEN"), "\t")}
	var total modelusage.Row
	for _, r := range rows {
		total = total.Add(r)
		lines = append(lines, usageLine(usageNames(r, by), r))
	}
	if len(by) > 0 {
		names := make([]string, len(by))
		names[0] = "total"
		lines = append(lines, usageLine(names, total))
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return w.Flush()
}

func usageNames(r modelusage.Row, by []modelusage.Dimension) []string {
	var out []string
	for _, d := range by {
		switch d {
		case modelusage.ByDay:
			out = append(out, time.UnixMilli(r.Day*(24*time.Hour).Milliseconds()).UTC().Format(time.DateOnly))
		case modelusage.ByUser:
			out = append(out, r.Owner)
		case modelusage.ByModel:
			out = append(out, r.Model)
		case modelusage.BySource:
			out = append(out, r.Source)
		}
	}
	return out
}

func usageLine(names []string, r modelusage.Row) string {
	first := "-"
	if r.Firsts > 0 {
		first = (time.Duration(r.FirstMS/r.Firsts) * time.Millisecond).String()
	}
	u := r.Usage
	return strings.Join(append(names, fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%.6f\t%s",
		r.Calls, r.Failed, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens,
		float64(u.CostMicros)/1e6, first)), "\t")
}
