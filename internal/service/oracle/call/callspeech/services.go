package callspeech

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calllisten"
)

// restFor is how long a service that failed is asked after the others.
const restFor = 30 * time.Second

// Services are several services of one half of speech, in the order in which they
// are asked. One that fails costs its own time at most (Config.First), once in a
// while, and the next one is asked; nothing that was heard is said again. A service
// that does not know the language of a call is asked only where none does.
type Services struct {
	all []*member
	log *slog.Logger
	now func() time.Time
}

type member struct {
	*Service
	// rests is until when it is asked after others, in milliseconds.
	rests atomic.Int64
	// whole is until when it is asked about whole utterances only.
	whole atomic.Int64
}

var (
	_ call.SpeechToText = (*Services)(nil)
	_ call.TextToSpeech = (*Services)(nil)

	_ calllisten.Service = (*Services)(nil)
)

// NewServices makes Services of at least one.
func NewServices(all []*Service, log *slog.Logger, now func() time.Time) *Services {
	s := &Services{log: log, now: now}
	for _, one := range all {
		s.all = append(s.all, &member{Service: one})
	}
	return s
}

// All lists the services in their order.
func (s *Services) All() []*Service {
	out := make([]*Service, len(s.all))
	for i, m := range s.all {
		out[i] = m.Service
	}
	return out
}

// order is who is asked: those that know the language, and of those the ones that
// rest last.
func (s *Services) order(language string) []*member {
	var awake, resting []*member
	now := s.now().UnixMilli()
	for _, m := range s.all {
		switch {
		case !m.knows(language):
		case m.rests.Load() > now:
			resting = append(resting, m)
		default:
			awake = append(awake, m)
		}
	}
	if all := slices.Concat(awake, resting); len(all) > 0 {
		return all
	}
	return s.all
}

// failed has a service rest, and says who is asked instead.
func (s *Services) failed(m, next *member, err error) {
	m.rests.Store(s.now().Add(restFor).UnixMilli())
	s.log.Warn("a speech service does not help; another one is asked", slog.String("event", "speech.fallback"),
		slog.String("service", m.Name()), slog.String("instead", next.Name()), slog.Any("error", err))
}

// Transcribe implements call.SpeechToText.
func (s *Services) Transcribe(ctx context.Context, speech call.Speech) (string, error) {
	order := s.order(speech.Language)
	for i, m := range order[:len(order)-1] {
		limited, cancel := context.WithTimeoutCause(ctx, m.cfg.First, errSilent)
		text, _, err := m.transcribeOnce(limited, speech)
		cancel()
		if err == nil || ctx.Err() != nil {
			return text, err
		}
		s.failed(m, order[i+1], err)
	}
	return order[len(order)-1].Transcribe(ctx, speech)
}

// Listen implements calllisten.Service: the service that would be asked listens, if it
// can. One that fails is asked about whole utterances for a while.
func (s *Services) Listen(ctx context.Context, language string) calllisten.Listening {
	m := s.order(language)[0]
	if !m.cfg.Stream || m.whole.Load() > s.now().UnixMilli() {
		return nil
	}
	return m.listen(ctx, language, func(err error) {
		m.whole.Store(s.now().Add(restFor).UnixMilli())
		s.log.Warn("a speech service does not take speech while it is spoken; it is asked at the end",
			slog.String("event", "speech.stream_failed"), slog.String("service", m.Name()), slog.Any("error", err))
	})
}

// Speak implements call.TextToSpeech. The voice that a caller chose is one of the
// first service: the others have their own.
func (s *Services) Speak(ctx context.Context, t call.Text) (call.Sound, error) {
	order := s.order(t.Language)
	for i, m := range order {
		asked := t
		if m != s.all[0] {
			asked.Voice = ""
		}
		sound, err := m.Speak(ctx, asked)
		last := i == len(order)-1
		switch {
		case err == nil && len(s.all) == 1:
			return sound, nil
		case err == nil:
			return &watched{Sound: sound, of: s, by: m, language: t.Language, ctx: ctx}, nil
		case last || ctx.Err() != nil:
			return nil, err
		}
		s.failed(m, order[i+1], err)
	}
	return nil, errors.New("there is no speech service")
}

// watched is a sound of one service among others.
type watched struct {
	call.Sound
	of       *Services
	by       *member
	language string
	ctx      context.Context //nolint:containedctx // lives as long as the sound
}

// Read implements call.Sound. A sound that breaks off is not begun again, since some
// of it was heard: another service speaks what comes next.
func (w *watched) Read(dst []int16) (int, error) {
	n, err := w.Sound.Read(dst)
	if err == nil || errors.Is(err, io.EOF) || w.ctx.Err() != nil {
		return n, err
	}
	for _, next := range w.of.order(w.language) {
		if next != w.by {
			w.of.failed(w.by, next, err)
			return n, fmt.Errorf("%w: %w", call.ErrBrokeOff, err)
		}
	}
	return n, err
}
