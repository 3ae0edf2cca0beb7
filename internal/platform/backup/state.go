package backup

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
)

// namedAhead is how many backups that are dated in the future are named.
const namedAhead = 3

// look remembers how the last jobs went, for those who ask often.
func (k *Keeper) look(ctx context.Context) error {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return err
	}
	jobs, err := k.jobs(ctx, sqldb.MS(now))
	if err != nil {
		return err
	}
	k.seen.Store(&jobs)
	for _, j := range jobs {
		if j.Kind == Make && j.State == Done {
			k.lastGood.Store(j.Ended.Unix())
			break
		}
	}
	return nil
}

// Trouble says what is wrong with backups; nothing means that they work.
func (k *Keeper) Trouble() []*trouble.Trouble {
	every := k.Schedule().Every
	if k.Place == nil {
		if every > 0 {
			return []*trouble.Trouble{trouble.New("health.noPlace", nil)}
		}
		return nil
	}
	var out []*trouble.Trouble
	known := map[string]bool{}
	for _, j := range k.recent() {
		if j.Ended == nil || known[j.Kind] {
			continue
		}
		known[j.Kind] = true
		if j.State != Failed {
			continue
		}
		said := "health.backupFailed"
		if j.Kind == Verify {
			said = "health.checkFailed"
		}
		out = append(out, trouble.New(said, words.Values{"name": j.Name, "at": j.Ended.Format(time.RFC3339), "problem": j.Problem}))
	}
	if ahead := k.ahead.Load(); ahead != nil && len(*ahead) > 0 {
		names := *ahead
		out = append(out, trouble.New("health.backupsAhead", words.Values{
			"n": strconv.Itoa(len(names)), "names": strings.Join(names[:min(len(names), namedAhead)], ", "),
		}))
	}
	return out
}

// Measure shows operators how backups go.
func (k *Keeper) Measure(m *telemetry.Metrics) {
	m.GaugeFunc("backup_last_success_timestamp_seconds", "When a backup was last made, in seconds since 1970; 0 is never, as far as is remembered.", func() float64 {
		return float64(k.lastGood.Load())
	})
	m.CounterFunc("backup_failures_total", "Backups, and checks of them, that failed on this node.", func() float64 { return float64(k.failures.Load()) })
	m.GaugeFunc("backup_running", "1 while a backup is made or checked.", func() float64 {
		for _, j := range k.recent() {
			if j.State == Running {
				return 1
			}
		}
		return 0
	})
}

func (k *Keeper) recent() []Job {
	if jobs := k.seen.Load(); jobs != nil {
		return *jobs
	}
	return nil
}

// Next is when the next backup is due; the zero time: none is, or at once.
func (k *Keeper) Next(newest *Backup) (at time.Time, planned bool) {
	every := k.Schedule().Every
	switch {
	case every == 0 || k.Place == nil:
		return time.Time{}, false
	case newest == nil:
		return time.Time{}, true
	}
	return newest.Made.Add(every), true
}
