package knowledge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/passage"
)

const (
	workLease    = 15 * time.Second
	workPause    = time.Second // between two looks without a hint
	workAttempts = 5
	firstRetry   = 5 * time.Second
	// turnTime is what a turn in the queue is worth: a document that takes longer to
	// read costs its owner more of them, up to a bound.
	turnTime = 250 * time.Millisecond
	maxTurns = 240
)

// The reasons why a document is not read that are not the reader's.
const (
	whyTooLarge = "the document is too large to be read"
	whyGaveUp   = "the document could not be read after several attempts"
	// whyInPart stands for the reader's own words, which may quote the document.
	whyInPart = "the document was read in part: it has more than is read of one"
)

// RunReaders reads documents of the queue until ctx ends.
func (s *Service) RunReaders(ctx context.Context) error {
	if err := s.Store.Orphans(ctx); err != nil {
		return fmt.Errorf("give back documents of an earlier process: %w", err)
	}
	var running sync.WaitGroup
	for i := range s.cfg.Readers {
		running.Go(func() { s.runReader(ctx, fmt.Sprintf("%s/%d", s.cfg.Node, i)) })
	}
	running.Wait()
	return nil
}

func (s *Service) runReader(ctx context.Context, name string) {
	clock := s.Quiet.Sleeper(workPause)
	defer clock.Stop()
	for {
		bell := s.wake.next()
		clock.Look()
		did, err := s.ReadOne(ctx, name)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.Logger.Warn("documents could not be read", slog.String("event", "knowledge.read_failed"), slog.Any("error", err))
		}
		if did && err == nil {
			continue
		}
		waits := true
		if err == nil {
			waits, err = s.Store.Waits(ctx)
		}
		clock.Rest(err == nil && !waits)
		if !woken(ctx, bell, clock.C) {
			return
		}
	}
}

// ReadOne reads the next document of the queue, and reports false when nothing
// is due. Whatever dies in the middle, the document is read again.
func (s *Service) ReadOne(ctx context.Context, holder string) (bool, error) {
	w, ok, err := s.Store.Take(ctx, holder, workLease)
	if err != nil || !ok {
		return false, err
	}
	works := make([]Work, 0, 1+len(w.Also))
	for _, w := range append([]Work{w}, w.Also...) {
		// Whatever takes a reader along with it is not given to one for ever.
		if w.Attempts > workAttempts {
			w.Why, w.Read = whyGaveUp, s.Now()
			if err := ignoreLost(s.Store.GiveUp(ctx, w)); err != nil {
				return true, err
			}
			continue
		}
		works = append(works, w)
	}
	if len(works) == 0 {
		return true, nil
	}
	renew := s.renews(slices.Clone(works))
	return true, whileHeld(ctx, renew, func(ctx context.Context) error { return s.settle(ctx, works) })
}

// renews keeps the reservations of a file while it is read. They are lost when the
// last of them is.
func (s *Service) renews(works []Work) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		var why error
		works = slices.DeleteFunc(works, func(w Work) bool {
			err := s.Store.Renew(ctx, w, workLease)
			if fault.Is(err, fault.Conflict) {
				why = err
			}
			return fault.Is(err, fault.Conflict)
		})
		if len(works) > 0 {
			return nil
		}
		return why
	}
}

// whileHeld works while a reservation is renewed; when it is lost, the work's context
// ends with that as its cause.
func whileHeld(ctx context.Context, renew, work func(ctx context.Context) error) error {
	held, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	while, done := context.WithCancel(held)
	defer done()
	renewing.Go(func() {
		pace.Every(while, workLease/3, func() bool {
			err := renew(held)
			if fault.Is(err, fault.Conflict) {
				lost(err)
				return false
			}
			return true
		})
	})
	return work(held)
}

