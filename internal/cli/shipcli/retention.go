package shipcli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
)

// How to look at retention.
const (
	RetentionUsage   = "[--keep CLASS=DURATION]… [--tables] [--token TOKEN] [--server URL]"
	RetentionSummary = "what a running server keeps and for how long; erases nothing: --keep shows what a rule would"
)

// RunRetention prints the rules in force, or proposed ones, and what they would erase.
func RunRetention(ctx context.Context, args []string, s shell.IO) error {
	l := newLook("retention", s)
	var rules []string
	l.flags.Func("keep", "a `RULE` to try, such as runs=90d, instead of those in force; may be repeated", func(text string) error {
		class, keep, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("given %q, wanted is CLASS=DURATION, such as runs=90d", text)
		}
		rules = append(rules, class+": "+keep+"\n")
		return nil
	})
	tables := l.flags.Bool("tables", false, "also what each table holds and how fast it grows")
	if err := l.parse(args); err != nil {
		return err
	}
	query := url.Values{}
	if len(rules) > 0 {
		query.Set("rules", strings.Join(rules, ""))
	}
	var said struct {
		Classes []struct {
			Name, Keep string
			Due        []struct {
				Table string
				Rows  int
				More  bool
			}
		}
		Tables []struct {
			Name, Day           string
			Rows, Bytes         int64
			RowsADay, BytesADay *int64
		}
		Exported bool
	}
	if err := l.read(ctx, "/operator/retention", query, &said); err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CLASS\tKEPT FOR\tTABLE\tWOULD GO NOW")
	for _, c := range said.Classes {
		keep := c.Keep
		if keep == "" {
			keep = "ever"
		}
		for _, d := range c.Due {
			more := ""
			if d.More {
				more = " or more"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d%s\n", c.Name, keep, d.Table, d.Rows, more)
		}
	}
	if *tables {
		_, _ = fmt.Fprintln(w, "\nTABLE\tROWS\tBYTES\tROWS A DAY\tMEASURED")
		for _, t := range said.Tables {
			growth, size := "-", "-"
			if t.RowsADay != nil {
				growth = fmt.Sprintf("%+d", *t.RowsADay)
			}
			if t.Bytes > 0 {
				size = bytesize.Text(t.Bytes)
			}
			_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", t.Name, t.Rows, size, growth, t.Day)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !said.Exported {
		_, _ = fmt.Fprintln(s.Err, "Nothing is exported before it goes: RETENTION_EXPORT_URL says where to.")
	}
	return nil
}
