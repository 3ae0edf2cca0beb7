package oraclesql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Search lists the owner's sessions that have every word in their title or
// messages. It reads the owner's messages and nobody else's: what one person
// said in years is a few megabytes, and no index has to be kept for it.
func (st *Store) Search(ctx context.Context, owner string, q oracle.SearchQuery) ([]oracle.Hit, int64, error) {
	args := []any{owner}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	var all, said []string
	for _, word := range q.Words {
		var inTitle, inMessage []string
		for _, pattern := range patterns(word) {
			n := arg(pattern)
			inTitle = append(inTitle, `LOWER(s.title) LIKE `+n+` ESCAPE '\'`)
			inMessage = append(inMessage, `LOWER(m.content) LIKE `+n+` ESCAPE '\'`)
		}
		has := `(` + strings.Join(inMessage, ` OR `) + `)`
		all = append(all, ` AND (`+strings.Join(inTitle, ` OR `)+
			` OR EXISTS (SELECT 1 FROM oracle_messages m WHERE m.session_id = s.id AND `+has+isShown+`))`)
		said = append(said, has)
	}
	from := ` FROM oracle_sessions s WHERE s.owner = $1 AND s.expires_ms = 0` + strings.Join(all, ``)
	count, counted := `SELECT COUNT(*)`+from, slices.Clone(args)
	message := `''`
	if len(said) > 0 {
		// The message with the most of the words, the first of several.
		message = `COALESCE((SELECT m.content FROM oracle_messages m WHERE m.session_id = s.id AND (` + strings.Join(said, ` OR `) + `)` + isShown + `
			ORDER BY CASE WHEN ` + strings.Join(said, ` THEN 1 ELSE 0 END + CASE WHEN `) + ` THEN 1 ELSE 0 END DESC, m.turn, m.seq LIMIT 1), '')`
	}
	page := `SELECT ` + sessionColumns + `, ` + message + from +
		` ORDER BY s.updated_ms DESC, s.id LIMIT ` + arg(q.Limit) + ` OFFSET ` + arg(q.Offset)

	var (
		hits  []oracle.Hit
		total int64
	)
	err := st.db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := tx.QueryRowContext(ctx, count, counted...).Scan(&total); err != nil {
			return fmt.Errorf("count found sessions: %w", err)
		}
		if total == 0 {
			return nil
		}
		rows, err := tx.QueryContext(ctx, page, args...)
		if err != nil {
			return fmt.Errorf("select found sessions: %w", err)
		}
		hits, err = collect(rows, func(row scanner) (oracle.Hit, error) {
			var hit oracle.Hit
			var err error
			hit.Session, err = scanSession(row, &hit.Excerpt)
			return hit, err
		})
		return err
	})
	return hits, total, err
}

// patterns returns what a word looks like in text whose ASCII letters are small:
// LOWER knows no others on either engine, so that letters beyond are looked for
// as they are written, small, large and with a large one first.
func patterns(word string) []string {
	small, large := strings.ToLower(word), strings.ToUpper(word)
	first, n := utf8.DecodeRuneInString(small)
	var out []string
	for _, form := range []string{word, small, large, string(unicode.ToTitle(first)) + small[n:]} {
		out = append(out, `%`+escaped.Replace(strings.Map(smallASCII, form))+`%`)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escaped takes the meaning from what LIKE reads as a pattern.
var escaped = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func smallASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