// ignoreLost is for whoever lost a document: it is somebody else's now, or gone.
func ignoreLost(err error) error {
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// settle reads a file and shows it in its collections, or says why not.
func (s *Service) settle(ctx context.Context, works []Work) error {
	began := s.Now()
	doc, err := s.read(ctx, works[0])
	var errs []error
	for _, w := range works {
		why := err
		if why == nil {
			why = s.show(ctx, w, doc)
		}
		errs = append(errs, s.conclude(ctx, w, why))
	}
	if turns := min(int64(s.Now().Sub(began)/turnTime), maxTurns); turns > 0 && ctx.Err() == nil {
		errs = append(errs, s.Store.Charge(ctx, works[0].Namespace, turns))
	}
	return errors.Join(errs...)
}

// conclude stores why a document was not shown.
func (s *Service) conclude(ctx context.Context, w Work, err error) error {
	w.Read = s.Now()
	problem, isProblem := errors.AsType[document.Problem](err)
	switch {
	case err == nil:
		s.Hint()
		return nil
	case fault.Is(err, fault.Conflict), fault.Is(context.Cause(ctx), fault.Conflict):
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // the reservation runs out, and somebody goes on
	case isProblem:
		w.Why = string(problem)
		return ignoreLost(s.Store.GiveUp(ctx, w))
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Gone):
		// The file is gone: the feed will say so. Until then it is not asked for at once.
		return ignoreLost(s.Store.Postpone(ctx, w, firstRetry))
	}
	s.Logger.Warn("document not read for now", slog.String("event", "knowledge.document_waits"), slog.String("file_id", w.FileID), slog.Any("error", err))
	return ignoreLost(s.Store.Postpone(ctx, w, firstRetry<<min(w.Attempts, 8)))
}

// place is what a passage remembers of where it stands.
type place struct {
	Page     int      `json:"page,omitempty"`
	Part     string   `json:"part,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
	Line     int      `json:"line,omitempty"`
	Headings []string `json:"headings,omitempty"`
	// Pair says that it is no passage of a document but an answer of people.
	Pair bool `json:"pair,omitempty"`
}

// read reads the version of a file that a work is about.
func (s *Service) read(ctx context.Context, w Work) (*document.Document, error) {
	if w.Size > s.cfg.MaxDocument {
		return nil, document.Problem(whyTooLarge)
	}
	body, err := s.Files.Open(ctx, w.Namespace, w.FileID, w.Version)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(body, s.cfg.MaxDocument+1))
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return s.Reader.Read(ctx, document.Source{Name: w.Name(), MediaType: w.MimeType, Data: data})
}

// show puts a document into the index of a collection.
func (s *Service) show(ctx context.Context, w Work, doc *document.Document) error {
	w.Generation, w.Pages = NewID(), doc.Pages
	title := titleOf(doc, w.Name())
	passages := passage.Split(doc, passage.Config{})
	b := textindex.NewBuilder(w.Collection)
	for i, p := range passages {
		meta, err := json.Marshal(place{
			Page: p.Place.Page, Part: p.Place.Part, Anchor: p.Place.Anchor, Line: p.Place.Line, Headings: p.Headings,
		})
		if err != nil {
			return fmt.Errorf("encode place: %w", err)
		}
		if err := b.Add(textindex.Passage{
			Document: w.Generation, Number: uint32(i), Language: analyse.Language(""),
			Title: title, Headings: strings.Join(p.Headings, " > "), Text: p.Shown(), Meta: meta,
		}); err != nil {
			return fmt.Errorf("index passage: %w", err)
		}
	}
	w.Passages, w.Language, w.Why = len(passages), languageOf(doc), ""
	if len(doc.Notes) > 0 {
		w.Why = whyInPart
	}
	c, err := s.Store.Collection(ctx, Whole(w.Namespace), w.Collection)
	if err != nil {
		return err
	}
	var segment *Segment
	if len(passages) > 0 {
		var plain bytes.Buffer
		if _, err := b.WriteTo(&plain); err != nil {
			return fmt.Errorf("build index: %w", err)
		}
		if segment, err = s.shelf.put(ctx, c, &plain, len(passages), s.Now()); err != nil {
			return err
		}
	}
	w.Read = s.Now()
	return s.Store.Finish(ctx, w, segment)
}

// titleOf is what a document calls itself: by its title, by the heading that it
// begins with, or else by its file's name.
func titleOf(doc *document.Document, name string) string {
	if title := strings.TrimSpace(doc.Title); title != "" {
		return title
	}
	if len(doc.Blocks) > 0 && doc.Blocks[0].Kind == document.Heading {
		return doc.Blocks[0].Text
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == ' ' }), " ")
}

// languageOf is what the document says of itself, or looks like.
func languageOf(doc *document.Document) string {
	if doc.Language != "" {
		return doc.Language
	}
	return string(analyse.Detect(doc.Text()))
}
