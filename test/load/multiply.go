package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
)

const (
	// database is the name of PostgreSQL among the processes that are measured.
	database = "postgres"
	// idleFor is how long the database is watched while nobody asks anything.
	idleFor = time.Minute
)

// multiply copies what people's requests made until the fleet's database has as many
// rows as are wanted: a country's people would take days to make by requests. Tables
// that have a row for half of the people at least are copied. Objects are not; nobody
// asks for the files of copies.
func (p *place) multiply(ctx context.Context, users int, want int64, say func(string, ...any)) error {
	begin := time.Now()
	tables, err := pgadmin.Multiply(ctx, p.database, int64(users)/2, want)
	if err != nil {
		return err
	}
	var before, there int64
	for _, t := range tables {
		say("  %s: %d rows, %d before", t.Name, t.Rows, t.Before)
		before, there = before+t.Before, there+t.Rows
	}
	say("%d rows in %d tables after %s, %d before", there, len(tables), time.Since(begin).Round(time.Second), before)
	return nil
}

// rest is what a database does for nodes that nobody asks anything.
type rest struct {
	Cores         float64 `json:"databaseCores"`
	RowsPerSecond float64 `json:"rowsPerSecond"`
	// Tables are those most of which is read, with their rows a second.
	Tables []string `json:"tables"`
}

// idle looks at the database for a while in which nobody asks anything.
func (p *place) idle(ctx context.Context) (rest, error) {
	used := func() time.Duration {
		for _, m := range p.own {
			if m.name == database {
				return read(m.pids(), true).cpu
			}
		}
		return 0
	}
	before, err := p.rowsRead(ctx)
	if err != nil {
		return rest{}, err
	}
	cpu, begin := used(), time.Now()
	select {
	case <-ctx.Done():
		return rest{}, ctx.Err()
	case <-time.After(idleFor):
	}
	cpu, took := used()-cpu, time.Since(begin).Seconds()
	after, err := p.rowsRead(ctx)
	if err != nil {
		return rest{}, err
	}
	r := rest{Cores: cpu.Seconds() / took, RowsPerSecond: float64(sum(after)-sum(before)) / took}
	grown := func(table string) int64 { return after[table] - before[table] }
	most := func(a, b string) int { return cmp.Compare(grown(b), grown(a)) }
	for _, table := range slices.SortedFunc(maps.Keys(after), most) {
		if each := float64(grown(table)) / took; each >= 1 && len(r.Tables) < 5 {
			r.Tables = append(r.Tables, fmt.Sprintf("%s %.0f", table, each))
		}
	}
	return r, nil
}

func sum(rows map[string]int64) (n int64) {
	for _, read := range rows {
		n += read
	}
	return n
}

// rowsRead is what each table of a fleet's database has handed to statements.
func (p *place) rowsRead(ctx context.Context) (map[string]int64, error) {
	if p.database == "" {
		return nil, nil
	}
	return pgadmin.RowsRead(ctx, p.database)
}

// cheap says whether many records cost what few do: a request at most so many times the
// processor time and rows, and the database next to nothing while nobody asks.
func cheap(out io.Writer, few, many *results, most float64) bool {
	const idleCores = 0.02
	met := true
	bar := func(what string, got, limit float64) {
		word := "met"
		if got > limit {
			word, met = "MISSED", false
		}
		_, _ = fmt.Fprintf(out, "%s: %.3g, at most %g: %s\n", what, got, limit, word)
	}
	_, _ = fmt.Fprintf(out, "\n%d records beside %d\n", many.Records, few.Records)
	bar("CPU of nodes and database per request, times", (many.CPUPerRequest+many.DatabaseCPUPerRequest)/(few.CPUPerRequest+few.DatabaseCPUPerRequest), most)
	bar("rows read per request, times", many.RowsPerRequest/few.RowsPerRequest, most)
	bar("cores of the database, nobody asking", many.AtRest.Cores, idleCores)
	return met
}
