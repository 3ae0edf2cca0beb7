// Package inspect lets operators look into a running node: what is set and from
// where, what was logged lately, and what operators changed.
//
// Secrets are masked as the command line masks them, and log lines are those that the
// redactor let through. Logs want the role operator, since they say what members do;
// the rest is for viewers too. Every answer is bounded.
package inspect

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/csvcell"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

const (
	usualLines, maxLines = 200, 1000
	usualActs            = 50
	maxExport            = 100_000
	maxText              = 200 // bytes of a filter
	endLimit             = 5 * time.Second
)

// Deps is what is looked at.
type Deps struct {
	Node     string
	Settings []config.Setting
	// Documents are what changes while the program runs.
	Documents func() []operatordoc.State
	// Stored is what operators stored in a document in place of a setting; nil knows of none.
	Stored func(setting string) (value string, ok bool)
	Recent *telemetry.Recent // nil remembers nothing
	Trail  *audit.Trail
	Log    *slog.Logger
}

// Setting is a setting as operators see it.
type Setting struct {
	Part    string `json:"part"`
	Name    string `json:"name"`
	Value   string `json:"value"` // masked where it is a secret
	Source  string `json:"source"`
	Default string `json:"default,omitempty"`
	Secret  bool   `json:"secret,omitempty"`
	// Restart says that a change counts after a restart. It does for every setting.
	Restart bool `json:"restart"`
	// Document names what operators change in place of the setting while the program runs; where
	// Source is database, Value comes from there.
	Document string `json:"document,omitempty"`
	Doc      string `json:"doc"`
}

// Document is a document that changes while the program runs.
type Document struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	// Where names the variable or file that holds it; such a one changes with a restart.
	Where   string `json:"where,omitempty"`
	Restart bool   `json:"restart"`
}

// Settings is the body of GET /operator/settings.
type Settings struct {
	Node      string     `json:"node"`
	Settings  []Setting  `json:"settings"`
	Documents []Document `json:"documents"`
}

// Logs is the body of GET /operator/logs.
type Logs struct {
	Node string `json:"node"`
	// Lines are as they were logged, oldest first; More says that earlier ones were left out.
	Lines []json.RawMessage `json:"lines"`
	More  bool              `json:"more"`
}

// Acts is the body of GET /operator/audit.
type Acts struct {
	Acts []audit.Act `json:"acts"`
	// Next is what `before` is for the page behind this one; empty: there is none.
	Next string `json:"next,omitempty"`
}

// Surface returns the routes.
func Surface(d Deps) httpserver.Surface {
	query := func(name, doc string) httpserver.Param { return httpserver.Param{Name: name, In: "query", Doc: doc} }
	filters := []httpserver.Param{
		query("actor", "Whose acts: a DID, or `operator` for the token. Not with `act`."),
		query("act", "Method and pattern of a route, such as `PUT /operator/documents/{name}`. Not with `actor`."),
		query("since", "A time such as 2026-11-17T10:00:00Z; from then on."), query("until", "A time; before it."),
	}
	route := func(pattern, summary, doc string, body any, handler httpserver.Handler,
		params ...httpserver.Param,
	) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Operator, Tags: []string{"Operators"}, Summary: summary,
			Doc:    doc,
			Params: params, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: body}}, Handler: handler,
		}
	}
	logs := route("/operator/logs", "Logs of the last hour", "Of this node, redacted, newest last.", Logs{}, d.logs,
		query("level", "The least severity: debug, info, warn or error."), query("contains", "A part of the line."), query("limit", "At most 1000; usually 200."))
	logs.Role = httpserver.Changer
	export := route("/operator/audit/export", "Export the audit trail", "As CSV, newest first, at most 100,000 acts.", nil, d.export, filters...)
	export.Replies = []httpserver.Reply{{Status: http.StatusOK, Media: "text/csv"}}
	return httpserver.Surface{Name: "inspect", Routes: []httpserver.Route{
		route("/operator/settings", "Settings", "What is set on this node, from where, and what needs a restart. Secrets are masked.", Settings{}, d.settings),
		logs,
		route("/operator/audit", "Audit trail", "What operators asked to change, newest first.", Acts{}, d.audit,
			append(filters, query("before", "`next` of the page before."), query("limit", "At most 500; usually 50."))...),
		export,
	}}
}

// Record is the server's hook: it writes acts down.
func (d Deps) Record(ctx context.Context, who httpserver.OperatorIdentity, act,
	target string,
) (func(status int), error) {
	id, err := d.Trail.Begin(ctx,
		audit.Act{Actor: who.Name, Role: who.Role.String(), Act: act, Target: visible(maskNumbers(telemetry.Redact(target)))})
	if err != nil && strings.HasPrefix(act, http.MethodGet+" ") { // a backup is fetched when the database is in need
		d.Log.Warn("what an operator read is not written down", slog.String("event", "audit.not_noted"), slog.String("act", act), slog.Any("error", err))
		return func(int) {}, nil
	}
	if err != nil {
		return nil, err
	}
	return func(status int) {
		// The act is done, also when its client has left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer cancel()
		if err := d.Trail.End(ctx, id, status); err != nil {
			d.Log.Warn("how an operator's act ended is not written down", slog.String("event", "audit.incomplete"),
				slog.String("act", act), slog.Int("status", status), slog.Any("error", err))
		}
	}, nil
}

