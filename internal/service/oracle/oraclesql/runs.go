package oraclesql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql/framelines"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// Conditions on a run's status, as the indexes have them.
const (
	isLive   = `status IN ('queued', 'running', 'recovering')`
	isAtWork = `status IN ('running', 'recovering')`
	// stopped is a run that rests and was asked to stop: it needs somebody to end it.
	stopped = `(pauses > 0 AND pause_epoch = epoch AND abort_ms > 0)`
)

const (
	runColumns  = runHead + `, request, checkpoint, ` + runTail
	bareColumns = runHead + `, '', '', ` + runTail // without what may be large

	runHead = `id, session_id, owner, request_id, message_id, turn, status, epoch, attempt, next_seq, abort_ms`
	runTail = `error_kind, model, usage, steps, created_ms, ended_ms, began_by, pause_epoch, pauses, narrow`
)

func scanRun(row scanner) (oracle.Run, error) {
	s, err := scanStored(row)
	if err != nil {
		return s.Run, err
	}
	return s.whole()
}

// stored is a run whose request is as it was stored. To decode one of a megabyte takes
// longer than a transaction may.
type stored struct {
	oracle.Run

	request string
}

func (s stored) whole() (oracle.Run, error) {
	err := decode(s.request, &s.Request)
	return s.Run, err
}

