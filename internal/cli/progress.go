package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progressEvery is how often a bar is drawn again.
const progressEvery = 100 * time.Millisecond

// progress draws how far something is, on a terminal only.
type progress struct {
	w     io.Writer // nil draws nothing
	name  string
	total int64 // -1: unknown
	done  int64
	drawn time.Time
	begun time.Time
}

func newProgress(s IO, name string, total int64) *progress {
	p := &progress{name: name, total: total, begun: time.Now()}
	if s.ErrTerminal() {
		p.w = s.Err
	}
	return p
}

// at says that n bytes are done.
func (p *progress) at(n int64) {
	p.done = n
	if p.w == nil || time.Since(p.drawn) < progressEvery {
		return
	}
	p.drawn = time.Now()
	rate := float64(n) / max(time.Since(p.begun).Seconds(), 0.001)
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s  %s  %s/s", p.name, humanBytes(n), humanBytes(int64(rate)))
		return
	}
	const width = 24
	full := int(min(width, n*width/p.total))
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s  [%s%s] %3d%%  %s/s", p.name, strings.Repeat("█", full), strings.Repeat("·", width-full), n*100/p.total, humanBytes(int64(rate)))
}

// finish wipes the bar.
func (p *progress) finish() {
	if p.w != nil && !p.drawn.IsZero() {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// reader counts what is read from r.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.w == nil {
		return r
	}
	return &progressReader{r, p}
}

type progressReader struct {
	io.Reader
	p *progress
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.p.at(r.p.done + int64(n))
	return n, err
}

// humanBytes writes a size for people.
func humanBytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	}
}

// count writes a number of things: "1 problem", "2 problems".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
