// Package calllisten follows speech that is sent to be understood while it is spoken.
//
// It promises that a service is handed each utterance from its beginning, or none of
// it: a text is that of all that was said so far. Whoever cannot be reached, fails, or is
// replaced costs nothing: there is no text then, and the sound is asked about as a whole.
package calllisten

import (
	"context"
	"slices"
	"strings"
)

// Service may take speech while it is spoken.
type Service interface {
	// Listen begins to listen to a call; nil where no service can at the moment.
	Listen(ctx context.Context, language string) Listening
}

// Listening is a call's way to a service. Whoever has it closes it.
type Listening interface {
	// Hear sends sound at callsound.HeardRate, without waiting. After an error
	// nothing of it is understood any more.
	Hear(pcm []int16) error
	// Understand has what was heard since it was asked last understood.
	Understand() Text
	// Forget drops what was heard since then.
	Forget()
	Close()
}

// Text waits until something is understood. It may be asked more than once.
type Text func(ctx context.Context) (string, error)

// Live follows the utterances of one call. The zero value is ready; it is not safe for
// concurrent use, but the texts are.
type Live struct {
	service any
	with    Listening // nil while nobody listens
	whole   bool      // it was handed the utterance from its beginning
	parts   []Text
}

// Begin begins an utterance with whoever understands at the moment.
func (l *Live) Begin(ctx context.Context, hearing any, language string) {
	if l.with != nil && l.service != hearing {
		l.Close()
	}
	if able, ok := hearing.(Service); ok && l.with == nil {
		l.service, l.with = hearing, able.Listen(ctx, language)
	}
	l.whole = l.with != nil
}

// Hear takes what is said.
func (l *Live) Hear(pcm []int16) {
	if l.whole && l.with.Hear(pcm) != nil {
		l.Close()
	}
}

// Pause has what was said so far understood; nil where nobody listens.
func (l *Live) Pause() Text {
	if !l.whole {
		return nil
	}
	l.parts = append(l.parts, l.with.Understand())
	parts := slices.Clone(l.parts)
	return func(ctx context.Context) (string, error) {
		var all []string
		for _, part := range parts {
			text, err := part(ctx)
			if err != nil {
				return "", err
			}
			if text = strings.TrimSpace(text); text != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, " "), nil
	}
}

// End ends the utterance: what was not asked about is nothing.
func (l *Live) End() {
	if l.whole {
		l.with.Forget()
	}
	l.whole, l.parts = false, nil
}

// Close ends listening. Another utterance may begin it again.
func (l *Live) Close() {
	if l.with != nil {
		l.with.Close()
	}
	*l = Live{}
}
