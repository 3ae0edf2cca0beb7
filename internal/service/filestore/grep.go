package filestore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of a grep: files and bytes that one request reads.
const (
	grepFiles   = 5000
	grepBytes   = 256 << 20
	grepOne     = 32 << 20 // a larger file is left out
	grepLines   = 20       // lines kept of a file
	grepContext = 10
)

// GrepQuery is a search through the text itself.
type GrepQuery struct {
	Term       string
	Path       string
	Limit      int // files
	Regexp     bool
	IgnoreCase bool
	Context    int // lines around a match
}

// GrepLine is a line of a match; Context tells that it only surrounds one.
type GrepLine struct {
	Number  int
	Text    string
	Context bool
}

// GrepMatch is a file in which the term occurs.
type GrepMatch struct {
	File  File
	Lines []GrepLine
	Count int // of matching lines
}

// Snippet is the first matching line.
func (m GrepMatch) Snippet() string {
	for _, l := range m.Lines {
		if !l.Context {
			return clip(strings.TrimSpace(l.Text), 200)
		}
	}
	return ""
}

// GrepResult is what a grep found. Truncated says that a bound was reached.
type GrepResult struct {
	Matches   []GrepMatch
	Truncated bool
}

// Grep reads the text files below a path, decrypting each, and returns those
// that contain the term.
func (s *Service) Grep(ctx context.Context, a Access, q GrepQuery) (GrepResult, error) {
	scope, err := a.scope(Read)
	if err != nil {
		return GrepResult{}, err
	}
	match, err := q.matcher()
	if err != nil {
		return GrepResult{}, err
	}
	if q.Path, err = CleanFolder(q.Path); err != nil {
		return GrepResult{}, err
	}
	if err := s.countUse(ctx, a); err != nil {
		return GrepResult{}, err
	}
	var out GrepResult
	var bytes int64
	list := ListQuery{Under: q.Path, Limit: MaxPage}
	for seen := 0; ; {
		files, err := s.store.Files(ctx, scope, list)
		if err != nil {
			return GrepResult{}, err
		}
		for _, f := range files {
			if seen++; seen > grepFiles || bytes > grepBytes {
				out.Truncated = true
				return out, nil
			}
			if f.Size > grepOne {
				out.Truncated = true
				continue
			}
			bytes += f.Size
			m, err := s.grepFile(ctx, f, match, min(max(q.Context, 0), grepContext))
			if err != nil {
				return GrepResult{}, err
			}
			if m.Count == 0 {
				continue
			}
			if out.Matches = append(out.Matches, m); len(out.Matches) == q.Limit {
				out.Truncated = true
				return out, nil
			}
		}
		if len(files) < list.Limit {
			return out, nil
		}
		list.After = files[len(files)-1].Path
	}
}

func (q GrepQuery) matcher() (func(string) bool, error) {
	if q.Term == "" || utf8.RuneCountInString(q.Term) > MaxQuery {
		return nil, fault.Newf(fault.Invalid, "q must have 1 to %d characters", MaxQuery)
	}
	if !q.Regexp && !q.IgnoreCase {
		return func(line string) bool { return strings.Contains(line, q.Term) }, nil
	}
	pattern := q.Term
	if !q.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("the pattern is no regular expression: %v", err))
	}
	return re.MatchString, nil
}

// grepFile finds lines. A file that is not text, or damaged, has none.
func (s *Service) grepFile(ctx context.Context, f File, match func(string) bool, around int) (GrepMatch, error) {
	m := GrepMatch{File: f}
	o, err := s.open(ctx, f.Content)
	if err == nil {
		var before []GrepLine
		after := 0
		err = eachLine(o, func(number int, line string, _ bool) bool {
			switch {
			case match(line):
				if m.Count++; len(m.Lines) < grepLines {
					m.Lines = append(append(m.Lines, before...), GrepLine{Number: number, Text: clip(line, 1000)})
				}
				before, after = nil, around
			case after > 0:
				if after--; len(m.Lines) < grepLines {
					m.Lines = append(m.Lines, GrepLine{number, clip(line, 1000), true})
				}
			case around > 0:
				if before = append(before, GrepLine{number, clip(line, 1000), true}); len(before) > around {
					before = before[1:]
				}
			}
			return ctx.Err() == nil
		})
	}
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if errors.Is(err, errBinary) || fault.Is(err, fault.Gone) || fault.Is(err, fault.NotFound) {
		return GrepMatch{File: f}, nil
	}
	return m, err
}
