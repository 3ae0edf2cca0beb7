// Package retention erases what operators chose to keep for a while only, and tells
// them what their tables hold.
//
// It promises that nothing is erased that no rule names; that what is under way stays,
// since each record is looked at again in the transaction that erases it; that a record
// is erased only when its export is stored, where there is a place for exports, and that
// what was lost of it before is named there and in one event (ADR 0281); that one
// node of a fleet sweeps a table, whose lease every transaction guards; and that a sweep
// goes on in small slices until nothing is left. A node that dies in the middle leaves
// whole records, and another one goes on.
//
// It refuses rules of less than Least: clocks are wrong by hours, not by days.
//
// Records of a Mover are not erased but moved, by the same rules and leases.
//
// Which records there are is known to the services: each has a Source.
//
// Decisions: ADR 0254, ADR 0268, ADR 0281.
package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// Least is the shortest time that something may be kept.
const Least = 24 * time.Hour

// Class is a kind of record that grows without end, as operators call it.
type Class struct {
	Name string
	Doc  string
}

// The names of the classes.
const (
	Transcripts = "transcripts"
	Archive     = "archive"
	Runs        = "runs"
	Calls       = "calls"
	Events      = "events"
	Audit       = "audit"
	Shares      = "shares"
	Forms       = "forms"
)

// Classes lists what there may be rules for.
func Classes() []Class {
	return []Class{
		{Transcripts, "Conversations, since they were last used, with all that belongs to them."},
		{Archive, "Conversations, since they were last used: they move into sealed objects, and come back when somebody opens them. Nothing is erased."},
		{Runs, "How answers came about, since they ended. The transcript stays."},
		{Calls, "Records of calls, since they ended. Recordings are files and stay."},
		{Events, "What happened to files: their change feed and audit. The newest of each namespace stays."},
		{Audit, "What operators did."},
		{Shares, "Links to files, since they expired. Those without an end stay."},
		{Forms, "What callers sent as forms."},
	}
}

// Rules say how long records of a class are kept. Of a class without a rule all is kept.
type Rules map[string]time.Duration

// document is what operators write.
type document struct {
	Transcripts string `yaml:"transcripts"`
	Archive     string `yaml:"archive"`
	Runs        string `yaml:"runs"`
	Calls       string `yaml:"calls"`
	Events      string `yaml:"events"`
	Audit       string `yaml:"audit"`
	Shares      string `yaml:"shares"`
	Forms       string `yaml:"forms"`
}

// MaxRules bounds the document of rules.
const MaxRules = 16 << 10

// ParseRules reads rules: a line for each class with a duration such as 365d, or off.
func ParseRules(text []byte) (Rules, error) {
	rules := Rules{}
	if len(strings.TrimSpace(string(text))) == 0 {
		return rules, nil
	}
	var d document
	if err := yamlfile.Strict(text, &d, MaxRules); err != nil {
		return nil, err
	}
	for name, given := range map[string]string{
		Transcripts: d.Transcripts, Archive: d.Archive, Runs: d.Runs, Calls: d.Calls, Events: d.Events, Audit: d.Audit,
		Shares: d.Shares, Forms: d.Forms,
	} {
		keep, err := config.ParseDuration(given)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: given %q, allowed is a duration such as 365d, or off", name, given)
		case keep == 0:
			continue
		case keep < Least:
			return nil, fmt.Errorf("%s: given %q, allowed is a day (1d) or more, or off", name, given)
		}
		rules[name] = keep
	}
	return rules, nil
}

// Text writes rules as ParseRules reads them, in the order of the classes. One of no time
// is written as off.
func (r Rules) Text() string {
	var b strings.Builder
	for _, c := range Classes() {
		keep, ok := r[c.Name]
		switch {
		case ok && keep == 0:
			_, _ = fmt.Fprintf(&b, "%s: off\n", c.Name)
		case ok:
			_, _ = fmt.Fprintf(&b, "%s: %s\n", c.Name, config.FormatDuration(keep))
		}
	}
	return b.String()
}

// Source is the records of a class in the tables of one service. Before is always the
// time since which a record must not have been used.
type Source interface {
	// Table is where the records are, for people.
	Table() string
	// Count counts records that are due, up to a limit, and says whether those are all.
	Count(ctx context.Context, before time.Time, limit int) (n int, all bool, err error)
	// Walk calls each with the ids of records that are due, slice by slice, until there
	// are no more or each fails.
	Walk(ctx context.Context, before time.Time, each func(ids []string) error) error
	// Export writes a record with all that belongs to it.
	Export(ctx context.Context, before time.Time, id string, to *JSONLines) error
	// Erase deletes a record with all that belongs to it if it is still due, and returns
	// how many rows of Table went.
	Erase(ctx context.Context, tx sqldb.Querier, before time.Time, id string) (int64, error)
}

// Mover is a Source whose records are not erased: they move to where they take less room,
// and are still there for whoever asks.
type Mover interface {
	Source
	// Move moves records that are still due, in transactions that the lease guards, and
	// returns how many went.
	Move(ctx context.Context, l lease.Lease, before time.Time, ids []string) (int64, error)
}

// JSONLines writes rows as lines of JSON, each with its table.
type JSONLines struct {
	from sqldb.Querier
	to   *json.Encoder
	lost []string
}

// NewJSONLines writes what it reads from a database.
func NewJSONLines(from sqldb.Querier, to io.Writer) *JSONLines {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return &JSONLines{from: from, to: enc}
}

// line is one row. Bytes are in base64.
type line struct {
	Table string         `json:"table"`
	Row   map[string]any `json:"row"`
	// Lost says that a part of the record with this id is gone, and why.
	Lost string `json:"lost,omitempty"`
}

// Rows writes the rows of a table for which a condition holds.
func (l *JSONLines) Rows(ctx context.Context, table, where string, args ...any) (err error) {
	rows, err := l.from.QueryContext(ctx, `SELECT * FROM `+table+` WHERE `+where, args...)
	if err != nil {
		return fmt.Errorf("export %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("export %s: %w", table, err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("export %s: %w", table, err)
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			row[name] = values[i]
		}
		if err := l.Row(table, row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Row writes a row that lay elsewhere than in its table.
func (l *JSONLines) Row(table string, row map[string]any) error {
	if err := l.to.Encode(line{Table: table, Row: row}); err != nil {
		return fmt.Errorf("export %s: %w", table, err)
	}
	return nil
}

// Lost writes that a part of a record is gone for good, and why. What else there is of the
// record is exported, and erased, all the same.
func (l *JSONLines) Lost(table, id string, why error) error {
	l.lost = append(l.lost, id)
	if err := l.to.Encode(line{Table: table, Row: map[string]any{"id": id}, Lost: why.Error()}); err != nil {
		return fmt.Errorf("export %s: %w", table, err)
	}
	return nil
}
