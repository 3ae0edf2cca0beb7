package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Asked returns what the turn of a message asked for.
func (st *Store) Asked(ctx context.Context, owner, sessionID, messageID string) (out oracle.Asked, err error) {
	err = st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		out, err = st.asked(ctx, owner, sessionID, messageID)
		return errors.Is(err, oracle.ErrMessageNotFound), err
	})
	return out, err
}

func (st *Store) asked(ctx context.Context, owner, sessionID, messageID string) (oracle.Asked, error) {
	var out oracle.Asked
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		out = oracle.Asked{}
		if _, err := scanSession(tx.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM oracle_sessions WHERE id = $1 AND owner = $2`, sessionID, owner)); err != nil {
			return err
		}
		turn, err := turnOf(ctx, tx, owner, sessionID, messageID)
		if err != nil {
			return err
		}
		m, err := scanMessage(tx.QueryRowContext(ctx, `SELECT `+messageColumns+ofOwner+` AND m.turn = $3 AND m.seq = $3`, sessionID, owner, turn))
		if err != nil {
			return err
		}
		r, err := scanRun(tx.QueryRowContext(ctx, `SELECT `+runColumns+` FROM oracle_runs WHERE id = $1 AND session_id = $2`, m.RunID, sessionID))
		if err != nil && !errors.Is(err, oracle.ErrRunNotFound) {
			return err
		}
		out.Request, out.Root = r.Request, turn
		if err != nil { // said in a way that had no run
			out.Request.Message = m.Content
		}
		out.Read = m.Attachments
		err = tx.QueryRowContext(ctx, `SELECT root FROM oracle_turns WHERE session_id = $1 AND turn = $2`, sessionID, turn).Scan(&out.Root)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("select version: %w", err)
		}
		return nil
	})
	return out, err
}

// turnOf returns the turn of a message of the owner's session.
func turnOf(ctx context.Context, tx sqldb.Querier, owner, sessionID, messageID string) (turn int64, err error) {
	text, args := `SELECT m.turn`+ofOwner+` AND m.id = $3`, []any{sessionID, owner, messageID}
	if messageID == oracle.LastTurn {
		text, args = `SELECT m.turn`+ofOwner+isShown+` ORDER BY m.turn DESC LIMIT 1`, []any{sessionID, owner}
	}
	err = tx.QueryRowContext(ctx, text, args...).Scan(&turn)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, oracle.ErrMessageNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("find turn: %w", err)
	}
	return turn, nil
}

// Versions lists the versions of a turn, or of all turns that have several.
func (st *Store) Versions(ctx context.Context, owner, sessionID string, root int64) (list []oracle.Version, err error) {
	err = st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		list, err = st.versions(ctx, owner, sessionID, root)
		return err == nil && len(list) == 0, err
	})
	return list, err
}

func (st *Store) versions(ctx context.Context, owner, sessionID string, root int64) ([]oracle.Version, error) {
	which, args := `b.root IN (SELECT o.root FROM oracle_turns o WHERE o.session_id = $1 AND o.root <> o.turn)`, []any{sessionID, owner}
	content := `''`
	if root > 0 {
		which, args, content = `b.root = $3`, append(args, root), versionText
	}
	rows, err := st.db.Read().QueryContext(ctx, `SELECT m.id, b.turn, b.root, b.kind, b.chosen, `+content+`, m.created_ms
		FROM oracle_turns b JOIN oracle_messages m ON m.session_id = b.session_id AND m.turn = b.turn AND m.seq = b.turn
		JOIN oracle_sessions s ON s.id = b.session_id WHERE s.id = $1 AND s.owner = $2 AND `+which+` ORDER BY b.turn`, args...)
	if err != nil {
		return nil, fmt.Errorf("select versions: %w", err)
	}
	list, err := collect(rows, scanVersion)
	if err != nil || len(list) > 0 || root == 0 {
		return list, err
	}
	rows, err = st.db.Read().QueryContext(ctx, `SELECT m.id, m.turn, m.turn, '`+string(oracle.Original)+`', 1, `+versionText+`, m.created_ms`+
		ofOwner+` AND m.turn = $3 AND m.seq = $3`, args...) // the only one
	if err != nil {
		return nil, fmt.Errorf("select version: %w", err)
	}
	return collect(rows, scanVersion)
}

// versionText selects a character more than is shown, which tells that there are more.
var versionText = fmt.Sprintf(`substr(m.content, 1, %d)`, oracle.VersionText+1)

func scanVersion(row scanner) (oracle.Version, error) {
	var (
		v       oracle.Version
		kind    string
		chosen  int
		created int64
	)
	if err := row.Scan(&v.MessageID, &v.Turn, &v.Root, &kind, &chosen, &v.Content, &created); err != nil {
		return v, fmt.Errorf("read version: %w", err)
	}
	if text := []rune(v.Content); len(text) > oracle.VersionText {
		v.Content, v.Shortened = string(text[:oracle.VersionText])+"…", true
	}
	v.Kind, v.Chosen, v.CreatedAt = oracle.VersionKind(kind), chosen != 0, sqldb.Time(created)
	return v, nil
}

// Choose shows the branch of a message.
func (st *Store) Choose(ctx context.Context, owner, sessionID, messageID string) error {
	return st.warm.In(ctx, owner, sessionID, func() (bool, error) {
		err := st.choose(ctx, owner, sessionID, messageID)
		return errors.Is(err, oracle.ErrMessageNotFound), err
	})
}

func (st *Store) choose(ctx context.Context, owner, sessionID, messageID string) error {
	return st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var live int64
		// Also when nothing changes in the end: it locks the session.
		session, err := scanSession(tx.QueryRowContext(ctx, `UPDATE oracle_sessions SET branch = branch WHERE id = $1 AND owner = $2 RETURNING `+sessionColumns+`,
			(SELECT COUNT(*) FROM oracle_runs r WHERE r.session_id = oracle_sessions.id AND `+isLive+`)`, sessionID, owner), &live)
		if err != nil {
			return err
		}
		turn, err := turnOf(ctx, tx, owner, sessionID, messageID)
		if err != nil {
			return err
		}
		before, err := readBranches(ctx, tx, sessionID)
		if err != nil {
			return err
		}
		after := slices.Clone(before)
		if err := after.Choose(turn); err != nil {
			return err
		}
		if after.Diverge(before) == 0 {
			return nil
		}
		if live > 0 {
			return oracle.ErrChoosing
		}
		return writeBranches(ctx, tx, &session, before, after)
	})
}

// forkSession makes a turn that is about to be stored the chosen version of another.
func forkSession(ctx context.Context, tx sqldb.Querier, s *oracle.Session, turn int64, v oracle.VersionOf) error {
	before, err := readBranches(ctx, tx, s.ID)
	if err != nil {
		return err
	}
	after, err := slices.Clone(before).Fork(turn, v)
	if err != nil {
		return err
	}
	return writeBranches(ctx, tx, s, before, after)
}

const branchColumns = `b.turn, b.parent, b.root, b.kind, b.chosen, b.hidden`

func scanBranch(row scanner) (n oracle.TurnNode, err error) {
	var (
		kind           string
		chosen, hidden int
	)
	err = row.Scan(&n.Turn, &n.Parent, &n.Root, &kind, &chosen, &hidden)
	n.Kind, n.Chosen, n.Hidden = oracle.VersionKind(kind), chosen != 0, hidden != 0
	return n, err
}

// readBranches returns the branches of a session with all its turns.
func readBranches(ctx context.Context, tx sqldb.Querier, sessionID string) (oracle.Branches, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+branchColumns+` FROM oracle_turns b WHERE b.session_id = $1 ORDER BY b.turn`, sessionID)
	if err != nil {
		return nil, fmt.Errorf("select branches: %w", err)
	}
	known, err := collect(rows, scanBranch)
	if err != nil {
		return nil, err
	}
	rows, err = tx.QueryContext(ctx, `SELECT DISTINCT turn FROM oracle_messages WHERE session_id = $1 ORDER BY turn`, sessionID)
	if err != nil {
		return nil, fmt.Errorf("select turns: %w", err)
	}
	turns, err := collect(rows, func(row scanner) (int64, error) {
		var n int64
		return n, row.Scan(&n)
	})
	return oracle.Branches(known).Adopt(turns), err
}

// branchRows is how many turns go into one statement.
const branchRows = 100

// writeBranches stores the branches of a session, and forgets a summary of what is
// not shown any more.
func writeBranches(ctx context.Context, tx sqldb.Querier, s *oracle.Session, before, after oracle.Branches) error {
	for some := range slices.Chunk(after, branchRows) {
		args, rows := []any{s.ID}, make([]string, 0, len(some))
		for _, n := range some {
			at := len(args)
			rows = append(rows, fmt.Sprintf("($1, $%d, $%d, $%d, $%d, $%d, $%d)", at+1, at+2, at+3, at+4, at+5, at+6))
			args = append(args, n.Turn, n.Parent, n.Root, string(n.Kind), flag(n.Chosen), flag(n.Hidden))
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO oracle_turns (session_id, turn, parent, root, kind, chosen, hidden) VALUES `+strings.Join(rows, ", ")+`
			ON CONFLICT (session_id, turn) DO UPDATE SET chosen = excluded.chosen, hidden = excluded.hidden`, args...)
		if err != nil {
			return fmt.Errorf("store branches: %w", err)
		}
	}
	if first := after.Diverge(before); s.SummaryThrough >= first {
		s.Summary, s.SummaryThrough = "", 0
	}
	err := tx.QueryRowContext(ctx, `UPDATE oracle_sessions SET branch = branch + 1, summary = $1, summary_through = $2 WHERE id = $3 RETURNING branch`,
		s.Summary, s.SummaryThrough, s.ID).Scan(&s.Branch)
	if err != nil {
		return fmt.Errorf("change branch: %w", err)
	}
	return nil
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
