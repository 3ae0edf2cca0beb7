package call

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/call/calllisten"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltext"
)

// heard takes sound from the page.
func (t *talk) heard(pcm []int16) {
	t.mu.Lock()
	muted := t.muted
	t.mu.Unlock()
	if muted {
		return
	}
	t.l.recorder.heard(pcm)
	found, understood := t.detect(pcm)
	switch {
	case found.Insists:
		t.interrupt()
	case found.Noticed:
		t.holdVoice()
	}
	if found.Nothing {
		t.releaseVoice()
		t.nothingFollows()
	}
	if len(found.Utterance) == 0 {
		return
	}
	defer t.l.s.utterances.Add(1)
	if t.l.s.hearing() == nil {
		t.releaseVoice()
		t.explain(found.Utterance)
		return
	}
	s := said{sound: found.Utterance, early: understood}
	if t.beginWeighing() {
		t.done.Go(func() { t.consider(s) })
		return
	}
	t.releaseVoice()
	t.offer(s)
}

// asideTime is how long the voice is held for somebody whom nobody understands yet.
const asideTime = 3 * time.Second

// holdVoice stops the voice for somebody who may be interrupting it.
func (t *talk) holdVoice() {
	held := t.speaker.Hold()
	t.mu.Lock()
	t.held = held
	t.mu.Unlock()
}

// releaseVoice says the rest of what was held.
func (t *talk) releaseVoice() {
	if t.voiceHeld() {
		t.mu.Lock()
		t.held = false
		t.mu.Unlock()
		t.speaker.GoOn()
	}
}

func (t *talk) voiceHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// beginWeighing reports whether what is held is an answer, and no greeting, and
// nothing is being considered yet: what is said beside that waits its turn.
func (t *talk) beginWeighing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held || t.turn == nil || t.weighing {
		return false
	}
	t.weighing = true
	return true
}

func (t *talk) endWeighing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.weighing = false
}

// consider decides what somebody meant who spoke for a moment while the voice did:
// after a cough or an "mhm" it goes on where it was; anything else interrupts it.
func (t *talk) consider(s said) {
	defer t.endWeighing()
	ctx, cancel := context.WithTimeout(t.ctx, asideTime)
	defer cancel()
	text, ok := s.early.understood(ctx)
	if !ok {
		s.early = newEarly(cancel)
		s.early.text, s.early.err = t.transcribe(ctx, s.sound)
		close(s.early.done)
		text, ok = s.early.text, s.early.err == nil
	}
	if ok && calltext.Aside(text) {
		t.releaseVoice()
		return
	}
	if ok {
		t.interrupt()
	} else { // answered after the answer
		t.releaseVoice()
	}
	t.offer(s)
}

// detect looks for speech. What was said before a pause is understood while the
// pause lasts; at the end of an utterance that is handed on with it.
func (t *talk) detect(pcm []int16) (callsound.Detection, *early) {
	t.hear.Lock()
	defer t.hear.Unlock()
	found := t.detector.Feed(pcm)
	hearing := t.l.s.hearing()
	if found.Begins {
		t.live.Begin(t.ctx, hearing, t.l.rec.Language)
	}
	t.live.Hear(found.Speech)
	if found.GoesOn || found.Nothing {
		t.forgetEarly()
	}
	if found.Pause != nil && hearing != nil && t.asking.Take(time.Now()) {
		t.understandEarly(found.Pause, t.live.Pause())
	}
	if found.Nothing || found.Utterance != nil {
		t.live.End()
	}
	if found.Utterance == nil {
		return found, nil
	}
	understood := t.early
	t.early = nil
	return found, understood
}

// explain says once that nothing here understands speech.
func (t *talk) explain(utterance []int16) {
	t.mu.Lock()
	again := t.explained
	t.explained = true
	t.mu.Unlock()
	if again {
		return
	}
	seconds := float64(len(utterance)) / callsound.HeardRate
	t.caption("deaf", fmt.Sprintf("I hear you (%.1f seconds), but no speech-to-text service is configured here. Please type.", seconds), true)
}

// offer queues what was said; a caller who is far ahead is told.
func (t *talk) offer(s said) {
	select {
	case t.queue <- s:
	default:
		t.trouble("busy", "Too much waits to be answered.")
	}
}

