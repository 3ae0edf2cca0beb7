package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calllisten"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltext"
)

// Bounds of a conversation.
const (
	maxWaiting      = 4
	remarksBurst    = 20
	remarksInterval = time.Second
	transcribeTime  = 30 * time.Second
	speakTime       = 60 * time.Second
	lookTime        = 1500 * time.Millisecond
)

// The states that a page shows.
const (
	listening = "listening"
	thinking  = "thinking"
	speaking  = "speaking"
)

var errInterrupted = errors.New("the caller interrupts")

// said is something that the caller wants to be answered: an utterance, or text.
// Without either, nothing more comes.
type said struct {
	sound []int16
	early *early // of the sound, when it was looked at before it ended
	text  string
}

// talk is the conversation of one call: it hears, asks the oracle, and speaks.
type talk struct {
	l       *live
	log     *slog.Logger
	ctx     context.Context //nolint:containedctx // the life of the conversation
	cancel  context.CancelFunc
	done    sync.WaitGroup
	queue   chan said
	speaker *callsound.Speaker

	hear     sync.Mutex // guards the detector and what is awaited of it
	detector *callsound.Detector
	awaited  bool // a sentence waits for its rest
	early    *early
	live     calllisten.Live // hears what is said while it is said
	asking   callsound.Allowance

	mu        sync.Mutex
	peer      Peer
	state     string
	muted     bool
	held      bool                    // the voice, for somebody who may be interrupting it
	weighing  bool                    // whether somebody interrupts
	turn      context.CancelCauseFunc // of what can be interrupted
	greeted   bool
	explained bool // that nothing here understands speech
	window    time.Time
	remarks   int
}

// newTalk begins a conversation; stop ends it.
func newTalk(l *live) *talk {
	ctx, cancel := context.WithCancel(l.s.base)
	t := &talk{
		l: l, log: l.log, ctx: ctx, cancel: cancel, queue: make(chan said, maxWaiting),
		detector: callsound.NewDetector(l.s.cfg.Detector), state: listening,
	}
	t.speaker = callsound.NewSpeaker(t.say)
	t.done.Go(func() { t.speaker.Run(ctx) })
	t.done.Go(t.work)
	return t
}

// stop ends the conversation and waits for it.
func (t *talk) stop() {
	t.cancel()
	t.hear.Lock()
	t.live.Close()
	t.hear.Unlock()
	t.done.Wait()
}

// say hands sound to the page.
func (t *talk) say(pcm []int16, first bool) {
	t.mu.Lock()
	peer := t.peer
	t.mu.Unlock()
	t.l.recorder.said(pcm)
	if err := peer.Say(pcm, first); err != nil {
		t.log.Debug("sound was not sent", slog.Any("error", err))
	}
}

// SpeechState tells which halves of speech a deployment has.
type SpeechState = callsignal.SpeechState

// attach goes on with a peer whose data channel is open.
func (t *talk) attach(peer Peer) {
	t.mu.Lock()
	t.peer = peer
	t.muted = false // another page begins with an open microphone, or says so
	greet := !t.greeted
	t.greeted = true
	state := t.state
	t.mu.Unlock()
	t.send(callsignal.HelloFrame{
		Type: "hello", CallID: t.l.rec.ID, Speech: SpeechState{STT: t.l.s.hearing() != nil, TTS: t.l.s.voice() != nil},
	})
	t.send(callsignal.StateFrame{Type: "state", State: state})
	if r := t.l.recorder; r.on() {
		t.send(callsignal.RecordingFrame{Type: "recording", State: string(RecordingOn), Path: r.place.Path})
	}
	if greet {
		t.greet()
		t.warn()
	}
}

