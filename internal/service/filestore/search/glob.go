package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Bounds of a glob: the records that one looks at, and the steps that its pattern
// takes over their paths.
const (
	globScan = 20_000
	globWork = 256 << 20
)

// Glob returns the files whose whole path matches a pattern: * and ? stay inside
// a segment, ** crosses them. Only files below the pattern's literal beginning
// are looked at. cut says what was not, and why; it is empty when all were.
func (s *Service) Glob(ctx context.Context, a filestore.Access, pattern string,
	p filestore.Page,
) (files []filestore.File, cut string, err error) {
	scope, err := a.Scope(filestore.List)
	if err != nil {
		return nil, "", err
	}
	g, err := compileGlob(pattern)
	if err != nil {
		return nil, "", err
	}
	done, err := begin(ctx, globAnswer)
	if err != nil {
		return nil, "", err
	}
	defer done()
	defer func() { keep(ctx, weighFiles(files)) }()
	q := filestore.ListQuery{Prefix: g.literal, Limit: 1000}
	skip := p.Offset
	work := budget{globWork}
	for scanned := 0; ; {
		page, err := s.store.Files(ctx, scope, q)
		if err != nil {
			return nil, "", err
		}
		for _, f := range page {
			err := work.spend(ctx, g.cost(f.Path))
			if errors.Is(err, errSpent) {
				return files, fmt.Sprintf("the scan ended at %s because the pattern is costly for so many paths", f.Path), nil
			}
			if err != nil {
				return nil, "", err
			}
			if !g.match(f.Path) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if files = append(files, f); len(files) == p.Limit {
				return files, "", nil
			}
		}
		if scanned += len(page); len(page) < q.Limit {
			return files, "", nil
		}
		q.After = page[len(page)-1].Path
		if scanned >= globScan {
			return files, fmt.Sprintf("the scan ended at %s because %d files were looked at", q.After, scanned), nil
		}
	}
}

// glob is a compiled pattern.
type glob struct {
	pattern string
	literal string // what every match begins with
}

func compileGlob(pattern string) (glob, error) {
	if pattern == "" || len(pattern) > MaxQuery || !utf8.ValidString(pattern) {
		return glob{}, fault.Newf(fault.Invalid, "pattern must have 1 to %d characters", MaxQuery)
	}
	pattern = norm.NFC.String(pattern)
	if !strings.HasPrefix(pattern, "/") {
		pattern = "/" + pattern
	}
	// Runs of stars cost time and mean the same as two.
	for strings.Contains(pattern, "***") {
		pattern = strings.ReplaceAll(pattern, "***", "**")
	}
	literal := pattern
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		literal = pattern[:i]
	}
	return glob{pattern, literal}, nil
}

// cost is the most that a match takes, in steps: the product of both lengths.
func (g glob) cost(path string) int64 { return int64(len(g.pattern)+1) * int64(len(path)+1) }

// match runs the pattern with one memory per star kind.
func (g glob) match(path string) bool {
	rows := make([]bool, len(path)+1) // rows[i]: the pattern so far matches path[:i]
	next := make([]bool, len(path)+1)
	rows[0] = true
	for p := 0; p < len(g.pattern); {
		c, size := utf8.DecodeRuneInString(g.pattern[p:])
		switch {
		case strings.HasPrefix(g.pattern[p:], "**/"): // zero or more whole folders
			stars(rows, func(i int) bool { return true })
			for i := len(path); i > 0; i-- {
				// After "**/" the next segment begins: at the start of the match or after a slash.
				rows[i] = rows[i] && path[i-1] == '/'
			}
			p += 3
		case strings.HasPrefix(g.pattern[p:], "**"):
			stars(rows, func(int) bool { return true })
			p += 2
		case c == '*':
			stars(rows, func(i int) bool { return path[i] != '/' })
			p++
		case c == '?':
			step(rows, next, path, func(r rune) bool { return r != '/' })
			p++
		default:
			step(rows, next, path, func(r rune) bool { return r == c })
			p += size
		}
	}
	return rows[len(path)]
}

// stars lets what matched go on over bytes that may be passed.
func stars(rows []bool, may func(i int) bool) {
	for i := range len(rows) - 1 {
		if rows[i] && may(i) {
			rows[i+1] = true
		}
	}
}

// step moves every match over one character, with the help of as many places.
func step(rows, next []bool, path string, ok func(rune) bool) {
	clear(next)
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if rows[i] && ok(r) {
			next[i+size] = true
		}
		i += size
	}
	copy(rows, next)
}
