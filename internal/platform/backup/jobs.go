package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// State is how far a job is.
type State string

// The states, in the order of their numbers.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

var states = []State{Waiting, Running, Done, Failed}

// The numbers of states.
const (
	waiting = iota
	running
	done
	failed
)

// The kinds of jobs.
const (
	Make   = "backup"
	Verify = "check"
)

// ByPlan is who asks for what is due.
const ByPlan = "schedule"

const (
	// maxProblem bounds what is kept of an error.
	maxProblem = 500
	// keptJobs is how many jobs are remembered, shownJobs how many are shown.
	keptJobs, shownJobs = 500, 20
)

// Job is something that was asked for.
type Job struct {
	ID string `json:"id"`
	// Kind is backup or check.
	Kind string `json:"kind"`
	// Name is that of the backup, once it has one.
	Name  string    `json:"name,omitempty"`
	By    string    `json:"by"`
	Asked time.Time `json:"asked"`
	State State     `json:"state"`
	// Attempts is how often it was begun.
	Attempts int        `json:"attempts"`
	Began    *time.Time `json:"began,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
	// Bytes is how much was written or read so far.
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
}

const jobColumns = `id, kind, name, asked_by, asked_ms, state, attempts, began_ms, ended_ms, bytes, problem`

func scanJob(row interface{ Scan(into ...any) error }) (Job, error) {
	var (
		j                   Job
		asked, began, ended int64
		state               int
	)
	err := row.Scan(&j.ID, &j.Kind, &j.Name, &j.By, &asked, &state, &j.Attempts, &began, &ended, &j.Bytes, &j.Problem)
	if err != nil {
		return j, err
	}
	j.Asked, j.State = sqldb.Time(asked), states[min(max(state, 0), len(states)-1)]
	for ms, into := range map[*int64]**time.Time{&began: &j.Began, &ended: &j.Ended} {
		if *ms > 0 {
			at := sqldb.Time(*ms)
			*into = &at
		}
	}
	return j, nil
}

// Jobs returns the last jobs, the newest first.
func (k *Keeper) Jobs(ctx context.Context) ([]Job, error) {
	return k.jobs(ctx, math.MaxInt64)
}

// jobs returns the last jobs up to a time, the newest first. Those that a clock dated in
// the future would hide how the last ones went.
func (k *Keeper) jobs(ctx context.Context, untilMS int64) (_ []Job, err error) {
	rows, err := k.DB.Read().QueryContext(ctx, `SELECT `+jobColumns+` FROM platform_backups
		WHERE asked_ms <= $1 AND ended_ms <= $1 ORDER BY id DESC LIMIT $2`, untilMS, shownJobs)
	if err != nil {
		return nil, fmt.Errorf("list jobs of backups: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	jobs := []Job{}
	for rows.Next() {
		j, err := scanJob(rows)
		if err != nil {
			return nil, fmt.Errorf("list jobs of backups: %w", err)
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// job returns the first that the condition is true of.
func (k *Keeper) job(ctx context.Context, q sqldb.Querier, where string, args ...any) (Job, bool, error) {
	j, err := scanJob(q.QueryRowContext(ctx, `SELECT `+jobColumns+` FROM platform_backups WHERE `+where+` ORDER BY id LIMIT 1`, args...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return j, false, nil
	case err != nil:
		return j, false, fmt.Errorf("read job of backups: %w", err)
	}
	return j, true, nil
}

// ask stores a job, unless the same is asked for already: then that one is returned.
func (k *Keeper) ask(ctx context.Context, kind, name, by string) (j Job, err error) {
	err = k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := k.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		open, found, err := k.job(ctx, tx, `state IN (0, 1) AND kind = $1 AND ($1 = 'backup' OR name = $2)`, kind, name)
		if err != nil || found {
			j = open
			return err
		}
		j = Job{ID: jobID(now), Kind: kind, Name: name, By: by, Asked: now, State: Waiting}
		_, err = tx.ExecContext(ctx, `INSERT INTO platform_backups (`+jobColumns+`) VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 0, 0, '')`,
			j.ID, kind, name, by, sqldb.MS(now))
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("ask for %s: %w", kind, err)
	}
	k.wake()
	return j, nil
}

// open reports whether something waits or is under way, perhaps of a node that died.
func (k *Keeper) open(ctx context.Context) (bool, error) {
	_, found, err := k.job(ctx, k.DB.Read(), `state IN (0, 1)`)
	return found, err
}

// take begins the oldest open job. Whoever holds the lease finds those under way that
// another node died over.
func (k *Keeper) take(ctx context.Context, l lease.Lease) (j Job, found bool, err error) {
	err = k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		now, err := k.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		if j, found, err = k.job(ctx, tx, `state IN (0, 1)`); err != nil || !found {
			return err
		}
		j.Attempts++
		j.State, j.Began, j.Bytes = Running, &now, 0
		if j.Kind == Make {
			j.Name = k.Place.nameOf(now, l.Epoch)
		}
		_, err = tx.ExecContext(ctx, `UPDATE platform_backups SET state = 1, attempts = $1, began_ms = $2, name = $3, bytes = 0 WHERE id = $4`,
			j.Attempts, sqldb.MS(now), j.Name, j.ID)
		return err
	})
	return j, found, err
}

// progress writes down how far a job is.
func (k *Keeper) progress(ctx context.Context, l lease.Lease, id string, bytes int64) error {
	return k.under(ctx, l, `UPDATE platform_backups SET bytes = $1 WHERE id = $2 AND state = 1`, bytes, id)
}

// putBack lets the next node begin anew what this one was told to leave.
func (k *Keeper) putBack(ctx context.Context, l lease.Lease, id string) error {
	return k.under(ctx, l, `UPDATE platform_backups SET state = 0, attempts = attempts - 1 WHERE id = $1 AND state = 1`, id)
}

// end writes down how a job ended, and forgets old ones.
func (k *Keeper) end(ctx context.Context, l lease.Lease, id string, bytes int64, problem error) error {
	state, text := done, ""
	if problem != nil {
		state, text = failed, said(problem)
	}
	return k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		now, err := k.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `UPDATE platform_backups SET state = $1, bytes = $2, ended_ms = $3, problem = $4 WHERE id = $5`,
			state, bytes, sqldb.MS(now), text, id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM platform_backups WHERE state IN (2, 3) AND id < (SELECT MIN(id) FROM
			(SELECT id FROM platform_backups ORDER BY id DESC LIMIT $1) AS kept)`, keptJobs)
		return err
	})
}

func (k *Keeper) under(ctx context.Context, l lease.Lease, query string, args ...any) error {
	return k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// said is an error in one line of bounded length.
func said(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	return strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
}
