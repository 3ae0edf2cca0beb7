package filetext

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Bounds of a line read: a line longer than MaxLine is cut, and a window ends before the
// line with which its answer would have more than maxWindow bytes.
const (
	MaxLine   = 64 << 10
	maxWindow = 4 << 20
	sniff     = 8 << 10
	// lineNumber is what the number of a line and its end have, as they are written.
	lineNumber = 16
	// MaxLines is the largest window of a line read; DefaultLines the usual one.
	MaxLines     = 5000
	DefaultLines = 2000
)

// Lines is a window of a text file.
type Lines struct {
	File filestore.File
	// Text holds the window's lines, numbered as `cat -n` does.
	Text string
	// Offset is the first line's number, Count how many there are.
	Offset, Count int
	More          bool
	Total         int
	// Version is the version that was read.
	Version int64
}

// Window selects lines: Offset counts from 1, Limit 0 means DefaultLines.
type Window struct{ Offset, Limit int }

func (w Window) check() (Window, error) {
	if w.Offset < 0 || w.Limit < 0 {
		return w, fault.New(fault.Invalid, "offset counts from 1, and limit is positive")
	}
	w.Offset = cmp.Or(w.Offset, 1)
	w.Limit = cmp.Or(w.Limit, DefaultLines)
	w.Limit = min(w.Limit, MaxLines)
	return w, nil
}

// ReadLines returns a window of the text file with an identifier.
func (s *Service) ReadLines(ctx context.Context, a filestore.Access, id string, w Window) (Lines, error) {
	f, o, err := s.files.OpenID(ctx, a, id)
	return window(ctx, f, o, err, w)
}

// ReadPathLines returns a window of the text file at a path.
func (s *Service) ReadPathLines(ctx context.Context, a filestore.Access, path string, w Window) (Lines, error) {
	f, o, err := s.files.OpenPath(ctx, a, path)
	return window(ctx, f, o, err, w)
}

// ReadCIDLines returns a window of the text file with a content.
func (s *Service) ReadCIDLines(ctx context.Context, a filestore.Access, cid string, w Window) (Lines, error) {
	f, o, err := s.files.OpenCID(ctx, a, cid)
	return window(ctx, f, o, err, w)
}

func window(ctx context.Context, f filestore.File, o *filestore.Opened, err error, w Window) (Lines, error) {
	if err != nil {
		return Lines{}, err
	}
	if w, err = w.check(); err != nil {
		return Lines{}, err
	}
	hold := ratelimit.HoldingOf(ctx)
	if err := hold.Take(ctx, min(escape*o.Size(), maxWindow)+MaxLine); err != nil {
		return Lines{}, err
	}
	l := Lines{File: f, Offset: w.Offset, Version: f.Version}
	var text strings.Builder
	written := int64(0)
	err = EachLine(o, func(number int, line string, _ bool) bool {
		l.Total = number
		if number < w.Offset {
			return true
		}
		more := lineNumber + Written(line)
		if l.More = l.More || l.Count == w.Limit || l.Count > 0 && written+more > maxWindow; l.More {
			return true // counting goes on
		}
		written += more
		fmt.Fprintf(&text, "%6d\t%s\n", number, line)
		l.Count++
		return true
	})
	if err != nil {
		return Lines{}, notText(err, f)
	}
	hold.Keep(written)
	l.Text = text.String()
	return l, nil
}

// ErrBinary says that content is not text.
var ErrBinary = errors.New("not text")

func notText(err error, f filestore.File) error {
	if errors.Is(err, ErrBinary) {
		return fault.New(fault.UnsupportedMedia, "the file is not text").
			WithField("mimeType", f.MimeType).WithField("size", f.Size)
	}
	return err
}

// EachLine calls fn for every line, without its end, until fn says stop or the
// request has ended. Long lines are cut; cut tells. Content with a NUL, or that does not begin as UTF-8,
// is not text.
func EachLine(o *filestore.Opened, fn func(number int, line string, cut bool) bool) error {
	r, err := o.Range(0, -1)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	br := bufio.NewReaderSize(r, int(min(o.Size()+1, MaxLine)))
	head, err := br.Peek(int(min(sniff, o.Size())))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	if !looksText(head) {
		return ErrBinary
	}
	for number := 1; ; number++ {
		line, cut, err := br.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = o.Ended()
		}
		if err != nil {
			return err
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return ErrBinary
		}
		if !fn(number, strings.ToValidUTF8(string(line), "\uFFFD"), cut) {
			return nil
		}
		for rest := cut; rest; {
			if _, rest, err = br.ReadLine(); err != nil {
				return skipEOF(err)
			}
		}
	}
}

func skipEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// looksText judges the beginning of a content.
func looksText(head []byte) bool {
	for i := 0; i < len(head); {
		if head[i] == 0 {
			return false
		}
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 {
			return len(head)-i < utf8.UTFMax && len(head) >= sniff // a character cut by the end of the sample
		}
		i += size
	}
	return true
}
