package shipcli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
)

// How to look at retention.
const (
	RetentionUsage   = "[--keep CLASS=DURATION]… [--tables] [--archive-now] [--token TOKEN|--key FILE] [--server URL]"
	RetentionSummary = "what a running server keeps and for how long; erases nothing: --keep shows what a rule would, --archive-now moves conversations that are due"
)

// RunRetention prints the rules in force, or proposed ones, and what they would erase.
func RunRetention(ctx context.Context, args []string, s shell.IO) error {
	flags := shell.NewFlags("retention", s)
	desk := shell.NewDesk(flags, s, "/operator")
	var rules []string
	flags.Func("keep", "a `RULE` to try, such as runs=90d, instead of those in force; may be repeated", func(text string) error {
		class, keep, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not CLASS=DURATION, such as runs=90d", text)
		}
		rules = append(rules, class+": "+keep+"\n")
		return nil
	})
	tables := flags.Bool("tables", false, "also what each table holds and how fast it grows")
	archive := flags.Bool("archive-now", false, "move conversations that are due by the rule archive, without waiting for the hour")
	if err := shell.Parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", flags.Arg(0))
	}
	if *archive {
		return archiveNow(ctx, desk, s)
	}
	query := url.Values{}
	if len(rules) > 0 {
		query.Set("rules", strings.Join(rules, ""))
	}
	var said kept
	if err := desk.Ask(ctx, http.MethodGet, "/retention?"+query.Encode(), nil, &said); err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	said.printClasses(w)
	if *tables {
		said.printTables(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if said.Archived != nil && said.Archived.Conversations > 0 {
		_, _ = fmt.Fprintln(s.Err, said.Archived)
	}
	if !said.Exported {
		_, _ = fmt.Fprintln(s.Err, "Nothing is exported before it goes: RETENTION_EXPORT_URL says where to.")
	}
	return nil
}

// kept is what a server says that it keeps.
type kept struct {
	Classes []struct {
		Name, Keep string
		Moves      bool
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
	Archived *archived
}

func (said kept) printClasses(w io.Writer) {
	_, _ = fmt.Fprintln(w, "CLASS\tKEPT\tTABLE\tWOULD GO NOW")
	for _, c := range said.Classes {
		keep := c.Keep
		if keep == "" {
			keep = "forever"
		}
		for _, d := range c.Due {
			more := ""
			if d.More {
				more = " or more"
			}
			if c.Moves {
				more += ", to the archive"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d%s\n", c.Name, keep, d.Table, d.Rows, more)
		}
	}
}

func (said kept) printTables(w io.Writer) {
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

// archived is what the archive holds.
type archived struct{ Conversations, Bytes, Stored int64 }

func (a archived) String() string {
	return fmt.Sprintf("%d conversations are archived, in %s: as text their rows have %s.", a.Conversations, bytesize.Text(a.Stored), bytesize.Text(a.Bytes))
}

// archiveNow moves conversations until none is due.
func archiveNow(ctx context.Context, desk *shell.Desk, s shell.IO) error {
	total := int64(0)
	for {
		var said struct {
			Moved int64
			More  bool
			Now   archived
		}
		if err := desk.Ask(ctx, http.MethodPost, "/retention/archive", nil, &said); err != nil {
			return err
		}
		total += said.Moved
		if !said.More {
			_, err := fmt.Fprintf(s.Out, "%d conversations were moved. %s They come back when somebody opens them.\n", total, said.Now)
			return err
		}
		_, _ = fmt.Fprintf(s.Err, "%d conversations were moved, and there are more …\n", total)
	}
}
