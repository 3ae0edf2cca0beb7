package call

import (
	"context"
	"fmt"
	"log/slog"
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
	t.hear.Lock()
	found := t.detector.Feed(pcm)
	t.hear.Unlock()
	if found.Insists {
		t.interrupt()
	}
	if found.Nothing {
		t.nothingFollows()
	}
	if len(found.Utterance) == 0 {
		return
	}
	defer t.l.s.utterances.Add(1)
	if t.l.s.deps.Hearing == nil {
		t.explain(found.Utterance)
		return
	}
	t.offer(said{sound: found.Utterance})
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
	seconds := float64(len(utterance)) / HeardRate
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
				text = t.transcribe(s.sound)
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

// transcribe returns what was said, empty when nobody knows.
func (t *talk) transcribe(sound []int16) string {
	ctx, cancel := context.WithTimeout(t.ctx, transcribeTime)
	defer cancel()
	text, err := t.l.s.deps.Hearing.Transcribe(ctx, Speech{WAV: wav(sound, HeardRate), Language: t.l.rec.Language})
	if err != nil {
		if t.ctx.Err() == nil {
			t.log.Warn("speech was not understood", slog.Any("error", err))
			t.trouble("hearing_failed", "I could not hear that: "+publicText(err))
		}
		return ""
	}
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText])
	}
	return text
}
