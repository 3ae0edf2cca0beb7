package operatordoc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/pace"
)

const (
	// hintStored is the subject on which a node tells the others to look.
	hintStored = "operatordoc.stored"
	// fileInterval is how soon a changed file is seen.
	fileInterval = time.Second
	// newsPage is how many versions are taken in at once.
	newsPage = 200
	// maxNote bounds what authors say about a version, in bytes.
	maxNote = 500
	// maxAuthor bounds a name, in bytes.
	maxAuthor = 200
)

// Config says how a Shelf learns of changes.
type Config struct {
	Hints  feed.Hints // nil: only the poll
	Head   *feed.Head // that of versions; nil: each poll reads them
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Shelf has the documents of a program.
type Shelf struct {
	store Store
	log   *slog.Logger
	now   func() time.Time
	news  *feed.Follower
	// cursor is how far the feed was read; only the follower's reading moves it.
	cursor int64

	mu        sync.RWMutex
	documents map[string]entry
	names     []string
}

// NewShelf returns an empty shelf. Put documents on it, then Load it and Run it.
func NewShelf(store Store, cfg Config) *Shelf {
	s := &Shelf{store: store, log: cfg.Logger, now: cfg.Now, documents: map[string]entry{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.news = feed.New(feed.Config{
		Subject: hintStored, Read: s.read, Unknown: "The documents cannot be read at the moment.",
		Hints: cfg.Hints, Head: cfg.Head, Logger: s.log,
	})
	return s
}

// Put puts a document on the shelf. It fails when what a variable or a file says
// cannot be read.
func Put[T any](s *Shelf, def Definition[T]) (*Document[T], error) {
	d, err := newDocument(def, s.now, s.log)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.documents[def.Name]; twice {
		return nil, fmt.Errorf("the document %s is on the shelf already", def.Name)
	}
	s.documents[def.Name] = d
	s.names = append(s.names, def.Name)
	return d, nil
}

// Load reads what is stored.
func (s *Shelf) Load(ctx context.Context) error { return s.news.Load(ctx) }

// Run follows the database and the files until the context ends.
func (s *Shelf) Run(ctx context.Context) error {
	var files sync.WaitGroup
	defer files.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	files.Go(func() { s.followFiles(ctx) })
	return s.news.Run(ctx)
}

func (s *Shelf) followFiles(ctx context.Context) {
	pace.Every(ctx, fileInterval, func() bool {
		for _, d := range s.all() {
			d.reread()
		}
		return true
	})
}

func (s *Shelf) all() []entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]entry, len(s.names))
	for i, name := range s.names {
		out[i] = s.documents[name]
	}
	return out
}

func (s *Shelf) find(name string) (entry, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d, ok := s.documents[name]; ok {
		return d, nil
	}
	return nil, fault.Newf(fault.NotFound, "There is no such document; there are %s", strings.Join(s.names, ", "))
}

// read takes in some of what was stored: see feed.Config.
func (s *Shelf) read(ctx context.Context) (more bool, err error) {
	list, err := s.store.VersionsSince(ctx, s.cursor, newsPage)
	if err != nil {
		return false, err
	}
	var changed []string
	for _, v := range list {
		if !slices.Contains(changed, v.Document) {
			changed = append(changed, v.Document)
		}
	}
	for _, name := range changed {
		d, err := s.find(name)
		if err != nil {
			continue // a newer release has it
		}
		if err := s.takeNewest(ctx, name, d); err != nil {
			return false, err
		}
	}
	if len(list) > 0 {
		s.cursor = list[len(list)-1].Feed
	}
	return len(list) == newsPage, nil
}

// takeNewest puts the newest version in force, or keeps what is and notes why. A
// node that has just started has nothing to keep and looks for the last version
// that it can read.
func (s *Shelf) takeNewest(ctx context.Context, name string, d entry) error {
	state, _ := d.inForce()
	if state.ReadOnly() {
		return nil
	}
	newest, err := s.store.NewestVersion(ctx, name)
	if err != nil || newest.Number == 0 {
		return err
	}
	problem := take(d, newest)
	if problem == nil {
		s.log.Info("a document is in force", slog.String("event", "document.in_force"), slog.String("document", name), slog.Int64("version", newest.Number))
		return nil
	}
	if state.Source == FromDefault {
		older, err := s.store.Versions(ctx, name, newest.Number, KeptVersions)
		if err != nil {
			return err
		}
		for _, v := range older {
			if v, err = s.store.Version(ctx, name, v.Number); err != nil {
				return err
			}
			if v.Removed || v.Number != 0 && take(d, v) == nil {
				break
			}
		}
	}
	d.note(fmt.Sprintf("version %d: %v", newest.Number, problem))
	return nil
}

func take(d entry, v Version) error {
	if v.Removed {
		return d.adoptBuiltIn()
	}
	return d.adopt(v)
}

// States lists the documents.
func (s *Shelf) States() []State {
	all := s.all()
	out := make([]State, len(all))
	for i, d := range all {
		out[i], _ = d.inForce()
	}
	return out
}

// Contents is a document as its editor sees it.
type Contents struct {
	State State
	// Text is what rules: a variable's, a file's or the newest stored one.
	Text []byte
	// Newest is the number of the newest stored version, which a new one follows.
	Newest int64
}

