package shell

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bytesize"
)

// progressEvery is how often a bar is drawn again.
const progressEvery = 100 * time.Millisecond

// Progress draws how far something is, on a terminal only.
type Progress struct {
	w     io.Writer // nil draws nothing
	name  string
	total int64 // -1: unknown
	done  int64
	drawn time.Time
	begun time.Time
}

// NewProgress begins to draw; a total of -1 is unknown.
func NewProgress(s IO, name string, total int64) *Progress {
	p := &Progress{name: name, total: total, begun: time.Now()}
	if s.ErrTerminal() {
		p.w = s.Err
	}
	return p
}

// At says that n bytes are done.
func (p *Progress) At(n int64) {
	p.done = n
	if p.w == nil || time.Since(p.drawn) < progressEvery {
		return
	}
	p.drawn = time.Now()
	rate := float64(n) / max(time.Since(p.begun).Seconds(), 0.001)
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s  %s  %s/s", p.name, bytesize.Text(n), bytesize.Text(int64(rate)))
		return
	}
	const width = 24
	full := int(min(width, n*width/p.total))
	left := time.Duration(float64(p.total-n) / max(rate, 1) * float64(time.Second)).Round(time.Second)
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s  [%s%s] %3d%%  %s/s  %s left", p.name, strings.Repeat("█", full), strings.Repeat("·", width-full), n*100/p.total,
		bytesize.Text(int64(rate)), left)
}

// Add says that n more bytes are done.
func (p *Progress) Add(n int64) { p.At(p.done + n) }

// Finish wipes the bar.
func (p *Progress) Finish() {
	if p.w != nil && !p.drawn.IsZero() {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Reader counts what is read from r.
func (p *Progress) Reader(r io.Reader) io.Reader {
	if p.w == nil {
		return r
	}
	return &progressReader{r, p}
}

type progressReader struct {
	io.Reader
	p *Progress
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.p.Add(int64(n))
	return n, err
}

// Count writes a number of things: "1 problem", "2 problems".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Waiting tells that the server takes no more for a while.
func Waiting(s IO) func(time.Duration) {
	return func(d time.Duration) {
		_, _ = fmt.Fprintf(s.Err, "the server takes no more requests for %s; waiting\n", d)
	}
}
