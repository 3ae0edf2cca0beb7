package calllisten_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/service/oracle/call/calllisten"
)

// service understands each sample as its number.
type service struct {
	away, deaf bool // nobody can be reached, what listens breaks off
	open       int
	begun      int
}

func (s *service) Listen(context.Context, string) calllisten.Listening {
	if s.away {
		return nil
	}
	s.open++
	s.begun++
	return &listening{service: s}
}

type listening struct {
	service *service
	heard   []string
	closed  bool
}

func (l *listening) Hear(pcm []int16) error {
	if l.service.deaf {
		return errors.New("the line is gone")
	}
	for _, sample := range pcm {
		l.heard = append(l.heard, strconv.Itoa(int(sample)))
	}
	return nil
}

func (l *listening) Understand() calllisten.Text {
	text := " " + strings.Join(l.heard, " ") + " "
	l.heard = nil
	return func(context.Context) (string, error) { return text, nil }
}

func (l *listening) Forget() { l.heard = nil }

func (l *listening) Close() {
	if !l.closed {
		l.closed = true
		l.service.open--
	}
}

func TestATextIsThatOfTheWholeUtterance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		services := []*service{{}, {}}
		var (
			live    calllisten.Live
			said    []string // in this utterance
			whole   bool     // the service can have heard all of it
			current = services[0]
			next    int16
		)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"begin", "hear", "hear", "pause", "end", "replace", "break", "mend", "close"}).Draw(t, "step") {
			case "begin":
				live.End()
				live.Begin(t.Context(), current, "en")
				said, whole = nil, true
			case "hear":
				next++
				live.Hear([]int16{next})
				said = append(said, strconv.Itoa(int(next)))
				whole = whole && !current.deaf
			case "pause":
				text := live.Pause()
				if text == nil {
					if whole && !current.away && !current.deaf && current.begun > 0 && current.open > 0 {
						t.Fatalf("%q is not understood, though it was heard", said)
					}
					continue
				}
				got, err := text(t.Context())
				if want := strings.Join(said, " "); err != nil || got != want {
					t.Fatalf("understood %q, %v; said was %q", got, err, want)
				}
			case "end":
				live.End()
				said, whole = nil, false
			case "replace":
				live.End()
				said, whole = nil, false
				current = services[rapid.IntRange(0, 1).Draw(t, "service")]
			case "break":
				current.deaf = rapid.Bool().Draw(t, "deaf")
				current.away = rapid.Bool().Draw(t, "away")
			case "mend":
				current.deaf, current.away = false, false
			case "close":
				live.Close()
				said, whole = nil, false
			}
			if open := services[0].open + services[1].open; open > 1 {
				t.Fatalf("%d services listen to one call", open)
			}
		}
		live.Close()
		if open := services[0].open + services[1].open; open != 0 {
			t.Fatalf("%d services still listen", open)
		}
	})
}

func TestWhoCannotListenCostsNothing(t *testing.T) {
	t.Parallel()
	var live calllisten.Live
	live.Begin(t.Context(), "of another kind", "en")
	live.Hear([]int16{1})
	if live.Pause() != nil {
		t.Error("something that cannot listen has understood")
	}
	away := &service{away: true}
	live.Begin(t.Context(), away, "en")
	live.Hear([]int16{1})
	if live.Pause() != nil {
		t.Error("a service that nobody can reach has understood")
	}
	away.away = false
	live.Hear([]int16{2})
	if live.Pause() != nil {
		t.Error("a text lacks the beginning")
	}
	live.End()
	live.Begin(t.Context(), away, "en")
	live.Hear([]int16{3})
	if text := live.Pause(); text == nil {
		t.Error("the next utterance is not understood")
	}
}

func TestATextFailsWhole(t *testing.T) {
	t.Parallel()
	broken := errors.New("no")
	var live calllisten.Live
	live.Begin(t.Context(), failing{err: broken}, "en")
	live.Hear([]int16{1})
	if _, err := live.Pause()(t.Context()); !errors.Is(err, broken) {
		t.Errorf("a part that failed is left out: %v", err)
	}
}

type failing struct {
	listening

	err error
}

func (f failing) Listen(context.Context, string) calllisten.Listening {
	f.service = &service{}
	return &f
}

func (f *failing) Understand() calllisten.Text {
	return func(context.Context) (string, error) { return "", f.err }
}
