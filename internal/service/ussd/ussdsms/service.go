package ussdsms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// Store keeps messages. A method that changes something returns nil only when the
// change is durable.
type Store interface {
	// Receive stores an incoming message and promises to ask, unless the same came
	// before. It reports whether it was new.
	Receive(ctx context.Context, in Incoming) (bool, error)
	// SendDue hands out messages that wait until ctx ends, and keeps what came of them.
	SendDue(ctx context.Context, send func(ctx context.Context, m Message) (Sent, error)) error
	// AskDue hands out incoming messages, and stores each reply as a message.
	AskDue(ctx context.Context, ask func(ctx context.Context, in Incoming) (reply string, err error)) error
	// Report notes what became of a message that was sent, and returns its kind; "" where there
	// is none of that reference, or nothing new is said of it.
	Report(ctx context.Context, r Report) (Kind, error)
	// Totals adds up the messages since a time.
	Totals(ctx context.Context, since time.Time) ([]Total, error)
}

// Observer is told what happens, for metrics. It must not block.
type Observer interface {
	// Sent is one try at a message of a kind: sent, refused or failed.
	Sent(kind Kind, result string, parts int, cost Cost, took time.Duration)
	Received()
	// Reported is one message of which the gateway said what became of it.
	Reported(kind Kind, state State)
}

// Deps is what a Service needs.
type Deps struct {
	Store   Store
	Gateway Gateway
	Words   Words
	// Language is what a number speaks, else what the person behind it does, or "".
	Language func(ctx context.Context, phone string) (string, error)
	Observer Observer
	Log      *slog.Logger
	Now      func() time.Time
}

// Service sends and receives.
type Service struct{ Deps }

// New makes a Service.
func New(d Deps) *Service { return &Service{d} }

// maxQuestion bounds what a message asks, in characters: about ten parts.
const maxQuestion = 1500

// Receive takes a message of a telephone. It is stored when this returns nil, and the
// same message again changes nothing.
func (s *Service) Receive(ctx context.Context, gateway, id, phone, text string) error {
	phone = ussdnumber.E164(phone)
	switch {
	case !plausibleID(id):
		return fault.New(fault.Invalid, "the message has no identifier of 1 to 100 letters and digits")
	case !ussdnumber.ValidPhone(phone):
		return fault.New(fault.Invalid, "the sender has no E.164 number")
	}
	text = ussdtext.Bounded(text, maxQuestion)
	if text == "" {
		return nil // a picture, or nothing: there is nothing to ask
	}
	fresh, err := s.Store.Receive(ctx, Incoming{ID: gateway + ":" + id, Phone: phone, Text: text, At: s.Now()})
	if err != nil {
		return fmt.Errorf("store message: %w", err)
	}
	if fresh {
		s.Observer.Received()
	}
	return nil
}

// Report notes what the gateway says of a message that it took. Of others, and of what is said
// twice, nothing is kept.
func (s *Service) Report(ctx context.Context, r Report) error {
	if !plausibleID(r.Reference) {
		return fault.New(fault.Invalid, "the report has no identifier of 1 to 100 letters and digits")
	}
	if !plausibleID(r.Why) || len(r.Why) > maxWhy {
		r.Why = ""
	}
	kind, err := s.Store.Report(ctx, r)
	if err != nil {
		return fmt.Errorf("store report: %w", err)
	}
	if kind != "" {
		s.Observer.Reported(kind, r.State)
	}
	return nil
}

// maxWhy bounds what a gateway says of a message that did not arrive.
const maxWhy = 40

// plausibleID bounds what reaches the database.
func plausibleID(id string) bool {
	return id != "" && len(id) <= 100 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' && r != '.'
	})
}

// Send sends what waits until ctx ends. Any number of nodes may do so.
func (s *Service) Send(ctx context.Context) error { return s.Store.SendDue(ctx, s.send) }

func (s *Service) send(ctx context.Context, m Message) (Sent, error) {
	began := time.Now()
	sent, err := s.Gateway.Send(ctx, m)
	took := time.Since(began)
	refused, final := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		s.Observer.Sent(m.Kind, "sent", max(sent.Parts, Parts(m.Text)), sent.Cost, took)
	case ctx.Err() != nil: // the program stops: it says nothing about the gateway
		return Sent{}, ctx.Err()
	case final:
		s.Observer.Sent(m.Kind, "refused", 0, Cost{}, took)
		s.Log.WarnContext(ctx, "a text message was refused", slog.String("event", "sms.send_refused"),
			slog.String("kind", string(m.Kind)), slog.String("reason", refused.Reason))
	default:
		s.Observer.Sent(m.Kind, "failed", 0, Cost{}, took)
		s.Log.WarnContext(ctx, "a text message was not sent", slog.String("event", "sms.send_failed"), slog.String("kind", string(m.Kind)), slog.Any("error", err))
	}
	return sent, err
}

// questionID names the question of a message, as those of hops are named.
func questionID(message string) string {
	sum := sha256.Sum256([]byte("sms\x00" + message))
	return hex.EncodeToString(sum[:16])
}

// askTime is how long the oracle may take for one message.
const askTime = 2 * time.Minute

// Ask asks what came in until ctx ends, on a node that has an oracle.
func (s *Service) Ask(ctx context.Context, oracle ussdquestion.Oracle) error {
	asker := ussdquestion.NewAsker(oracle, nil, s.Log, s.Now)
	return s.Store.AskDue(ctx, func(ctx context.Context, in Incoming) (string, error) {
		language, err := s.Language(ctx, in.Phone)
		if err != nil {
			return "", fmt.Errorf("look for the language: %w", err)
		}
		wait, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		answer, err := asker.Ask(wait, ussdquestion.Question{
			ID: questionID(in.ID), Phone: in.Phone, Language: cmp.Or(language, s.Words.in("").Code),
			Text: in.Text, Created: in.At,
		})
		enough, limited := errors.AsType[*ussdquestion.EnoughError](err)
		_, undecided := errors.AsType[*ussdquestion.ApprovalError](err)
		switch {
		case err == nil:
			return Fit(answer), nil
		case limited:
			return enough.Text(s.Words.in(language).Code), nil
		case undecided:
			return s.Words.needsLogin(language), nil
		case ctx.Err() == nil && in.Last:
			s.Log.WarnContext(ctx, "oracle did not answer a text message", slog.String("event", "sms.oracle_failed"), slog.Any("error", err))
			return s.Words.unanswered(language), nil
		}
		return "", err
	})
}