// warn says that the call is recorded, aloud where there is a voice: nobody is
// recorded without knowing.
func (t *talk) warn() {
	if !t.l.recorder.on() {
		return
	}
	const text = "This call is being recorded into your files."
	t.caption("recording", text, true)
	if t.l.s.voice() != nil {
		t.done.Go(func() {
			if err := t.speak(t.ctx, text, nil); err != nil && t.ctx.Err() == nil {
				t.log.Warn("the notice of a recording was not spoken", slog.String("event", "recording.notice_failed"), slog.Any("error", err))
			}
		})
	}
}

// notRecorded tells the page that the recording has ended before the call.
func (t *talk) notRecorded(why string) {
	t.send(callsignal.RecordingFrame{Type: "recording", State: string(RecordingFailed), Message: why})
	t.caption("unrecorded", "This call is no longer recorded: "+why, true)
}

// greetingTone is the same for everybody, and 36,000 sines are a good part of what it
// costs to set a call up.
var greetingTone = sync.OnceValue(func() []int16 {
	return callsound.Tone(callsound.SpokenRate, toneHertz, toneLevel, 1500*time.Millisecond)
})

// greet says what this deployment cannot do, in the built-in voice, so that a
// call works and explains itself without any account.
func (t *talk) greet() {
	var text string
	hearing, voice := t.l.s.hearing(), t.l.s.voice()
	switch {
	case hearing == nil && voice == nil:
		text = "You are connected. No speech services are configured here: type what you want to say, and read the captions."
	case hearing == nil:
		text = "You are connected. Nothing here understands speech yet: type what you want to say."
	case voice == nil:
		text = "You are connected. Speak, and read the captions: no voice is configured here."
	default:
		return
	}
	t.caption("greeting", text, true)
	if voice == nil {
		t.done.Go(func() {
			select {
			case <-time.After(settling):
				_ = t.speaker.Add(t.ctx, greetingTone()) // unsaid when the call ends first
			case <-t.ctx.Done():
			}
		})
	}
}

// send writes one frame to the page; what is too long for a frame is cut.
func (t *talk) send(frame any) {
	t.mu.Lock()
	peer := t.peer
	t.mu.Unlock()
	if peer == nil {
		return
	}
	if err := peer.Send(raw(frame)); err != nil {
		t.log.Debug("a frame was not sent", slog.Any("error", err))
	}
}

// maxCaption keeps a caption within a frame, however it is escaped.
const maxCaption = 2500

// caption shows what the oracle says.
func (t *talk) caption(id, text string, final bool) {
	t.send(callsignal.CaptionFrame{Type: "caption", ID: id, Role: "assistant", Text: captionText(text), Final: final})
}

func captionText(text string) string {
	if r := []rune(text); len(r) > maxCaption {
		return "…" + string(r[len(r)-maxCaption:])
	}
	return text
}

func (t *talk) trouble(code, message string) {
	t.send(callsignal.ErrorFrame{Type: "error", Code: code, Message: message})
}

func (t *talk) enter(state string) {
	t.mu.Lock()
	changed := t.state != state
	t.state = state
	t.mu.Unlock()
	if changed {
		t.send(callsignal.StateFrame{Type: "state", State: state})
	}
}

// bye tells the page that the call ends.
func (t *talk) bye(reason Reason) { t.send(callsignal.ByeFrame{Type: "bye", Reason: string(reason)}) }

// interrupt stops the oracle's voice and its work on the answer.
func (t *talk) interrupt() {
	t.mu.Lock()
	cancel := t.turn
	t.held = false
	t.mu.Unlock()
	if cancel != nil {
		cancel(errInterrupted)
	}
	t.speaker.Flush()
}