// work answers what was said, one after the other.
func (t *talk) work() {
	carry := ""
	for {
		select {
		case <-t.ctx.Done():
			return
		case s := <-t.queue:
			text := s.text
			if s.sound != nil {
				t.enter(thinking)
				text = t.understand(s)
			}
			if carry != "" && text != "" {
				text = carry + " " + text
			} else {
				text = carry + text
			}
			carry = ""
			if text != "" && s.sound != nil && t.goesOn() { // a pause in the middle of a sentence
				carry = text
				continue
			}
			if text != "" {
				t.answer(text)
			}
			t.enter(listening)
		}
	}
}

// goesOn reports whether the caller speaks again already: what was said then
// waits for the rest of the sentence.
func (t *talk) goesOn() bool {
	t.hear.Lock()
	defer t.hear.Unlock()
	t.awaited = t.detector.Speaking() || len(t.queue) > 0
	return t.awaited
}

// nothingFollows answers what waits for the rest of a sentence, when that was a
// cough.
func (t *talk) nothingFollows() {
	t.hear.Lock()
	awaited := t.awaited
	t.awaited = false
	t.hear.Unlock()
	if awaited {
		t.offer(said{})
	}
}

// understand returns what was said, empty when nobody knows.
func (t *talk) understand(s said) string {
	ctx, cancel := context.WithTimeout(t.ctx, transcribeTime)
	defer cancel()
	if text, ok := s.early.understood(ctx); ok {
		return text
	}
	text, err := t.transcribe(ctx, s.sound)
	if err != nil && t.ctx.Err() == nil {
		t.log.Warn("speech was not understood", slog.String("event", "call.speech_failed"), slog.Any("error", err))
		t.trouble("hearing_failed", "I could not hear that: "+publicText(err))
	}
	return text
}

// transcribe asks the speech service.
func (t *talk) transcribe(ctx context.Context, sound []int16) (string, error) {
	hearing := t.l.s.hearing()
	if hearing == nil { // it was there when this was said
		return "", errDeaf
	}
	text, err := hearing.Transcribe(ctx,
		Speech{WAV: callsound.WAV(sound, callsound.HeardRate), Language: t.l.rec.Language})
	return bounded(text), err
}

// bounded is as much of a text as a message may have.
func bounded(text string) string {
	if r := []rune(text); len(r) > callsignal.MaxText {
		return string(r[:callsignal.MaxText])
	}
	return text
}

// early is what was said before a pause, being understood while the pause lasts:
// when it turns out to be the end, the answer is there already.
type early struct {
	done   chan struct{}
	cancel context.CancelFunc
	text   string
	err    error
}

func newEarly(cancel context.CancelFunc) *early {
	return &early{done: make(chan struct{}), cancel: cancel}
}

// understandEarly begins to understand what was said before a pause. What a service
// has heard while it was spoken is its text; nil and otherwise the sound is sent. The
// caller holds t.hear.
func (t *talk) understandEarly(sound []int16, listened calllisten.Text) {
	ctx, cancel := context.WithTimeout(t.ctx, transcribeTime)
	e := newEarly(cancel)
	t.early = e
	t.done.Go(func() {
		defer cancel()
		defer close(e.done)
		e.err = errDeaf
		if listened != nil {
			e.text, e.err = listened(ctx)
		}
		if e.err != nil {
			e.text, e.err = t.transcribe(ctx, sound)
		}
		if e.text = bounded(e.text); e.err != nil || e.text == "" {
			return
		}
		t.hear.Lock()
		defer t.hear.Unlock()
		if silence := calltext.SilenceAfter(e.text); t.early == e && silence > 0 {
			t.detector.EndAfter(silence)
		}
	})
}

// forgetEarly drops what was understood of an utterance that goes on. The caller
// holds t.hear.
func (t *talk) forgetEarly() {
	if t.early != nil {
		t.early.cancel()
		t.early = nil
	}
}

// understood waits for what was understood early; false when that came to nothing.
func (e *early) understood(ctx context.Context) (string, bool) {
	if e == nil {
		return "", false
	}
	select {
	case <-e.done:
		return e.text, e.err == nil
	case <-ctx.Done():
		return "", false
	}
}
