package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// SpeechServices are what understands and speaks at the moment. Either is nil where
// there is none; operators change them while calls go on.
type SpeechServices interface {
	Hearing() SpeechToText
	Voice() TextToSpeech
}

func (s *Service) hearing() SpeechToText {
	if s.deps.Speech == nil {
		return nil
	}
	return s.deps.Speech.Hearing()
}

func (s *Service) voice() TextToSpeech {
	if s.deps.Speech == nil {
		return nil
	}
	return s.deps.Speech.Voice()
}

var errDeaf = fault.New(fault.Unavailable, "Nothing here understands speech.")

// ErrBrokeOff is that of a sound that ends before its text, where the next text can
// be spoken all the same: another service is there.
var ErrBrokeOff = errors.New("the voice broke off, and another one goes on")

// Working tells callers whether a half of speech is of use before they call.
type Working string

// How a half of speech is.
const (
	Works     Working = "works"
	Away      Working = "away" // no service answers
	NoService Working = "none"
)

// SpeechToText understands speech.
type SpeechToText interface {
	// Transcribe returns what was said; empty when nothing was.
	Transcribe(ctx context.Context, s Speech) (string, error)
}

// Speech is one utterance as a WAVE file.
type Speech struct {
	WAV      []byte
	Language string // a BCP 47 tag, or empty
}

// TextToSpeech speaks.
type TextToSpeech interface {
	// Speak returns the sound of a text as it comes. The caller closes it.
	Speak(ctx context.Context, t Text) (Sound, error)
}

// Text is something to be spoken.
type Text struct {
	Text     string
	Voice    string // empty means the provider's own choice
	Language string
}

// Sound is a stream of mono samples.
type Sound interface {
	Rate() int
	// Read fills dst, at least partly, or fails; io.EOF is the end.
	Read(dst []int16) (int, error)
	io.Closer
}

// Tone is the built-in voice, which needs no account: a tone as long as the
// words would be. What it would say is in the captions.
type Tone struct{}

// The built-in voice.
const (
	toneHertz   = 440
	toneLevel   = 0.3
	tonePerRune = 45 * time.Millisecond
	toneLeast   = 400 * time.Millisecond
	toneMost    = 4 * time.Second
)

// Speak implements TextToSpeech.
func (Tone) Speak(_ context.Context, t Text) (Sound, error) {
	length := min(toneMost, max(toneLeast, time.Duration(utf8.RuneCountInString(t.Text))*tonePerRune))
	return &samplesOf{pcm: callsound.Tone(callsound.SpokenRate, toneHertz, toneLevel, length)}, nil
}

type samplesOf struct{ pcm []int16 }

func (s *samplesOf) Rate() int { return callsound.SpokenRate }

func (s *samplesOf) Read(dst []int16) (int, error) {
	if len(s.pcm) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, s.pcm)
	s.pcm = s.pcm[n:]
	return n, nil
}

func (s *samplesOf) Close() error { return nil }

// Oracle is whom the page talks to: the same turns as a typed message starts.
type Oracle interface {
	// Ask sends a message into the session.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Sees reports whether pictures are of use to it.
	Sees() bool
}

// Question is what a caller said.
type Question struct {
	Owner     string
	SessionID string
	CallID    string
	Text      string
	// Brought is the caller's own delegation, with which tools act for them.
	Brought identity.Brought
	// Sponsor is who answers for the caller.
	Sponsor string
	// Picture is what the caller's camera showed, as JPEG; nil without one. It is
	// looked at and forgotten.
	Picture []byte
}

// Answer is a reply as it comes.
type Answer interface {
	// RunID names the turn.
	RunID() string
	// Next returns more text, or io.EOF at the end of the turn.
	Next(ctx context.Context) (string, error)
	// Cut stops the turn, if it still goes on, and leaves of its answer what was
	// heard: a beginning of what Next returned.
	Cut(ctx context.Context, heard string) error
	Close()
}

// publicText is what a caller may read about a failure.
func publicText(err error) string {
	f := fault.From(err)
	if f == nil || f.Kind == fault.Internal {
		return "Something went wrong here."
	}
	return f.Message
}

// speechError says which half of speech failed, for the log.
func speechError(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