// Contents returns a document. The text is the newest, also when it is not in
// force because it cannot be read here.
func (s *Shelf) Contents(ctx context.Context, name string) (Contents, error) {
	d, err := s.find(name)
	if err != nil {
		return Contents{}, err
	}
	newest, err := s.store.NewestVersion(ctx, name)
	if err != nil {
		return Contents{}, err
	}
	state, text := d.inForce()
	if !state.ReadOnly() && newest.Number > 0 && !newest.Removed {
		text = newest.Text
	}
	return Contents{State: state, Text: text, Newest: newest.Number}, nil
}

// Change is who changes a document, and over which version.
type Change struct {
	Author, Note string
	// After is the number of the version that was changed; 0 is none.
	After int64
}

// Store checks a text and stores it as the newest version. To repeat what has
// just been stored is fine and stores nothing.
func (s *Shelf) Store(ctx context.Context, name string, text []byte, c Change) (Version, error) {
	d, err := s.writable(name)
	if err != nil {
		return Version{}, err
	}
	before, err := s.store.Version(ctx, name, c.After)
	if err != nil {
		return Version{}, err
	}
	if text, err = d.check(text, before.Text); err != nil {
		return Version{}, err
	}
	return s.add(ctx, Version{Document: name, Text: text}, c)
}

// Remove goes back to what the program has built in. Documents that are kept stay.
func (s *Shelf) Remove(ctx context.Context, name string, c Change) (Version, error) {
	d, err := s.writable(name)
	if err != nil {
		return Version{}, err
	}
	if d.kept() {
		return Version{}, fault.Newf(fault.Conflict, "The document %q cannot be removed: store what should hold in its place", name)
	}
	return s.add(ctx, Version{Document: name, Removed: true}, c)
}

// Restore stores an earlier version as the newest.
func (s *Shelf) Restore(ctx context.Context, name string, number int64, c Change) (Version, error) {
	d, err := s.writable(name)
	if err != nil {
		return Version{}, err
	}
	old, err := s.StoredVersion(ctx, name, number)
	if err != nil {
		return Version{}, err
	}
	if !old.Removed {
		before, err := s.store.Version(ctx, name, c.After)
		if err != nil {
			return Version{}, err
		}
		if old.Text, err = d.check(old.Text, before.Text); err != nil {
			return Version{}, err
		}
	}
	return s.add(ctx, Version{Document: name, Text: old.Text, Removed: old.Removed, Restores: number}, c)
}

// writable finds a document that no variable and no file rules.
func (s *Shelf) writable(name string) (entry, error) {
	d, err := s.find(name)
	if err != nil {
		return nil, err
	}
	state, _ := d.inForce()
	switch state.Source {
	case FromEnvironment:
		return nil, fault.Newf(fault.Conflict, "The document %q is set by the variable %s of the server and cannot be changed here: unset it first", name, state.Where)
	case FromFile:
		return nil, fault.Newf(fault.Conflict, "The document %q comes from the file %s (%s) and cannot be changed here: change the file", name, state.Where, state.FileVariable)
	}
	return d, nil
}

func (s *Shelf) add(ctx context.Context, v Version, c Change) (Version, error) {
	if len(c.Note) > maxNote {
		return Version{}, fault.Newf(fault.Invalid, "note may have at most %d bytes", maxNote)
	}
	v.Author, v.Note = strings.ToValidUTF8(c.Author[:min(len(c.Author), maxAuthor)], ""),
		strings.ToValidUTF8(strings.ReplaceAll(c.Note, "\x00", ""), "")
	v.Written, v.Size = s.now(), len(v.Text)
	stored, err := s.store.AddVersion(ctx, v, c.After)
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		newest := conflict.Newest
		if newest.Number == c.After+1 && newest.Removed == v.Removed && newest.Restores == v.Restores &&
			bytes.Equal(newest.Text, v.Text) {
			return newest, nil
		}
		return Version{}, fault.Newf(fault.Precondition, "Version %d is the newest by now, written by %s: look at it and try again", newest.Number, newest.Author).
			WithField("version", newest.Number)
	}
	if err != nil {
		return Version{}, err
	}
	s.log.Info("an operator changed a document", slog.String("event", "document.changed"), slog.String("document", v.Document), slog.Int64("version", stored.Number),
		slog.String("author", v.Author), slog.Bool("removed", v.Removed), slog.Int64("restores", v.Restores))
	s.news.Tell(ctx)
	if err := s.news.Load(ctx); err != nil { // it is stored: the poll will find it
		s.log.Warn("a stored document is read later", slog.String("event", "document.read_failed"), slog.String("document", v.Document), slog.Any("error", err))
	}
	return stored, nil
}

// StoredVersion returns a version with its text.
func (s *Shelf) StoredVersion(ctx context.Context, name string, number int64) (Version, error) {
	if _, err := s.find(name); err != nil {
		return Version{}, err
	}
	v, err := s.store.Version(ctx, name, number)
	if err == nil && v.Number == 0 {
		err = fault.Newf(fault.NotFound, "There is no version %d, or it is no longer kept", number)
	}
	return v, err
}

// History lists versions below a number (0: all), the newest first, without their
// texts.
func (s *Shelf) History(ctx context.Context, name string, before int64, limit int) ([]Version, error) {
	if _, err := s.find(name); err != nil {
		return nil, err
	}
	return s.store.Versions(ctx, name, before, limit)
}

// ConflictError is why a version was not stored: another one is the newest.
type ConflictError struct{ Newest Version }

// Error names the newest version.
func (c *ConflictError) Error() string {
	return fmt.Sprintf("version %d is the newest", c.Newest.Number)
}
