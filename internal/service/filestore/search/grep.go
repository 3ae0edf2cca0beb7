package search

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/pattern"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// Bounds of a grep: the files and bytes that one request reads, and for a pattern
// its size, and that times the bytes, which is about a second's work.
const (
	grepFiles   = 5000
	grepBytes   = 256 << 20
	grepOne     = 32 << 20 // a larger file is left out
	grepPattern = 1000
	grepWork    = 128 << 20
	grepLines   = 20 // lines kept of a file
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
	File  filestore.File
	Lines []GrepLine
	Count int // of matching lines
}

// Snippet is the first matching line.
func (m GrepMatch) Snippet() string {
	for _, l := range m.Lines {
		if !l.Context {
			return filetext.Clip(strings.TrimSpace(l.Text), 200)
		}
	}
	return ""
}

// GrepResult is what a grep found.
type GrepResult struct {
	Matches []GrepMatch
	// Cut says what was not searched, and why; nothing when all was.
	Cut []string
}

// Grep reads the text files below a path, decrypting each, and returns those
// that contain the term. It does at most a line's work after ctx has ended.
func (s *Service) Grep(ctx context.Context, a filestore.Access, q GrepQuery) (GrepResult, error) {
	scope, err := a.Scope(filestore.Read)
	if err != nil {
		return GrepResult{}, err
	}
	match, err := q.matcher()
	if err != nil {
		return GrepResult{}, err
	}
	if q.Path, err = filename.CleanFolder(q.Path); err != nil {
		return GrepResult{}, err
	}
	if err := s.files.CountUse(ctx, a); err != nil {
		return GrepResult{}, err
	}
	done, err := begin(ctx, grepAnswer+fileWorst)
	if err != nil {
		return GrepResult{}, err
	}
	defer done()
	run := grepRun{
		svc: s, match: match, work: budget{grepWork}, around: min(max(q.Context, 0), grepContext), limit: q.Limit,
	}
	list := filestore.ListQuery{Under: q.Path, Limit: filestore.MaxPage}
	for {
		files, err := s.store.Files(ctx, scope, list)
		if err != nil {
			return GrepResult{}, err
		}
		for _, f := range files {
			more, err := run.take(ctx, f)
			if err != nil {
				return GrepResult{}, err
			}
			if !more {
				return run.result(ctx), nil
			}
		}
		if len(files) < list.Limit {
			return run.result(ctx), nil
		}
		list.After = files[len(files)-1].Path
	}
}

// matcher judges lines; cost is what a line of n bytes takes of the budget.
type matcher struct {
	match func(line string) bool
	cost  func(n int) int64
}

func (q GrepQuery) matcher() (matcher, error) {
	if q.Term == "" || utf8.RuneCountInString(q.Term) > MaxQuery {
		return matcher{}, fault.Newf(fault.Invalid, "q must have 1 to %d characters", MaxQuery)
	}
	if !q.Regexp && !q.IgnoreCase {
		// What is found literally costs no more than it takes to read it.
		return matcher{func(line string) bool { return strings.Contains(line, q.Term) }, func(int) int64 { return 0 }}, nil
	}
	expr := q.Term
	if !q.Regexp {
		expr = regexp.QuoteMeta(expr)
	}
	if q.IgnoreCase {
		expr = "(?i)" + expr
	}
	p, err := pattern.Compile(expr, grepPattern)
	if errors.Is(err, pattern.ErrTooLarge) {
		return matcher{}, fault.Newf(fault.Invalid, "%v: write it with fewer repetitions", err)
	}
	if err != nil {
		return matcher{}, fault.New(fault.Invalid, fmt.Sprintf("the pattern is no regular expression: %v", err))
	}
	return matcher{p.Match, p.Cost}, nil
}

// grepRun is one grep under way.
type grepRun struct {
	svc           *Service
	match         matcher
	work          budget
	around, limit int

	out        GrepResult
	files      int
	bytes      int64
	written    int64 // of the answer
	large      int   // files that were left out
	long       bool  // a line was longer than what is searched of it
	stopped    string
	stoppedFor string
}