// leastNumber is how many digits a segment has that may be a telephone's; versions have fewer.
const leastNumber = 8

// maskNumbers masks what an operator typed for a telephone number, without its plus,
// where something else belongs: the trail is kept.
func maskNumbers(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if len(s) >= leastNumber && strings.Trim(s, "0123456789") == "" {
			segments[i] = telemetry.MaskPhone(s)
		}
	}
	return strings.Join(segments, "/")
}

// visible writes the signs of a path that nobody sees as addresses do. The trail is read
// in terminals and lists, where they would hide what stands around them.
func visible(path string) string {
	var b strings.Builder
	for len(path) > 0 {
		r, size := utf8.DecodeRuneInString(path)
		if unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(path[:size])
		} else {
			for _, c := range []byte(path[:size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		path = path[size:]
	}
	return b.String()
}

func (d Deps) settings(w http.ResponseWriter, _ *http.Request) error {
	body := Settings{Node: d.Node, Settings: make([]Setting, len(d.Settings)), Documents: []Document{}}
	documents, ruled := d.Documents(), map[string]string{}
	for _, doc := range documents {
		for _, variable := range []string{doc.Variable, doc.FileVariable} {
			for name := range strings.SplitSeq(variable, ", ") {
				ruled[name] = doc.Name
			}
		}
	}
	for i, s := range d.Settings {
		one := Setting{
			Part: s.Part, Name: s.Name, Value: s.Value, Source: string(s.Source), Default: s.Default,
			Secret: s.Secret, Restart: true, Document: ruled[s.Name], Doc: s.Doc,
		}
		if one.Document != "" && d.Stored != nil {
			if stored, ok := d.Stored(s.Name); ok {
				one.Value, one.Source = stored, string(operatordoc.FromDatabase)
			}
		}
		body.Settings[i] = one
	}
	for _, doc := range documents {
		body.Documents = append(body.Documents, Document{
			Name: doc.Name, Source: string(doc.Source), Where: doc.Where, Restart: doc.ReadOnly(),
		})
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (d Deps) logs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	level, err := telemetry.ParseLevel(q.Get("level"))
	if err != nil {
		return fault.New(fault.Invalid, "level is debug, info, warn or error.")
	}
	limit, err := count(q.Get("limit"), usualLines, maxLines)
	if err != nil {
		return err
	}
	if len(q.Get("contains")) > maxText {
		return fault.New(fault.Invalid, "contains is too long.")
	}
	body := Logs{Node: d.Node, Lines: []json.RawMessage{}}
	if d.Recent != nil {
		if lines, more := d.Recent.Lines(telemetry.Wanted{Level: level, Contains: q.Get("contains"), Limit: limit},
			time.Now()); len(lines) > 0 {
			body.Lines, body.More = lines, more
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func count(text string, usual, most int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fault.Newf(fault.Invalid, "limit is a number from 1 to %d.", most)
	}
	return n, nil
}

// filter reads which acts are wanted.
func filter(r *http.Request) (f audit.Filter, err error) {
	q := r.URL.Query()
	f = audit.Filter{Actor: q.Get("actor"), Act: q.Get("act"), Before: q.Get("before")}
	if max(len(f.Actor), len(f.Act), len(f.Before)) > maxText {
		return f, fault.New(fault.Invalid, "A filter is too long.")
	}
	for name, into := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := q.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339, text); err != nil {
				return f, fault.Newf(fault.Invalid, "%s is a time such as 2026-11-17T10:00:00Z.", name)
			}
		}
	}
	return f, nil
}

func (d Deps) audit(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	if f.Limit, err = count(r.URL.Query().Get("limit"), usualActs, audit.MaxPage); err != nil {
		return err
	}
	acts, err := d.Trail.List(r.Context(), f)
	if err != nil {
		return err
	}
	body := Acts{Acts: acts}
	if len(acts) == f.Limit {
		body.Next = acts[len(acts)-1].ID
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

// export writes page after page, so that a long trail is nowhere whole.
func (d Deps) export(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	f.Limit = audit.MaxPage
	acts, err := d.Trail.List(r.Context(), f)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.csv"`)
	out := csv.NewWriter(w)
	if err := out.Write([]string{"id", "at", "actor", "role", "act", "target", "status"}); err != nil {
		return err
	}
	for written := 0; len(acts) > 0 && written < maxExport; written += len(acts) {
		for _, a := range acts {
			row := []string{
				a.ID, a.At.UTC().Format(time.RFC3339Nano), csvcell.Inert(a.Actor), a.Role, csvcell.Inert(a.Act),
				csvcell.Inert(a.Target), strconv.Itoa(a.Status),
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
		if len(acts) < f.Limit {
			break
		}
		f.Before = acts[len(acts)-1].ID
		if acts, err = d.Trail.List(r.Context(), f); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
