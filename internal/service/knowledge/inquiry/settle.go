package inquiry

import (
	"context"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Answering is an answer that staff give.
type Answering struct {
	Text string
	// Keep makes question and answer a pair of the collection. Question, when set,
	// is how the pair asks: staff may leave out what is nobody's business.
	Keep     bool
	Question string
	// By is who answers, for the record.
	By string
}

// Answer answers an inquiry that waits.
func (s *Service) Answer(ctx context.Context, scope Scope, id string, a Answering) (Inquiry, error) {
	a.Text, a.Question = strings.TrimSpace(a.Text), strings.TrimSpace(a.Question)
	if a.Text == "" || len(a.Text) > MaxAnswer || !utf8.ValidString(a.Text) {
		return Inquiry{}, fault.Newf(fault.Invalid, "An answer has 1 to %d bytes.", MaxAnswer)
	}
	if len(a.Question) > knowledge.MaxQuery || !utf8.ValidString(a.Question) {
		return Inquiry{}, fault.Newf(fault.Invalid, "A question has 1 to %d bytes.", knowledge.MaxQuery)
	}
	r, err := s.deps.Store.Inquiry(ctx, scope, id)
	if err != nil {
		return Inquiry{}, err
	}
	in, err := s.open(r)
	if err != nil {
		return Inquiry{}, err
	}
	now := s.deps.Now()
	in.Answer = a.Text
	settling := Settling{
		ID: r.ID, State: Answered, Deliver: true, MaxPairs: knowledge.MaxPairs,
		Event: Event{At: now, By: a.By, What: didAnswer},
	}
	if settling.Sealed, err = s.seal(r.Collection, r.ID, in); err != nil {
		return Inquiry{}, err
	}
	if a.Keep {
		settling.Event.What = didKeep
		question := in.Text
		if a.Question != "" {
			question = a.Question
		}
		pair, err := s.deps.Knowledge.SealPair(r.Collection,
			knowledge.Pair{ID: r.ID, Question: question, Answer: a.Text, Language: in.Language, Answered: now})
		if err != nil {
			return Inquiry{}, err
		}
		settling.Pair = &pair
	}
	if err := s.settle(ctx, settling); err != nil {
		return Inquiry{}, err
	}
	r.State, r.Settled, r.Kept = Answered, now, a.Keep
	r.Events = append(r.Events, settling.Event)
	return show(r, in), nil
}

// Dismiss ends an inquiry without an answer. The asker sees that it was dismissed.
func (s *Service) Dismiss(ctx context.Context, scope Scope, id, by string) (Inquiry, error) {
	r, err := s.deps.Store.Inquiry(ctx, scope, id)
	if err != nil {
		return Inquiry{}, err
	}
	in, err := s.open(r)
	if err != nil {
		return Inquiry{}, err
	}
	e := Event{At: s.deps.Now(), By: by, What: didDismiss}
	settling := Settling{ID: r.ID, State: Dismissed, Sealed: r.Sealed, Event: e}
	if err := s.settle(ctx, settling); err != nil {
		return Inquiry{}, err
	}
	r.State, r.Settled = Dismissed, settling.Event.At
	r.Events = append(r.Events, settling.Event)
	return show(r, in), nil
}

func (s *Service) settle(ctx context.Context, settling Settling) error {
	if err := s.deps.Store.SettleInquiry(ctx, settling); err != nil {
		return err
	}
	s.deps.Logger.InfoContext(ctx, "inquiry settled", slog.String("event", "inquiry.settled"),
		slog.String("inquiry", settling.ID), slog.String("what", settling.Event.What), slog.String("by", settling.Event.By))
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// Remove forgets an inquiry and takes back the pair that it became.
func (s *Service) Remove(ctx context.Context, scope Scope, id, by string) error {
	r, err := s.deps.Store.Inquiry(ctx, scope, id)
	if err != nil {
		return err
	}
	e := Event{At: s.deps.Now(), By: by, What: didRemove}
	if err := s.deps.Store.RemoveInquiry(ctx, r.ID, e); err != nil {
		return err
	}
	s.deps.Logger.InfoContext(ctx, "inquiry settled", slog.String("event", "inquiry.settled"), slog.String("inquiry", r.ID),
		slog.String("what", e.What), slog.String("by", by))
	return nil
}

// RunReplies brings answers to those who asked, until ctx ends. Any number of nodes
// may run it.
func (s *Service) RunReplies(ctx context.Context) error {
	return s.deps.Store.WorkReplies(ctx, s.wake, s.deliver)
}

func (s *Service) deliver(ctx context.Context, id string) error {
	r, err := s.deps.Store.Inquiry(ctx, Scope{All: true}, id)
	if fault.Is(err, fault.NotFound) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return err
	}
	in, err := s.open(r)
	if err != nil {
		return err
	}
	bring, ok := s.channels[in.Asker.Channel]
	if !ok {
		return fault.Newf(fault.Unavailable, "no way to the channel %q on this node", in.Asker.Channel)
	}
	err = bring(ctx, Reply{ID: r.ID, Asker: in.Asker, Question: in.Text, Answer: in.Answer, Language: in.Language})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Gone) {
		s.deps.Logger.InfoContext(ctx, "the asker of an inquiry is gone", slog.String("event", "inquiry.asker_gone"), slog.String("inquiry", r.ID))
		return nil
	}
	return err
}
