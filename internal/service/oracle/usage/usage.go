// Package usage counts what models were asked and what it cost, by day, user,
// model and source, and who spends most, by month.
//
// It promises that counting never makes a turn wait, that what was counted is
// written within a second and at a stop in any case, and that what the database
// did not take is tried again. It refuses to be an account: a node that is killed
// loses the counts of its last second, while budgets, credits and limits per day
// are charged by themselves before an answer goes on.
//
// Decisions: ADR 0171, ADR 0279.
package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// Who asks a model, beside plugins, which go by their own names.
const (
	SourceOracle    = "oracle"    // a page
	SourceFace      = "face"      // a program, by /v1
	SourceTelephone = "telephone" // a USSD menu
	SourceCall      = "call"      // a live call
)

// Call is one request to a model.
type Call struct {
	At     time.Time
	Owner  string
	Model  string
	Source string
	Usage  plugin.Usage
	// First is how long the first word took; zero when there was none.
	First  time.Duration
	Failed bool
}

// Message is something that somebody said and that was answered, or tried to be.
type Message struct {
	At     time.Time
	Owner  string
	Model  string
	Source string
}

// Row is a sum of calls. Fields by which nobody grouped are empty.
type Row struct {
	Day    int64
	Owner  string
	Model  string
	Source string
	// Messages is what people said; a message makes one call or many.
	Messages int64

	Calls  int64
	Failed int64
	Usage  plugin.Usage
	// FirstMS is the time to the first word of Firsts calls together.
	FirstMS int64
	Firsts  int64
}

// Add returns the sum of two rows, without their fields to group by.
func (r Row) Add(o Row) Row {
	return Row{
		Messages: r.Messages + o.Messages,
		Calls:    r.Calls + o.Calls, Failed: r.Failed + o.Failed, Usage: r.Usage.Add(o.Usage), FirstMS: r.FirstMS + o.FirstMS,
		Firsts: r.Firsts + o.Firsts,
	}
}

// Compare orders rows by what they are grouped by.
func (r Row) Compare(o Row) int {
	return cmp.Or(cmp.Compare(r.Day, o.Day), cmp.Compare(r.Owner, o.Owner), cmp.Compare(r.Model, o.Model),
		cmp.Compare(r.Source, o.Source))
}

// Spender is what somebody used in a month.
type Spender struct {
	Owner      string
	Messages   int64
	Calls      int64
	Tokens     int64
	CostMicros int64
}

// MaxSpenders bounds a list of them.
const MaxSpenders = 100

// Dimension is something to group by.
type Dimension string

// The dimensions of a Row.
const (
	ByDay    Dimension = "day"
	ByUser   Dimension = "user"
	ByModel  Dimension = "model"
	BySource Dimension = "source"
)

// Query asks for sums from a day to another, both included.
type Query struct {
	From, To int64
	By       []Dimension
	// Owner, Model and Source, when set, leave out the others.
	Owner, Model, Source string
}

// ParseBy reads a comma list of dimensions.
func ParseBy(text string, allowed ...Dimension) ([]Dimension, error) {
	var out []Dimension
	for word := range strings.SplitSeq(text, ",") {
		d := Dimension(strings.TrimSpace(word))
		if d == "" {
			continue
		}
		if !slices.Contains(allowed, d) {
			return nil, fault.Newf(fault.Invalid, "by must be a list of the following values: %v", allowed)
		}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out, nil
}

// Store keeps sums.
type Store interface {
	// AddUsage adds rows to those that have the same day, owner, model and source.
	AddUsage(ctx context.Context, rows []Row) error
	// Usage sums up, in the order of the dimensions.
	Usage(ctx context.Context, q Query) ([]Row, error)
	// Spenders lists who spent most in the month that begins with a day: by cost, then by
	// tokens.
	Spenders(ctx context.Context, month int64, limit int) ([]Spender, error)
}

const (
	// flushEvery is how often counts are written.
	flushEvery = time.Second
	// maxRows bounds what waits while the database is away.
	maxRows = 50_000
	// lastFlush bounds the write at a stop.
	lastFlush = 5 * time.Second
)

type key struct {
	day                  int64
	owner, model, source string
}

// Recorder counts calls of one node. Run must run for them to be written.
type Recorder struct {
	store Store
	log   *slog.Logger
	every time.Duration

	mu   sync.Mutex
	rows map[key]Row
	// observe, when set, shows a call to operators.
	observe func(row Row, waited time.Duration)
}

// NewRecorder makes a Recorder.
func NewRecorder(store Store, log *slog.Logger) *Recorder {
	return &Recorder{store: store, log: log, every: flushEvery, rows: map[key]Row{}}
}

// Add counts a call.
func (r *Recorder) Add(c Call) {
	row := Row{
		Day: oracle.DayOf(c.At), Owner: c.Owner, Model: c.Model, Source: cmp.Or(c.Source, SourceOracle), Calls: 1,
		Usage: c.Usage,
	}
	if c.Failed {
		row.Failed = 1
	}
	if c.First > 0 {
		row.Firsts, row.FirstMS = 1, max(c.First.Milliseconds(), 1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.observe != nil {
		r.observe(row, c.First)
	}
	r.add(row)
}

// AddMessage counts a message.
func (r *Recorder) AddMessage(m Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(Row{
		Day: oracle.DayOf(m.At), Owner: m.Owner, Model: m.Model, Source: cmp.Or(m.Source, SourceOracle), Messages: 1,
	})
}

func (r *Recorder) add(row Row) {
	k := key{row.Day, row.Owner, row.Model, row.Source}
	sum, ok := r.rows[k]
	if !ok && len(r.rows) >= maxRows {
		r.log.Error("usage is not counted: too much waits for the database", slog.String("event", "usage.dropped"))
		return
	}
	sum = sum.Add(row)
	sum.Day, sum.Owner, sum.Model, sum.Source = row.Day, row.Owner, row.Model, row.Source
	r.rows[k] = sum
}

// Run writes counts until ctx ends, and then once more.
func (r *Recorder) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			return r.Flush(last)
		case <-ticker.C:
			if err := r.Flush(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("usage could not be written; it is tried again", slog.String("event", "usage.write_failed"), slog.Any("error", err))
			}
		}
	}
}

// batch is how many rows are written at a time.
const batch = 200

// Flush writes what was counted. What the store does not take stays.
func (r *Recorder) Flush(ctx context.Context) error {
	r.mu.Lock()
	waiting := r.rows
	r.rows = map[key]Row{}
	r.mu.Unlock()
	rows := make([]Row, 0, len(waiting))
	for _, row := range waiting {
		rows = append(rows, row)
	}
	// One order for all nodes, so that none waits for another in a circle.
	slices.SortFunc(rows, Row.Compare)
	var failed error
	for some := range slices.Chunk(rows, batch) {
		if err := r.store.AddUsage(ctx, some); err != nil {
			failed = errors.Join(failed, err)
			r.mu.Lock()
			for _, row := range some {
				r.add(row)
			}
			r.mu.Unlock()
		}
	}
	if failed != nil {
		return fmt.Errorf("write usage: %w", failed)
	}
	return nil
}
