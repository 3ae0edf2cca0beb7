package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// DefaultLimit bounds one event when a decoder is given no limit.
const DefaultLimit = 1 << 20

// Decoder reads events from a stream. It is not safe for concurrent use.
type Decoder struct {
	r     *bufio.Reader
	limit int

	started bool // the byte order mark was looked for
	skipLF  bool // the last line ended in CR: an LF that follows belongs to it
	line    []byte

	name   string
	id     string
	data   []byte
	filled bool // a data line was seen
	retry  time.Duration
}

// NewDecoder reads events of at most limit bytes; limit <= 0 means DefaultLimit.
func NewDecoder(r io.Reader, limit int) *Decoder {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Decoder{r: bufio.NewReader(r), limit: limit}
}

// LastEventID is what a client sends as Last-Event-ID when it comes back.
func (d *Decoder) LastEventID() string { return d.id }

// Retry is the pause that the stream asked for last, or zero.
func (d *Decoder) Retry() time.Duration { return d.retry }

// Next returns the next event. At the end of the stream it returns io.EOF; an
// event that its blank line has not completed is discarded, as the standard
// says. The event's Data is its own.
func (d *Decoder) Next() (Event, error) {
	for {
		line, err := d.readLine()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if e, ok := d.dispatch(); ok {
				return e, nil
			}
			continue
		}
		if err := d.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (d *Decoder) dispatch() (Event, bool) {
	e := Event{Name: d.name, ID: d.id, Data: d.data}
	ok := d.filled
	d.name, d.data, d.filled = "", nil, false
	if ok && e.Data == nil {
		e.Data = []byte{}
	}
	return e, ok
}

func (d *Decoder) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "event":
		d.name = text(value)
		if d.name == "message" {
			d.name = ""
		}
	case "data":
		if d.filled {
			d.data = append(d.data, '\n')
		}
		d.data = append(d.data, text(value)...)
		d.filled = true
		if len(d.data) > d.limit {
			return ErrTooLarge
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			d.id = text(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 40); err == nil && allDigits(value) {
			d.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

// readLine returns the next complete line without its end. The slice is valid
// until the next call. What follows the last line end of a stream is no line.
func (d *Decoder) readLine() ([]byte, error) {
	if !d.started {
		d.started = true
		if mark, err := d.r.Peek(3); err == nil && string(mark) == "\uFEFF" {
			_, _ = d.r.Discard(3)
		}
	}
	d.line = d.line[:0]
	for {
		if err := d.fill(); err != nil {
			return nil, err
		}
		chunk, _ := d.r.Peek(d.r.Buffered())
		if d.skipLF {
			d.skipLF = false
			if chunk[0] == '\n' {
				_, _ = d.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			d.line = append(d.line, chunk...)
			_, _ = d.r.Discard(len(chunk))
			if len(d.line) > d.limit {
				return nil, ErrTooLarge
			}
			continue
		}
		d.line = append(d.line, chunk[:end]...)
		d.skipLF = chunk[end] == '\r'
		_, _ = d.r.Discard(end + 1)
		if len(d.line) > d.limit {
			return nil, ErrTooLarge
		}
		return d.line, nil
	}
}

// fill waits for at least one byte.
func (d *Decoder) fill() error {
	_, err := d.r.Peek(1)
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	return nil
}

// text decodes UTF-8 as browsers do: bad bytes become U+FFFD.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