func wholeRuns(list []stored) (runs []oracle.Run, err error) {
	for _, s := range list {
		r, err := s.whole()
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func scanStored(row scanner) (stored, error) {
	var (
		r                     stored
		status                string
		checkpoint, usage     string
		abort, created, ended int64
		pauseEpoch, narrow    int64
	)
	err := row.Scan(&r.ID, &r.SessionID, &r.Owner, &r.RequestID, &r.MessageID, &r.Turn, &status, &r.Epoch, &r.Attempt,
		&r.NextSeq, &abort,
		&r.request, &checkpoint, &r.ErrorKind, &r.Model, &usage, &r.Steps, &created, &ended, &r.BeganBy,
		&pauseEpoch, &r.Pauses, &narrow)
	if errors.Is(err, sql.ErrNoRows) {
		return r, oracle.ErrRunNotFound
	}
	if err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	r.Status, r.AbortRequested = oracle.RunStatus(status), abort > 0
	r.Paused = r.Pauses > 0 && pauseEpoch == r.Epoch && r.Status.Live()
	r.CreatedAt, r.Narrow = sqldb.Time(created), narrow > 0
	if ended > 0 {
		r.EndedAt = sqldb.Time(ended)
	}
	if checkpoint != "" {
		r.Checkpoint = json.RawMessage(checkpoint)
	}
	return r, decode(usage, &r.Usage)
}

// Begin stores a message and its run.
func (st *Store) Begin(ctx context.Context, b run.Begin) (run.Begun, error) {
	request, err := json.Marshal(b.Run.Request)
	if err != nil {
		return run.Begun{}, fmt.Errorf("encode request: %w", err)
	}
	var out run.Begun
	err = st.warm.In(ctx, b.Run.Owner, b.Run.SessionID, func() (bool, error) {
		out, err = st.begin(ctx, b, request)
		return errors.Is(err, oracle.ErrMessageNotFound), err
	})
	if err != nil {
		return run.Begun{}, err
	}
	return out, nil
}

func (st *Store) begin(ctx context.Context, b run.Begin, request []byte) (out run.Begun, err error) {
	var ended []stored
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		out, ended = run.Begun{Run: b.Run}, nil
		r := &out.Run
		if !b.Minted {
			if err := sameRequest(ctx, tx, b, &out); err != nil || out.Repeat {
				return err
			}
		}
		if b.NewSession != nil {
			if err := st.insertSession(ctx, tx, *b.NewSession); err != nil {
				return err
			}
		}
		session, seq, live, err := enterSession(ctx, tx, r.Owner, r.SessionID, b.Message.CreatedAt)
		if err != nil {
			return err
		}
		out.Session, r.Status = session, oracle.Running
		if live > 0 {
			if ended, err = st.makeRoom(ctx, tx, b, int(live), &out); err != nil {
				return err
			}
		}
		if err := countMessage(ctx, tx, r.Sponsor(), b.Measure, b.Message.CreatedAt); err != nil {
			return err
		}
		r.Turn, r.NextSeq = seq, 1
		if v := r.Request.Version; v != nil {
			if err := forkSession(ctx, tx, &out.Session, r.Turn, *v); err != nil {
				return err
			}
		}
		m := b.Message
		m.Seq, m.Turn = seq, seq
		if err := insertMessage(ctx, tx, m); err != nil {
			return err
		}
		frames, err := b.Frames(*r)
		if err != nil {
			return err
		}
		out.Frames = frames
		r.NextSeq += int64(len(frames))
		lease := "0"
		if r.Status == oracle.Running {
			r.Epoch, r.Attempt = 1, 1
			lease = st.db.Dialect().NowMS() + " + " + fmt.Sprint(b.TTL.Milliseconds())
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO oracle_runs
			(id, session_id, owner, request_id, message_id, turn, status, node, epoch, lease_ms, attempt, next_seq, request, created_ms, opening, began_by,
			narrow)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, `+lease+`, $10, $11, $12, $13, $14, $15, $16)`,
			r.ID, r.SessionID, r.Owner, r.RequestID, r.MessageID, r.Turn, string(r.Status), b.Node, r.Epoch, r.Attempt,
			r.NextSeq,
			string(request), sqldb.MS(r.CreatedAt), framelines.Encode(frames), r.BeganBy, flag(r.Narrow))
		if err != nil {
			return fmt.Errorf("insert run: %w", err)
		}
		return st.mark(ctx, tx, b.Marks)
	})
	if err != nil {
		return out, err
	}
	if out.Repeat {
		same, again, err := st.repeated(ctx, b, out.Run.ID)
		if again {
			return st.begin(ctx, b, request)
		}
		return same, err
	}
	out.Ended, err = wholeRuns(ended)
	return out, err
}

// isUsed finds a live run with a request id among the newest of those that had it. Others get another
// id while it lives, so that it is the newest, but for the clocks of nodes; programs say the same
// thousands of times a day. The limit is no parameter: SQLite prepares a statement anew when one is bound.
const isUsed = `SELECT 1 FROM (SELECT status FROM oracle_runs WHERE owner = $1 AND request_id = $2
	ORDER BY created_ms DESC LIMIT 8) r WHERE ` + isLive

// began is the first run that a request id started in a session. The same id may have
// started others elsewhere, which are not read.
const began = `SELECT id FROM oracle_runs WHERE owner = $1 AND request_id = $2 AND session_id = $3
	ORDER BY created_ms LIMIT 1`

// sameRequest looks for runs that a request id has started already: for one of which the
// request is a repetition, unless it says something else, and for a live one elsewhere.
func sameRequest(ctx context.Context, tx sqldb.Querier, b run.Begin, out *run.Begun) error {
	if b.Once {
		id, err := scanString(tx.QueryRowContext(ctx, began, b.Run.Owner, b.Run.RequestID, b.Run.SessionID))
		if err == nil {
			out.Run.ID, out.Repeat = id, true
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("look for the request: %w", err)
		}
	}
	live, err := exists(ctx, tx, isUsed, b.Run.Owner, b.Run.RequestID)
	if live {
		out.Run.RequestID = b.OtherRequestID
	}
	return err
}

// repeated returns the run that the request of b began, if it says the same. What a run
// was asked does not change, so it is compared when nobody waits for it.
func (st *Store) repeated(ctx context.Context, b run.Begin, id string) (out run.Begun, again bool, err error) {
	r, err := scanRun(st.db.Read().QueryRowContext(ctx, `SELECT `+runColumns+` FROM oracle_runs WHERE id = $1`, id))
	switch {
	case errors.Is(err, oracle.ErrRunNotFound): // it was deleted meanwhile
		return out, true, nil
	case err != nil:
		return out, false, err
	case !r.Request.Same(b.Run.Request):
		return out, false, run.ErrReused
	}
	return run.Begun{Run: r, Repeat: true}, false, nil
}

// nextMessage takes n numbers from the owner's session and returns the first.
// It also locks the session, so that what follows sees its runs at rest. The
// session was used at began, and is again: within a second that is the same to
// those who list sessions, and the index of that list is left alone.
func nextMessage(ctx context.Context, tx sqldb.Querier, owner, sessionID string, n int, began int64,
	at time.Time,
) (int64, error) {
	text, args := `UPDATE oracle_sessions SET next_seq = next_seq + $1, messages = messages + $1, unread = 1
		WHERE id = $2 AND owner = $3 RETURNING next_seq, cold`, []any{n, sessionID, owner}
	if now := sqldb.MS(at); now-began >= 1000 {
		text, args = `UPDATE oracle_sessions SET next_seq = next_seq + $1, messages = messages + $1, unread = 1,
			updated_ms = CASE WHEN updated_ms > $4 THEN updated_ms ELSE $4 END
			WHERE id = $2 AND owner = $3 RETURNING next_seq, cold`, append(args, now)
	}
	var next, cold int64
	err := tx.QueryRowContext(ctx, text, args...).Scan(&next, &cold)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, oracle.ErrSessionNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("number message: %w", err)
	}
	if cold == 1 {
		return 0, coldstore.ErrCold
	}
	return next - int64(n), nil
}

// enterSession is nextMessage for a new turn: it also returns the session, and
// how many of its runs are live.
func enterSession(ctx context.Context, tx sqldb.Querier, owner, id string,
	at time.Time,
) (s oracle.Session, seq, live int64, err error) {
	var cold int64
	s, err = scanSession(tx.QueryRowContext(ctx, `UPDATE oracle_sessions
		SET next_seq = next_seq + 1, messages = messages + 1, unread = 1, updated_ms = CASE WHEN updated_ms > $1 THEN updated_ms ELSE $1 END
		WHERE id = $2 AND owner = $3 RETURNING `+sessionColumns+`, next_seq,
		(SELECT COUNT(*) FROM oracle_runs r WHERE r.session_id = oracle_sessions.id AND `+isLive+`), cold`, sqldb.MS(at), id, owner), &seq, &live, &cold)
	if err == nil && cold == 1 {
		err = coldstore.ErrCold
	}
	return s, seq - 1, live, err
}

// Claim takes a run that nobody works on.
func (st *Store) Claim(ctx context.Context, id, node string, ttl time.Duration) (oracle.Run, error) {
	var out oracle.Run
	now := st.db.Dialect().NowMS()
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var err error
		// A queued run starts as running; a run of a dead node goes on as
		// recovering, with frame numbers of its own.
		out, err = scanRun(tx.QueryRowContext(ctx, `UPDATE oracle_runs SET
			node = $1, epoch = epoch + 1, attempt = attempt + 1, lease_ms = `+now+` + $2,
			next_seq = CASE WHEN attempt = 0 THEN next_seq ELSE attempt * 4294967296 END,
			status = CASE WHEN attempt = 0 THEN 'running' ELSE 'recovering' END
			WHERE id = $3 AND (
				(status = 'queued' AND NOT EXISTS (
					SELECT 1 FROM oracle_runs o WHERE o.session_id = oracle_runs.session_id AND o.id <> oracle_runs.id
					AND (o.status IN ('running', 'recovering') OR (o.status = 'queued' AND o.turn < oracle_runs.turn))))
				OR (`+isAtWork+` AND (lease_ms <= `+now+` OR `+stopped+`)))
			RETURNING `+runColumns, node, ttl.Milliseconds(), id))
		if errors.Is(err, oracle.ErrRunNotFound) {
			return run.ErrLost
		}
		return err
	})
	return out, err
}

// Live reports that some run is under way, or waits.
func (st *Store) Live(ctx context.Context) (bool, error) {
	some, err := sqldb.Strings(ctx, st.db.Read(), `SELECT id FROM oracle_runs WHERE `+isLive+` LIMIT 1`)
	return len(some) > 0, err
}

// Claimable names runs that nobody works on. The node that accepted a queued run
// hears at once when its session is free, so that a second later the run counts
// as left alone.
func (st *Store) Claimable(ctx context.Context, age time.Duration, limit int) ([]string, error) {
	now := st.db.Dialect().NowMS()
	rows, err := st.db.Read().QueryContext(ctx, `SELECT id FROM oracle_runs r WHERE r.`+isLive+` AND (
		(r.status IN ('running', 'recovering') AND (r.lease_ms <= `+now+` OR `+stopped+`))
		OR (r.status = 'queued' AND r.created_ms <= `+now+` - $1 AND NOT EXISTS (
			SELECT 1 FROM oracle_runs o WHERE o.session_id = r.session_id AND o.id <> r.id
			AND (o.status IN ('running', 'recovering') OR (o.status = 'queued' AND o.turn < r.turn) OR o.ended_ms > `+now+` - $2))))
		LIMIT $3`, age.Milliseconds(), min(age, time.Second).Milliseconds(), limit)
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", err)
	}
	return collect(rows, scanString)
}

// Append adds frames under the epoch.
func (st *Store) Append(ctx context.Context, b run.Batch) (bool, error) {
	abort := false
	err := st.db.Write(sqldb.Later(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		var at, next int64
		if n := len(b.Frames); n > 0 {
			next = b.Frames[n-1].Seq + 1
		}
		err := tx.QueryRowContext(ctx, `UPDATE oracle_runs SET
			next_seq = CASE WHEN next_seq > $1 THEN next_seq ELSE $1 END,
			checkpoint = CASE WHEN $2 = '' THEN checkpoint ELSE $2 END,
			lease_ms = `+st.db.Dialect().NowMS()+` + $3
			WHERE id = $4 AND epoch = $5 AND `+isAtWork+` RETURNING abort_ms`,
			next, string(b.Checkpoint), b.TTL.Milliseconds(), b.RunID, b.Epoch).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return run.ErrLost
		}
		if err != nil {
			return fmt.Errorf("append to run: %w", err)
		}
		abort = at > 0
		return insertFrames(ctx, tx, b.RunID, b.Frames)
	})
	return abort, err
}

// Renew renews leases; a ttl of zero gives the runs back.
func (st *Store) Renew(ctx context.Context, held []run.Held, ttl time.Duration) (map[string]run.Standing, error) {
	out := make(map[string]run.Standing, len(held))
	now := st.db.Dialect().NowMS()
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		clear(out)
		for _, h := range held {
			var at int64
			err := tx.QueryRowContext(ctx, `UPDATE oracle_runs SET lease_ms = `+now+` + $1
				WHERE id = $2 AND epoch = $3 AND `+isAtWork+` RETURNING abort_ms`, ttl.Milliseconds(), h.RunID, h.Epoch).Scan(&at)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				out[h.RunID] = run.Standing{Lost: true}
			case err != nil:
				return fmt.Errorf("renew lease: %w", err)
			default:
				out[h.RunID] = run.Standing{Abort: at > 0}
			}
		}
		return nil
	})
	return out, err
}

// Finish stores the turn and ends the run.
func (st *Store) Finish(ctx context.Context, e run.Ending) error {
	usage, err := json.Marshal(e.Usage)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	// A short answer is kept with the opening frames, in the run's own row.
	frames, inRow := e.Frames, ""
	if e.Whole {
		if lines := framelines.Encode(e.Frames); len(lines) <= framelines.MaxInRow {
			frames, inRow = nil, lines
		}
	}
	return st.db.Write(sqldb.Later(ctx), func(ctx context.Context, tx sqldb.Querier) error {
		next := e.Frames[len(e.Frames)-1].Seq + 1
		var (
			session, owner, request, message string
			turn, created                    int64
			pauses                           int
		)
		err := tx.QueryRowContext(ctx, `UPDATE oracle_runs SET status = $1, error_kind = $2, model = $3, usage = $4, steps = $5,
			next_seq = $6, ended_ms = $7, checkpoint = '', lease_ms = 0, opening = opening || $8
			WHERE id = $9 AND epoch = $10 AND `+isAtWork+` RETURNING session_id, owner, turn, created_ms, pauses, request_id, message_id`,
			string(e.Status), e.ErrorKind, e.Model, string(usage), e.Steps, next, sqldb.MS(e.At), inRow, e.RunID, e.Epoch).
			Scan(&session, &owner, &turn, &created, &pauses, &request, &message)
		if errors.Is(err, sql.ErrNoRows) {
			return alreadyFinished(ctx, tx, e, next)
		}
		if err != nil {
			return fmt.Errorf("end run: %w", err)
		}
		if pauses > 0 {
			if err := closeApprovals(ctx, tx, e.RunID, e.At); err != nil {
				return err
			}
		}
		if len(e.Messages) > 0 {
			seq, err := nextMessage(ctx, tx, owner, session, len(e.Messages), created, e.At)
			if err != nil {
				return err
			}
			for i, m := range e.Messages {
				m.SessionID, m.RunID, m.Turn, m.Seq = session, e.RunID, turn, seq+int64(i)
				if err := insertMessage(ctx, tx, m); err != nil {
					return err
				}
			}
		}
		if err := insertFrames(ctx, tx, e.RunID, frames); err != nil {
			return err
		}
		return st.reportRun(ctx, tx, owner, e.At, runReport{
			SessionID: session, RunID: e.RunID, RequestID: request, MessageID: message, Status: e.Status, Error: e.ErrorKind,
		})
	})
}

// alreadyFinished tells a repeated ending, whose first acknowledgement got
// lost, from a run that belongs to somebody else.
func alreadyFinished(ctx context.Context, tx sqldb.Querier, e run.Ending, next int64) error {
	same, err := exists(ctx, tx, `SELECT 1 FROM oracle_runs WHERE id = $1 AND epoch = $2 AND status = $3 AND next_seq = $4`,
		e.RunID, e.Epoch, string(e.Status), next)
	if err != nil {
		return err
	}
	if same {
		return nil
	}
	return run.ErrLost
}

// Abort marks the live runs of the owner's session, or one of them. Those that were asked
// to stop before come without their requests.
func (st *Store) Abort(ctx context.Context, owner, sessionID, only string) ([]oracle.Run, error) {
	var live []stored
	at := time.Now()
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) (err error) {
		live, err = bareRuns(ctx, tx, `session_id = $1 AND owner = $2 AND ($3 = '' OR id = $3)`, sessionID, owner, only)
		if err != nil {
			return err
		}
		for i, r := range live {
			if r.Status == oracle.Queued {
				err = st.endQueued(ctx, tx, &live[i], at)
			} else {
				live[i].request, err = scanString(tx.QueryRowContext(ctx, `UPDATE oracle_runs SET abort_ms = $1
					WHERE id = $2 AND abort_ms = 0 RETURNING request`, sqldb.MS(at), r.ID))
			}
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("mark run: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return wholeRuns(live)
}

// Run returns a run of the owner.
func (st *Store) Run(ctx context.Context, owner, id string) (r oracle.Run, err error) {
	err = st.warm.Run(ctx, owner, id, func() error {
		r, err = scanRun(st.db.Read().QueryRowContext(ctx, `SELECT `+runColumns+` FROM oracle_runs WHERE id = $1 AND owner = $2`, id, owner))
		return err
	})
	return r, err
}

// ByRequest returns the run that a request id started.
func (st *Store) ByRequest(ctx context.Context, owner, sessionID, requestID string) (r oracle.Run, err error) {
	err = st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		r, err = scanRun(st.db.Read().QueryRowContext(ctx, `SELECT `+runColumns+` FROM oracle_runs
			WHERE owner = $1 AND request_id = $2 AND ($3 = '' OR session_id = $3) ORDER BY created_ms DESC LIMIT 1`, owner, requestID, sessionID))
		return errors.Is(err, oracle.ErrRunNotFound), err
	})
	return r, err
}

// Latest returns the newest live run of the owner's session.
func (st *Store) Latest(ctx context.Context, owner, sessionID string) (oracle.Run, bool, error) {
	r, err := scanRun(st.db.Read().QueryRowContext(ctx, `SELECT `+runColumns+` FROM oracle_runs
		WHERE session_id = $1 AND owner = $2 AND `+isLive+` ORDER BY turn DESC LIMIT 1`, sessionID, owner))
	if errors.Is(err, oracle.ErrRunNotFound) {
		return oracle.Run{}, false, nil
	}
	return r, err == nil, err
}

// Heads tells how far runs are.
func (st *Store) Heads(ctx context.Context, ids []string) (map[string]run.Head, error) {
	marks := make([]string, len(ids))
	args := make([]any, len(ids))
	for i, id := range ids {
		marks[i], args[i] = fmt.Sprintf("$%d", i+1), id
	}
	rows, err := st.db.Read().QueryContext(ctx, `SELECT id, next_seq, status, pruned FROM oracle_runs WHERE id IN (`+strings.Join(marks, ",")+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("select heads: %w", err)
	}
	defer func() { _ = rows.Close() }()
	out := make(map[string]run.Head, len(ids))
	for rows.Next() {
		var (
			id, status string
			next       int64
			pruned     int
		)
		if err := rows.Scan(&id, &next, &status, &pruned); err != nil {
			return nil, fmt.Errorf("read head: %w", err)
		}
		out[id] = run.Head{LastSeq: next - 1, Status: oracle.RunStatus(status), Pruned: pruned != 0}
	}
	return out, rows.Err()
}

// Prune deletes the frames of runs that ended long ago.
func (st *Store) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	count := 0
	err := st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		rows, err := tx.QueryContext(ctx, `UPDATE oracle_runs SET pruned = 1, opening = '' WHERE id IN (
			SELECT id FROM oracle_runs WHERE ended_ms > 0 AND pruned = 0 AND ended_ms < $1 LIMIT $2) RETURNING id`, sqldb.MS(before), limit)
		if err != nil {
			return fmt.Errorf("mark pruned runs: %w", err)
		}
		ids, err := collect(rows, scanString)
		if err != nil {
			return err
		}
		count = len(ids)
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, `DELETE FROM oracle_frames WHERE run_id = $1`, id); err != nil {
				return fmt.Errorf("delete frames: %w", err)
			}
		}
		return nil
	})
	return count, err
}
