package oracle

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/uuid"
)

// Bounds of the lists that users page through.
const (
	DefaultPage = 20
	MaxPage     = 100
)

// Identity is who the oracle is, as sessions and prompts show it.
type Identity struct {
	Name      string
	DID       string
	EntityDID string
}

// Service is the use cases around sessions and transcripts. Turns are started
// and followed through package run.
type Service struct {
	store    Store
	identity Identity
	// runsGone is told of the runs that lost their session.
	runsGone func(ctx context.Context, runs []Run)
	deleted  func(ctx context.Context, sessionID string)
	now      func() time.Time
}

// Deps is what a Service needs.
type Deps struct {
	Store    Store
	Identity Identity
	// RunsGone, when set, is told of live runs whose session was deleted.
	RunsGone func(ctx context.Context, runs []Run)
	// SessionGone, when set, is told of a session that was deleted.
	SessionGone func(ctx context.Context, sessionID string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// New makes a Service.
func New(d Deps) *Service {
	s := &Service{store: d.Store, identity: d.Identity, runsGone: d.RunsGone, deleted: d.SessionGone, now: d.Now}
	if s.runsGone == nil {
		s.runsGone = func(context.Context, []Run) {}
	}
	if s.deleted == nil {
		s.deleted = func(context.Context, string) {}
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Identity returns who the oracle is.
func (s *Service) Identity() Identity { return s.identity }

// NewID returns a random identifier in the form of a version 4 UUID.
func NewID() string { return uuid.Random() }

// CreateSession makes an empty session for the user.
func (s *Service) CreateSession(ctx context.Context, owner string) (Session, error) {
	session := s.fresh(owner, "")
	if err := s.store.CreateSession(ctx, session); err != nil {
		return Session{}, fmt.Errorf("create session: %w", err)
	}
	return session, nil
}

// OpenSession returns the user's session for a thread elsewhere, making it when
// there is none.
func (s *Service) OpenSession(ctx context.Context, owner, key string) (Session, error) {
	if key == "" || len(key) > 256 {
		return Session{}, fault.New(fault.Invalid, "the key of a session must have 1 to 256 bytes")
	}
	session, err := s.store.OpenSession(ctx, s.fresh(owner, key))
	if err != nil {
		return Session{}, fmt.Errorf("open session: %w", err)
	}
	return session, nil
}

func (s *Service) fresh(owner, key string) Session {
	now := s.now()
	return Session{ID: NewID(), Owner: owner, Title: Untitled, Key: key, CreatedAt: now, UpdatedAt: now}
}

// Session returns one of the user's sessions.
func (s *Service) Session(ctx context.Context, owner, id string) (Session, error) {
	if !PlausibleID(id) {
		return Session{}, ErrSessionNotFound
	}
	return s.store.Session(ctx, owner, id)
}

// CheckSession fails unless the session is the user's: see SessionChecker.
func (s *Service) CheckSession(ctx context.Context, owner, id string) error {
	_, err := s.Session(ctx, owner, id)
	return err
}

// Sessions lists the user's sessions, last changed first.
func (s *Service) Sessions(ctx context.Context, owner string, limit, offset int) ([]Session, int64, error) {
	list, total, err := s.store.Sessions(ctx, owner, limit, offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list sessions: %w", err)
	}
	return list, total, nil
}

// DeleteSession removes one of the user's sessions and stops what runs in it.
func (s *Service) DeleteSession(ctx context.Context, owner, id string) error {
	if !PlausibleID(id) {
		return ErrSessionNotFound
	}
	gone, err := s.store.DeleteSession(ctx, owner, id)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	if len(gone) > 0 {
		s.runsGone(ctx, gone)
	}
	s.deleted(ctx, id)
	return nil
}

// HiddenFor is how long a hidden session is kept.
const HiddenFor = 24 * time.Hour

// HiddenSession makes a session for a conversation that the user's program
// keeps: it is in no list, has no title, and is deleted after HiddenFor. It is
// stored with its first message: see run.Start.
func (s *Service) HiddenSession(owner string) Session {
	session := s.fresh(owner, "")
	session.Title, session.Expires = "Hidden", session.CreatedAt.Add(HiddenFor)
	return session
}

// DeleteExpired deletes hidden sessions whose time is over, slice by slice until none
// is left.
func (s *Service) DeleteExpired(ctx context.Context, slice int) error {
	for {
		list, err := s.store.Expired(ctx, s.now(), slice)
		if err != nil {
			return fmt.Errorf("look for expired sessions: %w", err)
		}
		deleted := 0
		for _, session := range list {
			switch err := s.DeleteSession(ctx, session.Owner, session.ID); {
			case err == nil:
				deleted++
			case !errors.Is(err, ErrSessionNotFound): // another node was faster
				return err
			}
		}
		if len(list) < slice || deleted == 0 {
			return nil
		}
	}
}

// Messages returns the whole transcript of one of the user's sessions.
func (s *Service) Messages(ctx context.Context, owner, id string) ([]Message, error) {
	session, err := s.Session(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	list, err := s.store.Messages(ctx, owner, id, 0)
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return list, s.mark(ctx, session, list)
}

// SessionsAfter lists the user's sessions in the order of their ids, behind one.
func (s *Service) SessionsAfter(ctx context.Context, owner, after string, limit int) ([]Session, error) {
	return s.store.SessionsAfter(ctx, owner, after, limit)
}

// Branches are those of one of the user's sessions: none while it is one line.
func (s *Service) Branches(ctx context.Context, owner, id string) (Branches, error) {
	return s.store.Branches(ctx, owner, id)
}

// wholePage is about how many messages Whole holds at a time.
const wholePage = 200

// Whole calls each with the messages of one of the user's sessions, of every branch, some at
// a time and at least once. What is archived stays there: see Store.Whole.
func (s *Service) Whole(ctx context.Context, owner, id string, each func(some []Message) error) error {
	var at Place
	for {
		list, more, err := s.store.Whole(ctx, owner, id, at, wholePage)
		if err != nil {
			return fmt.Errorf("read a whole conversation: %w", err)
		}
		if err := each(list); err != nil || !more || len(list) == 0 {
			return err
		}
		last := list[len(list)-1]
		at = Place{Turn: last.Turn, Seq: last.Seq}
	}
}

// Page returns some turns of the transcript of one of the user's sessions: fewer than
// were asked for, where those are too long to be read at once.
func (s *Service) Page(ctx context.Context, owner, id string, q PageQuery) (Page, error) {
	if q.Before != "" && q.After != "" {
		return Page{}, fault.New(fault.Invalid, "before and after exclude each other")
	}
	session, err := s.Session(ctx, owner, id)
	if err != nil {
		return Page{}, err
	}
	q.Limit = min(max(q.Limit, 1), MaxPage)
	page, err := s.store.Page(ctx, owner, id, q)
	for errors.Is(err, ErrTooLong) && q.Limit > 1 {
		q.Limit /= 2
		page, err = s.store.Page(ctx, owner, id, q)
	}
	if err != nil {
		return Page{}, fmt.Errorf("page messages: %w", err)
	}
	return page, s.mark(ctx, session, page.Messages)
}

// PlausibleID bounds what reaches the database. Ids of other systems hold $ and :.
func PlausibleID(id string) bool {
	if id == "" || len(id) > 255 || !utf8.ValidString(id) {
		return false
	}
	for _, c := range []byte(id) {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}
