package operatordoc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Definition is a kind of document.
type Definition[T any] struct {
	// Name is its name in routes, such as "instructions".
	Name  string
	Title string
	Media string
	// Variable and FileVariable are the settings that rule over the database, Text
	// and File what they say; empty says nothing.
	Variable, FileVariable string
	Text, File             string
	// Spared documents are not needed here: at the start what a variable or a file says
	// in vain is no error, but a problem, and BuiltIn stands in for it.
	Spared bool
	// BuiltIn is in force when nobody says anything. It must parse.
	BuiltIn  []byte
	MaxBytes int
	// Kept documents cannot be removed.
	Kept bool
	// Parse reads a text. What it returns must not change any more.
	Parse func(text []byte, from Source) (T, error)
	// Prepare returns a text as it is stored, with what is secret in it sealed; nil
	// stores it as it is. Before is the stored text that it changes, if there is one.
	Prepare func(text, before []byte) ([]byte, error)
}

// Document is the text in force of a Definition, read. It is safe for concurrent
// use.
type Document[T any] struct {
	def Definition[T]
	now func() time.Time
	log *slog.Logger

	mu    sync.RWMutex
	value T
	text  []byte
	state State
	// seen is the last text that the file had, good or not; nil if it could not be
	// read.
	seen []byte
}

// entry is a document of whatever type, as the shelf sees it.
type entry interface {
	inForce() (State, []byte)
	check(text, before []byte) ([]byte, error)
	adopt(v Version) error
	adoptBuiltIn() error
	kept() bool
	note(problem string)
	reread()
}

// Value is what the text in force says.
func (d *Document[T]) Value() T {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.value
}

// State says which text is in force.
func (d *Document[T]) State() State {
	s, _ := d.inForce()
	return s
}

func (d *Document[T]) inForce() (State, []byte) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.state, d.text
}

func newDocument[T any](def Definition[T], now func() time.Time, log *slog.Logger) (*Document[T], error) {
	d := &Document[T]{def: def, now: now, log: log.With(slog.String("document", def.Name))}
	switch {
	case def.Text != "":
		s := State{Source: FromEnvironment, Where: def.Variable}
		if err := d.use([]byte(def.Text), s); err != nil {
			return d, d.spare(fmt.Errorf("%s: %w", def.Variable, err), s)
		}
		if def.File != "" { // whoever changes the file will wonder
			d.log.Warn("a variable rules over the file of a document", slog.String("event", "document.overridden"), slog.String("variable", def.Variable), slog.String("file", def.File))
		}
	case def.File != "":
		s := State{Source: FromFile, Where: def.File}
		text, err := readFile(def.File, def.MaxBytes)
		if err == nil {
			d.seen, err = text, d.use(text, s)
		}
		if err != nil {
			return d, d.spare(fmt.Errorf("%s: %w", def.FileVariable, err), s)
		}
	default:
		if err := d.use(def.BuiltIn, State{Source: FromDefault}); err != nil {
			return nil, fmt.Errorf("built-in document %s: %w", def.Name, err)
		}
	}
	return d, nil
}

// spare puts the built-in text in the place of one that cannot be read, if the
// document is not needed here. It stays what the variable or the file rules.
func (d *Document[T]) spare(problem error, s State) error {
	if !d.def.Spared {
		return problem
	}
	if err := d.adoptBuiltIn(); err != nil {
		return err
	}
	d.mu.Lock()
	d.state.Source, d.state.Where = s.Source, s.Where
	d.mu.Unlock()
	d.note(problem.Error())
	return nil
}

// use puts a text in force if it can be read; else all stays as it is.
func (d *Document[T]) use(text []byte, s State) error {
	value, err := d.parse(text, s.Source)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	s.Name, s.Title, s.Media, s.MaxBytes = d.def.Name, d.def.Title, d.def.Media, d.def.MaxBytes
	s.Variable, s.FileVariable = d.def.Variable, d.def.FileVariable
	s.Digest, s.Since = hex.EncodeToString(sum[:]), d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.value, d.text, d.state = value, text, s
	return nil
}

// parse reads a text, whatever is in it.
func (d *Document[T]) parse(text []byte, from Source) (value T, err error) {
	defer func() {
		if p := recover(); p != nil { // a node must not fall over a text
			d.log.Error("reading a document panicked", slog.String("event", "document.panicked"), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = errors.New("the text cannot be read")
		}
	}()
	switch {
	case len(text) > d.def.MaxBytes:
		return value, fmt.Errorf("the text is larger than %d bytes", d.def.MaxBytes)
	case !utf8.Valid(text):
		return value, errors.New("the text is not UTF-8")
	case bytes.IndexByte(text, 0) >= 0:
		return value, errors.New("the text holds a zero byte")
	}
	return d.def.Parse(text, from)
}

// check returns a text as it would be stored, or what is wrong with it.
func (d *Document[T]) check(text, before []byte) ([]byte, error) {
	invalid := func(err error) error { return fault.Wrap(fault.Invalid, d.def.Title+": "+err.Error(), err) }
	if len(text) > d.def.MaxBytes {
		return nil, fault.Newf(fault.TooLarge, "%s may have at most %d bytes", d.def.Title, d.def.MaxBytes)
	}
	if d.def.Prepare != nil {
		prepared, err := d.def.Prepare(text, before)
		if err != nil {
			return nil, invalid(err)
		}
		text = prepared
	}
	if _, err := d.parse(text, FromDatabase); err != nil {
		return nil, invalid(err)
	}
	return text, nil
}

// adopt puts a stored version in force.
func (d *Document[T]) adopt(v Version) error {
	return d.use(v.Text, State{Source: FromDatabase, Number: v.Number, Author: v.Author})
}

// adoptBuiltIn puts in force what the program has built in.
func (d *Document[T]) adoptBuiltIn() error {
	return d.use(d.def.BuiltIn, State{Source: FromDefault})
}

func (d *Document[T]) kept() bool { return d.def.Kept }

// note keeps what is wrong with a newer text, for whoever asks, and logs it once.
func (d *Document[T]) note(problem string) {
	d.mu.Lock()
	known := d.state.Problem == problem
	d.state.Problem = problem
	d.mu.Unlock()
	if problem != "" && !known {
		d.log.Error("a document is not in force; the last good one stays", slog.String("event", "document.refused"), slog.String("problem", problem))
	}
}

// reread looks whether the file has changed.
func (d *Document[T]) reread() {
	if d.def.File == "" || d.def.Text != "" {
		return
	}
	text, err := readFile(d.def.File, d.def.MaxBytes)
	if err != nil {
		d.seen = nil
		d.note(fmt.Sprintf("%s: %v", d.def.FileVariable, err))
		return
	}
	if d.seen != nil && bytes.Equal(text, d.seen) {
		return
	}
	d.seen = text
	if _, old := d.inForce(); bytes.Equal(text, old) { // it is back
		d.note("")
		return
	}
	if err := d.use(text, State{Source: FromFile, Where: d.def.File}); err != nil {
		d.note(fmt.Sprintf("%s: %v", d.def.File, err))
		return
	}
	d.log.Info("a document was read again", slog.String("event", "document.reloaded"), slog.String("file", d.def.File), slog.String("digest", d.State().Digest[:12]))
}

// readFile reads a file up to the limit and one byte more.
func readFile(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return text, nil
}
