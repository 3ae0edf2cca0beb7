// Package usagecli prints what people said, what models were asked for it and what it
// cost, for whoever has the database or a role at a server. It prints sums, never what anybody said.
package usagecli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// How the command is described.
const (
	Usage = "[--from DAY] [--to DAY] [--by day,user,model,source] [--user DID] [--model NAME] [--source NAME] " +
		"[--spenders [--month MONTH]]"
	Summary = "what models were asked, by whom, and what it cost"
)

const (
	// usualDays is how many days are shown when nobody says how many.
	usualDays = 30
	// listed is how many of those who spent most are shown.
	listed = 20
)

// Question is what the flags ask for.
type Question struct {
	query                    usage.Query
	first, last, by, ofMonth string
	spenders                 bool
}

// Store has the sums: a deployment's own records, or a Server.
type Store interface {
	Usage(ctx context.Context, q usage.Query) ([]usage.Row, error)
	Spenders(ctx context.Context, month int64, limit int) ([]usage.Spender, error)
}

// Answer prints what a store has.
type Answer func(ctx context.Context, store Store, out io.Writer) error

// Flags registers the flags of a question.
func Flags(fs *flag.FlagSet) *Question {
	q := &Question{}
	fs.StringVar(&q.first, "from", "", "first `DAY` (UTC), such as 2026-11-01; 29 days before the last otherwise")
	fs.StringVar(&q.last, "to", "", "last `DAY` (UTC), included; today otherwise")
	fs.StringVar(&q.by, "by", "day,model", "comma `LIST` of day, user, model and source; empty for the total alone")
	fs.StringVar(&q.query.Owner, "user", "", "only what this `DID` asked")
	fs.StringVar(&q.query.Model, "model", "", "only the model of this `NAME`")
	fs.StringVar(&q.query.Source, "source", "", "only what came by `NAME`: oracle, face, telephone, call, or a plugin")
	fs.BoolVar(&q.spenders, "spenders", false, "who spent most in a month, in place of the sums")
	fs.StringVar(&q.ofMonth, "month", "", "the `MONTH` (UTC) of --spenders, such as 2026-11; this one otherwise")
	return q
}

// Read checks the flags and returns how they are answered.
func (q *Question) Read() (Answer, error) {
	if q.spenders {
		return spenders(q.ofMonth)
	}
	if q.ofMonth != "" {
		return nil, shell.Usagef("--month goes with --spenders; sums go by --from and --to")
	}
	ask := q.query
	var err error
	if ask.By, err = usage.ParseBy(q.by, usage.ByDay, usage.ByUser, usage.ByModel, usage.BySource); err != nil {
		return nil, shell.Usagef("%v", err)
	}
	if ask.To, err = day(q.last, oracle.DayOf(time.Now())); err != nil {
		return nil, err
	}
	if ask.From, err = day(q.first, ask.To-usualDays+1); err != nil {
		return nil, err
	}
	return func(ctx context.Context, store Store, out io.Writer) error {
		rows, err := store.Usage(ctx, ask)
		if err != nil {
			return err
		}
		return printSums(out, ask.By, rows)
	}, nil
}

func day(text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, shell.Usagef("%q is not a day such as 2026-11-01", text)
	}
	return oracle.DayOf(t), nil
}

// spenders prints who spent most in a month.
func spenders(month string) (Answer, error) {
	first := oracle.MonthOf(oracle.DayOf(time.Now()))
	if month != "" {
		t, err := time.Parse("2006-01", month)
		if err != nil {
			return nil, shell.Usagef("%q is not a month such as 2026-11", month)
		}
		first = oracle.DayOf(t)
	}
	return func(ctx context.Context, store Store, out io.Writer) error {
		list, err := store.Spenders(ctx, first, listed)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return nothing(out)
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "USER\tMESSAGES\tCALLS\tTOKENS\tCOST")
		for _, s := range list {
			_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", s.Owner, s.Messages, s.Calls, s.Tokens, cost(s.CostMicros))
		}
		return w.Flush()
	}, nil
}

func nothing(out io.Writer) error {
	_, err := fmt.Fprintln(out, "Nothing was asked.")
	return err
}

// cost writes millionths as units.
func cost(micros int64) string { return fmt.Sprintf("%.6f", float64(micros)/1e6) }

// printSums prints a table with the total in its last line.
func printSums(out io.Writer, by []usage.Dimension, rows []usage.Row) error {
	if len(rows) == 0 {
		return nothing(out)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := []string{}
	for _, d := range by {
		head = append(head, strings.ToUpper(string(d)))
	}
	head = append(head, "MESSAGES", "CALLS", "FAILED", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST", "FIRST TOKEN")
	lines := []string{strings.Join(head, "\t")}
	var total usage.Row
	for _, r := range rows {
		total = total.Add(r)
		lines = append(lines, line(names(r, by), r))
	}
	if len(by) > 0 {
		last := make([]string, len(by))
		last[0] = "total"
		lines = append(lines, line(last, total))
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return w.Flush()
}

func names(r usage.Row, by []usage.Dimension) []string {
	var out []string
	for _, d := range by {
		switch d {
		case usage.ByDay:
			out = append(out, dayText(r.Day))
		case usage.ByUser:
			out = append(out, r.Owner)
		case usage.ByModel:
			out = append(out, r.Model)
		case usage.BySource:
			out = append(out, r.Source)
		}
	}
	return out
}

func line(names []string, r usage.Row) string {
	first := "-"
	if r.Firsts > 0 {
		first = (time.Duration(r.FirstMS/r.Firsts) * time.Millisecond).String()
	}
	u := r.Usage
	return strings.Join(append(names, fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s",
		r.Messages, r.Calls, r.Failed, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens,
		cost(u.CostMicros), first)), "\t")
}