// message takes a frame of the data channel.
func (t *talk) message(data []byte) {
	if !t.allowed() {
		t.trouble("rate_limited", "Too many frames in a second.")
		return
	}
	m, err := callsignal.ParseRemark(data)
	if err != nil {
		t.trouble(err.Code, err.Message)
		return
	}
	switch m.Type {
	case "text":
		t.interrupt()
		t.offer(said{text: m.Text})
	case "mute":
		t.mu.Lock()
		t.muted = *m.Muted
		t.mu.Unlock()
		t.hear.Lock()
		t.detector.Reset()
		t.live.End()
		t.forgetEarly()
		t.hear.Unlock()
		t.releaseVoice()
		t.nothingFollows()
	case "interrupt":
		t.interrupt()
	case "ping":
		t.send(callsignal.PongFrame{Type: "pong", T: m.T})
	}
}

// refused answers a frame that was too large, or no text.
func (t *talk) refused() {
	if t.allowed() {
		t.trouble("invalid", fmt.Sprintf("A frame must be text of at most %d bytes.", callsignal.MaxMessage))
	}
}

// allowed counts the frames of a second.
func (t *talk) allowed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.window) >= remarksInterval {
		t.window, t.remarks = now, 0
	}
	t.remarks++
	return t.remarks <= remarksBurst
}

// answer asks the oracle and speaks its reply, until it is done or the caller
// interrupts.
func (t *talk) answer(text string) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	t.mu.Lock()
	t.turn = cancel
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.turn = nil
		t.mu.Unlock()
	}()
	t.enter(thinking)
	picture := t.look(ctx)
	reply, err := t.ask(ctx, Question{Text: text, Picture: picture})
	// Shown once it is kept: who hangs up then finds it in the session.
	t.send(callsignal.CaptionFrame{
		Type: "caption", ID: oracle.NewID(), Role: "user", Text: captionText(text), Final: true, Seen: picture != nil,
	})
	if err != nil {
		t.log.Warn("a spoken message was not taken", slog.String("event", "call.message_refused"), slog.Any("error", err))
		t.trouble("refused", publicText(err))
		return
	}
	defer reply.Close()
	progress := &calltext.Progress{}
	err = t.speakAll(ctx, reply, progress)
	if err == nil {
		err = t.speaker.Drained(ctx)
	}
	if cause := context.Cause(ctx); cause != nil {
		t.speaker.Flush()
		if errors.Is(cause, errInterrupted) { // who hung up reads the rest in the session
			t.cut(reply, progress)
		}
		return
	}
	if err != nil {
		t.log.Warn("an answer was not spoken whole", slog.String("event", "call.answer_cut"), slog.Any("error", err))
		t.trouble("answer_failed", publicText(err))
	}
}

// ask makes what was said a turn. It was heard, so that neither hanging up nor
// interrupting takes it back.
func (t *talk) ask(ctx context.Context, q Question) (Answer, error) {
	l := t.l
	l.mu.Lock()
	q.Brought, q.Sponsor = l.who.Brought(), l.who.Sponsor
	l.mu.Unlock()
	q.Owner, q.SessionID, q.CallID = l.rec.Owner, l.rec.SessionID, l.rec.ID
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	return l.s.deps.Oracle.Ask(ctx, q)
}

// look returns what the camera shows at the moment, for a model that sees: a
// picture belongs to what is said with it. Without one the question must do.
func (t *talk) look(ctx context.Context) []byte {
	if t.l.rec.Type != Video || !t.l.s.deps.Oracle.Sees() {
		return nil
	}
	t.mu.Lock()
	peer := t.peer
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	picture, err := peer.Look(ctx)
	if err != nil {
		t.log.Debug("there is nothing to see", slog.Any("error", err))
		return nil
	}
	return picture
}

// samplesPerRune is how long a letter takes to say, where that is not known yet.
const samplesPerRune = 60 * callsound.SpokenRate / 1000

// cut stops the answer that nobody listens to, and no other of the session. What
// was heard of it, and no more, stays in the transcript and on the page.
func (t *talk) cut(reply Answer, progress *calltext.Progress) {
	heard := progress.Heard(t.speaker.Said(), samplesPerRune)
	t.caption(reply.RunID(), heard, true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), writeTime)
	defer cancel()
	if err := reply.Cut(ctx, heard); err != nil {
		t.log.Warn("an answer could not be cut to what was heard", slog.String("event", "call.cut_failed"), slog.Any("error", err))
	}
}