// take searches one more file, and reports whether to go on.
func (r *grepRun) take(ctx context.Context, f filestore.File) (more bool, err error) {
	switch {
	case r.files == grepFiles:
		return r.stop(f, fmt.Sprintf("%d files were read", grepFiles)), nil
	case r.bytes > grepBytes:
		return r.stop(f, fmt.Sprintf("%d MiB were read", grepBytes>>20)), nil
	}
	if r.files++; f.Size > grepOne {
		r.large++
		return true, nil
	}
	r.bytes += f.Size
	m, err := r.file(ctx, f)
	spent := errors.Is(err, errSpent)
	if err != nil && !spent {
		return false, err
	}
	if m.Count > 0 {
		r.out.Matches = append(r.out.Matches, m)
		r.written += m.written()
	}
	switch {
	case spent:
		return r.stop(f, "the pattern is costly for so much text"), nil
	case m.Count > 0 && len(r.out.Matches) == r.limit:
		return r.stop(f, fmt.Sprintf("%d files match", r.limit)), nil
	case r.written > grepAnswer:
		return r.stop(f, fmt.Sprintf("what was found has %d MiB", grepAnswer>>20)), nil
	}
	return true, nil
}

func (r *grepRun) stop(at filestore.File, why string) bool {
	r.stopped, r.stoppedFor = at.Path, why
	return false
}

// written is how long a match is in an answer.
func (m GrepMatch) written() int64 {
	n := int64(len(m.File.Path)) + fileAnswer
	for _, l := range m.Lines {
		n += filetext.Written(l.Text) + 16
	}
	return n
}

// result adds what was cut.
func (r *grepRun) result(ctx context.Context) GrepResult {
	keep(ctx, r.written)
	if r.stopped != "" {
		r.out.Cut = append(r.out.Cut, fmt.Sprintf("the search ended at %s because %s", r.stopped, r.stoppedFor))
	}
	if r.large > 0 {
		r.out.Cut = append(r.out.Cut, fmt.Sprintf("%d file(s) of more than %d MiB were left out", r.large, grepOne>>20))
	}
	if r.long {
		r.out.Cut = append(r.out.Cut, fmt.Sprintf("lines of more than %d KiB were searched at their beginning only", filetext.MaxLine>>10))
	}
	return r.out
}

// file finds lines. A file that is not text, or damaged, has none. When the
// budget does not last, what was found until then comes with errSpent.
func (r *grepRun) file(ctx context.Context, f filestore.File) (GrepMatch, error) {
	m := GrepMatch{File: f}
	var spent error
	o, err := r.svc.files.Open(ctx, f.Content)
	if err == nil {
		var before []GrepLine
		after := 0
		err = filetext.EachLine(o, func(number int, line string, cut bool) bool {
			if spent = r.work.spend(ctx, r.match.cost(len(line))); spent != nil {
				return false
			}
			r.long = r.long || cut
			switch {
			case r.match.match(line):
				if m.Count++; len(m.Lines) < grepLines {
					m.Lines = append(append(m.Lines, before...), GrepLine{Number: number, Text: filetext.Clip(line, 1000)})
				}
				before, after = nil, r.around
			case after > 0:
				if after--; len(m.Lines) < grepLines {
					m.Lines = append(m.Lines, GrepLine{number, filetext.Clip(line, 1000), true})
				}
			case r.around > 0:
				if before = append(before, GrepLine{number, filetext.Clip(line, 1000), true}); len(before) > r.around {
					before = before[1:]
				}
			}
			return true
		})
	}
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if errors.Is(err, filetext.ErrBinary) || fault.Is(err, fault.Gone) || fault.Is(err, fault.NotFound) {
		return GrepMatch{File: f}, nil
	}
	return m, errors.Join(err, spent)
}
