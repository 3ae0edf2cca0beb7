package shipcli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How the commands that look into a running server are called, and what they are for.
const (
	SettingsUsage   = "[--all] [--token TOKEN|--key FILE] [--server URL]"
	SettingsSummary = "what is set on a running server and from where, secrets masked"
	LogsUsage       = "[--level warn] [--contains TEXT] [--limit N] [--token TOKEN|--key FILE] [--server URL]"
	LogsSummary     = "what a running server logged in the last hour, redacted"
	AuditUsage      = "[--actor WHO | --act 'METHOD /route'] [--since TIME] [--until TIME] [--csv] [--token TOKEN|--key FILE] [--server URL]"
	AuditSummary    = "what operators changed; --csv exports it"
)

// look is one look into a server.
type look struct {
	*shell.Desk
	flags *flag.FlagSet
	io    shell.IO
}

func newLook(name string, s shell.IO) look {
	fs := shell.NewFlags(name, s)
	return look{shell.NewDesk(fs, s, "/operator"), fs, s}
}

func (l look) parse(args []string) error {
	if err := shell.Parse(l.flags, args); err != nil {
		return err
	}
	if l.flags.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", l.flags.Arg(0))
	}
	return nil
}

// read asks for a document, with what the server says where it refuses.
func (l look) read(ctx context.Context, path string, query url.Values, into any) error {
	return l.Ask(ctx, http.MethodGet, path+"?"+query.Encode(), nil, into)
}

// RunSettings prints what is set.
func RunSettings(ctx context.Context, args []string, s shell.IO) error {
	l := newLook("settings", s)
	all := l.flags.Bool("all", false, "also what nobody set")
	if err := l.parse(args); err != nil {
		return err
	}
	var said struct {
		Settings  []struct{ Name, Value, Source, Document string }
		Documents []struct {
			Name, Source, Where string
			Restart             bool
		}
	}
	if err := l.read(ctx, "/settings", nil, &said); err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, one := range said.Settings {
		if *all || one.Source != "default" {
			from := one.Source + ", a change needs a restart"
			if one.Source == "database" {
				from = "chosen by operators, in the document " + one.Document
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", one.Name, one.Value, from)
		}
	}
	for _, d := range said.Documents {
		how := "changes while the server runs (castalia operator set " + d.Name + ")"
		if d.Restart {
			how = d.Where + " holds it, a change needs a restart"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, d.Source, how)
	}
	return w.Flush()
}

// RunLogs prints the lines of the last hour.
func RunLogs(ctx context.Context, args []string, s shell.IO) error {
	l := newLook("logs", s)
	level := l.flags.String("level", "info", "least `SEVERITY`: debug, info, warn or error")
	contains := l.flags.String("contains", "", "only lines with this `TEXT`")
	limit := l.flags.Int("limit", 200, "at most so `MANY` lines, the newest; up to 1000")
	if err := l.parse(args); err != nil {
		return err
	}
	var said struct {
		Lines []json.RawMessage
		More  bool
	}
	query := url.Values{"level": {*level}, "contains": {*contains}, "limit": {strconv.Itoa(*limit)}}
	if err := l.read(ctx, "/logs", query, &said); err != nil {
		return err
	}
	if said.More {
		_, _ = fmt.Fprintln(s.Err, "there are earlier lines: --limit shows more")
	}
	for _, line := range said.Lines {
		if _, err := fmt.Fprintf(s.Out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// RunAudit prints or exports the audit trail.
func RunAudit(ctx context.Context, args []string, s shell.IO) error {
	l := newLook("audit", s)
	query := url.Values{}
	for name, doc := range map[string]string{
		"actor": "only acts of this `WHO`: a DID, or operator for the token", "act": "only this `ACT`, such as 'PUT /operator/documents/{name}'",
		"since": "from this `TIME` on, such as 2026-11-17T10:00:00Z", "until": "before this `TIME`",
	} {
		l.flags.Func(name, doc, func(text string) error { query.Set(name, text); return nil })
	}
	asCSV := l.flags.Bool("csv", false, "export all of it as CSV")
	if err := l.parse(args); err != nil {
		return err
	}
	if *asCSV {
		return l.export(ctx, query)
	}
	var said struct {
		Acts []struct {
			At                       time.Time
			Actor, Role, Act, Target string
			Status                   int
		}
	}
	if err := l.read(ctx, "/audit", query, &said); err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, a := range said.Acts {
		_, _ = fmt.Fprintf(w, "%s\t%s (%s)\t%s\t%s\t%d\n", a.At.Local().Format(time.DateTime),
			shell.OneLine(a.Actor), shell.OneLine(a.Role), shell.OneLine(a.Act), shell.OneLine(a.Target), a.Status)
	}
	return w.Flush()
}

// export copies the trail to the output as it comes.
func (l look) export(ctx context.Context, query url.Values) error {
	res, err := l.Send(ctx, http.MethodGet, "/audit/export?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(l.io.Out, res.Body)
	return err
}