// speakAll speaks a reply sentence by sentence, while the next ones come.
func (t *talk) speakAll(ctx context.Context, reply Answer, progress *calltext.Progress) error {
	lines := make(chan string, 64)
	var voice sync.WaitGroup
	spokenID := reply.RunID()
	voice.Go(func() { t.voice(ctx, spokenID, lines, progress) })
	defer voice.Wait()
	defer close(lines)
	var cut calltext.Sentences
	for {
		text, err := reply.Next(ctx)
		progress.Write(text)
		for _, line := range cut.Add(text) {
			if err := push(ctx, lines, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			if rest := cut.End(); rest != "" {
				return push(ctx, lines, rest)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func push(ctx context.Context, lines chan<- string, line string) error {
	select {
	case lines <- line:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// voice speaks lines, with a caption for each as it begins. A voice that fails
// is left out for the rest of the reply, unless another one goes on.
func (t *talk) voice(ctx context.Context, id string, lines <-chan string, progress *calltext.Progress) {
	var (
		all    string
		broken bool
	)
	for line := range lines {
		if ctx.Err() != nil {
			continue
		}
		if all != "" {
			all += " "
		}
		all += line
		t.enter(speaking)
		t.caption(id, all, false)
		if broken {
			progress.Shown(line)
			continue
		}
		if err := t.speakLine(ctx, line, progress); err != nil && ctx.Err() == nil {
			broken = !errors.Is(err, ErrBrokeOff)
			progress.Shown(line)
			t.log.Warn("a sentence was not spoken", slog.String("event", "call.voice_failed"), slog.Any("error", err))
			if broken {
				t.trouble("speech_failed", "My voice is away: please read on.")
			}
		}
	}
	if all != "" && !errors.Is(context.Cause(ctx), errInterrupted) { // which says what was heard
		t.caption(id, all, true)
	}
}

// speakLine speaks a line of an answer, and keeps account of it. What the built-in
// voice would say can be read only.
func (t *talk) speakLine(ctx context.Context, line string, progress *calltext.Progress) error {
	if t.l.s.voice() == nil {
		progress.Shown(line)
		return t.speak(ctx, line, nil)
	}
	progress.Begin(line, t.speaker.Ahead())
	return t.speak(ctx, line, func(whole bool) { progress.Sounds(t.speaker.Ahead(), whole) })
}

// speak queues the sound of a line as it comes, and says when some of it, or the
// last of it, was queued.
func (t *talk) speak(ctx context.Context, line string, queued func(whole bool)) error {
	ctx, cancel := context.WithTimeout(ctx, speakTime)
	defer cancel()
	voice := t.l.s.voice()
	if voice == nil {
		voice = Tone{}
	}
	if queued == nil {
		queued = func(bool) {}
	}
	text := calltext.Spoken(line)
	if text == "" {
		queued(true)
		return nil
	}
	sound, err := voice.Speak(ctx, Text{Text: text, Voice: t.l.rec.Voice, Language: t.l.rec.Language})
	if err != nil {
		return speechError("speak", err)
	}
	defer func() { _ = sound.Close() }()
	rate := callsound.NewResampler(sound.Rate(), callsound.SpokenRate)
	buf := make([]int16, sound.Rate()/10)
	var out []int16
	for {
		n, err := sound.Read(buf)
		out = rate.Add(out[:0], buf[:n])
		if errors.Is(err, io.EOF) {
			if err := t.speaker.Add(ctx, rate.Flush(out)); err != nil {
				return err
			}
			queued(true)
			return nil
		}
		if err != nil {
			return speechError("read speech", err)
		}
		if err := t.speaker.Add(ctx, out); err != nil {
			return err
		}
		queued(false)
	}
}
