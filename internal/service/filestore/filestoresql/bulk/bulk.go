// Package bulk writes many rows by few statements. It promises that values only ever become
// arguments.
package bulk

import (
	"context"
	"iter"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Step is how many rows one statement inserts at most: engines limit arguments, and other writers wait meanwhile.
const Step = 50

// Insert inserts n rows into a table, which is named with its columns.
func Insert(ctx context.Context, tx sqldb.Querier, into string, n int, row func(i int) []any) error {
	for from := 0; from < n; from += Step {
		text := append([]byte("INSERT INTO "+into), " VALUES "...)
		var args []any
		for i := from; i < min(from+Step, n); i++ {
			before := len(args)
			args = append(args, row(i)...)
			for at := before; at < len(args); at++ {
				text = append(text, separator(at, before)...)
				text = strconv.AppendInt(text, int64(at+1), 10)
			}
			text = append(text, ')')
		}
		if _, err := tx.ExecContext(ctx, string(text), args...); err != nil {
			return err
		}
	}
	return nil
}

// separator is what stands before an argument of a list of rows, of which one begins at
// first.
func separator(at, first int) string {
	switch at {
	case 0:
		return "($"
	case first:
		return ", ($"
	}
	return ", $"
}

// pieceSize is how many files one statement names at most.
const pieceSize = 64

// Pieces cuts a list into lengths that are powers of two: a statement of each length is
// prepared once.
func Pieces[T any](all []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := pieceSize; len(all) > 0; {
			for size > len(all) {
				size /= 2
			}
			if !yield(all[:size]) {
				return
			}
			all = all[size:]
		}
	}
}
