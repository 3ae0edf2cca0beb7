package call_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// transcript is a session as its owner reads it.
func transcript(t *testing.T, p *calltest.Page) []string {
	t.Helper()
	var list struct {
		Messages []struct{ Type, Content string }
	}
	p.Must(200, "GET", "/messages/"+p.Session, nil, &list)
	var out []string
	for _, m := range list.Messages {
		out = append(out, m.Type+": "+m.Content)
	}
	return out
}

func TestASpokenSentenceIsATurnAndIsAnsweredAloud(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "what is the weather in london today")
	service := speech.Client(t)
	n := calltest.Start(t, calltest.Setup{
		Hearing: service, Voice: service, Provider: scripted.Sequence(scripted.Text("It rains. ", "Take an ", "umbrella.")),
	})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(3)
	p.Pause(1)
	p.Await("state", "state", "thinking")
	p.Await("caption", "role", "user", "text", "what is the weather in london today", "final", true)
	p.Await("state", "state", "speaking")
	p.Await("caption", "role", "assistant", "text", "It rains. Take an umbrella.", "final", true)
	if hertz := pitch(p.Hear(500 * time.Millisecond)); hertz < 580 || hertz > 620 {
		t.Errorf("the answer sounds at %.0f Hz, want 600", hertz)
	}
	p.Await("state", "state", "listening")
	if diff := cmp.Diff([]string{"It rains.", "Take an umbrella."}, speech.Spoken()); diff != "" {
		t.Errorf("spoken (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"human: what is the weather in london today", "ai: It rains. Take an umbrella."}, transcript(t, p)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if asked := speech.Asked(); len(asked) != 1 || asked[0].Seconds < 1.4 || asked[0].Seconds > 2.6 {
		t.Errorf("heard %+v, want one utterance of about 1.9 s", asked)
	}
}

// The voice is Opus, and G.711 to who has nothing else; sealed or not, it sounds
// the same.
func TestTheVoiceGoesDownAsWellAsThePageCanHear(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		telephone, framed bool
		codec             string
	}{
		"a browser":           {false, false, "audio/opus"},
		"a browser, sealed":   {false, true, "audio/opus"},
		"a telephone":         {true, false, "audio/PCMU"},
		"a telephone, sealed": {true, true, "audio/PCMU"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := calltest.NewSpeech(t).Client(t)
			n := calltest.Start(t, calltest.Setup{Hearing: service, Voice: service})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Telephone = c.telephone
			p.Ring(call.Audio, c.framed)
			p.Send(map[string]any{"type": "text", "text": "hello"})
			if hertz := pitch(p.Hear(500 * time.Millisecond)); hertz < 580 || hertz > 620 {
				t.Errorf("the answer sounds at %.0f Hz, want 600", hertz)
			}
			if got := p.Codec(); got != c.codec {
				t.Errorf("spoken in %s, want %s", got, c.codec)
			}
		})
	}
}

// allHeard waits until what the page has said has come, but for the last packets.
func allHeard(t *testing.T, n *calltest.Node, p *calltest.Page) {
	t.Helper()
	calltest.Eventually(t, "all is heard", func() bool { return n.Calls.Stats().Heard > p.Said-10*callsound.FrameTime })
}

// pitch is the frequency of a tone, by the usual distance of its zero crossings:
// a machine that is busy leaves gaps in what is heard, and gaps are not pitch.
func pitch(pcm []int16) float64 {
	var distances []int
	for i, last := 1, 0; i < len(pcm); i++ {
		if pcm[i-1] < 0 && pcm[i] >= 0 {
			if last > 0 {
				distances = append(distances, i-last)
			}
			last = i
		}
	}
	if len(distances) == 0 {
		return 0
	}
	// The mean of the middle half: one distance alone is a whole number of samples.
	slices.Sort(distances)
	middle := distances[len(distances)/4 : len(distances)*3/4+1]
	sum := 0
	for _, d := range middle {
		sum += d
	}
	return callsound.SpokenRate * float64(len(middle)) / float64(sum)
}

// endless is a model that answers and then waits to be stopped.
type endless struct {
	*scripted.Provider
	stopped chan error
}

func newEndless() *endless {
	reply := scripted.Text("A first sentence. A second one that is. ")
	reply.Wait = make(chan struct{})
	return &endless{Provider: scripted.Sequence(reply), stopped: make(chan error, 8)}
}

func (e *endless) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	resp, err := e.Provider.Stream(ctx, req, sink)
	if req.Purpose == "turn" {
		e.stopped <- err
	}
	return resp, err
}

func TestBargeInStopsTheVoiceAndTheRun(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "tell me a story", "stop")
	speech.Long(20 * time.Second)
	service := speech.Client(t)
	model := newEndless()
	n := calltest.Start(t, calltest.Setup{Hearing: service, Voice: service, Provider: model})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(1)
	p.Pause(1)
	if line := <-speech.Begun(); line != "A first sentence." {
		t.Errorf("spoken first: %q", line)
	}
	p.Hear(200 * time.Millisecond)
	p.Talk(1) // the caller interrupts
	p.Pause(1)
	if err := <-model.stopped; !run.IsAbort(err) {
		t.Errorf("the run was ended by %v, want an abort", err)
	}
	p.Await("state", "state", "listening")
	if list := transcript(t, p); len(list) < 1 || list[0] != "human: tell me a story" {
		t.Errorf("transcript: %q", list)
	}
}

// Whoever interrupts leaves in the transcript, on the page and in what the model is told
// next what was heard of the answer, and no more; whether it was written whole or not.
func TestWhatWasHeardAndNoMoreIsKept(t *testing.T) {
	t.Parallel()
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i)
	}
	answer := strings.Join(words, " ")
	for name, goesOn := range map[string]bool{"written whole": false, "still being written": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speech := calltest.NewSpeech(t)
			speech.Long(60 * time.Second)
			service := speech.Client(t)
			told := make(chan []plugin.ModelMessage, 8)
			model := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
				if req.Purpose != "turn" {
					return scripted.Text("A title")
				}
				told <- req.Messages
				if req.Messages[len(req.Messages)-1].Text != "tell me" {
					return scripted.Text("Yes.")
				}
				reply := scripted.Text(answer + ". ")
				if goesOn {
					reply.Wait = make(chan struct{})
				}
				return reply
			})
			n := calltest.Start(t, calltest.Setup{Hearing: service, Voice: service, Provider: model})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			p.Send(map[string]any{"type": "text", "text": "tell me"})
			<-told
			p.Await("state", "state", "speaking")
			p.Hear(time.Second) // of a minute, in which it says some forty words
			p.Send(map[string]any{"type": "interrupt"})
			caption := p.Await("caption", "role", "assistant", "final", true)
			p.Await("state", "state", "listening")
			kept := transcript(t, p)
			if len(kept) != 2 {
				t.Fatalf("transcript: %q", kept)
			}
			heard, _ := strings.CutPrefix(kept[1], "ai: ")
			rest, begins := strings.CutPrefix(answer, heard)
			if n := len(strings.Fields(heard)); !begins || n < 1 || n > 30 || !strings.HasPrefix(rest, " ") {
				t.Errorf("of the answer is kept %q", heard)
			}
			if caption["text"] != heard {
				t.Errorf("the page shows %q, and %q is kept", caption["text"], heard)
			}
			p.Send(map[string]any{"type": "text", "text": "go on"})
			if next := <-told; len(next) != 3 || next[1].Text != heard {
				t.Errorf("the model is told %+v", next)
			}
		})
	}
}

// A cough or an "mhm" holds the voice for a moment, and then it goes on where it was.
func TestAnAsideDoesNotStopTheVoice(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]string{"a word": "Mhm.", "a cough": ""} {
		t.Run(name, func(t *testing.T) {
			speech := calltest.NewSpeech(t, "tell me a story", heard)
			const length = 3 * time.Second
			speech.Long(length)
			service := speech.Client(t)
			n := calltest.Start(t,
				calltest.Setup{Hearing: service, Voice: service, Provider: scripted.Sequence(scripted.Text("Once upon a time."))})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			p.Talk(1)
			p.Pause(1)
			p.Await("state", "state", "speaking")
			sound := len(p.Hear(200 * time.Millisecond))
			p.Talk(1)
			p.Pause(1)
			p.Await("state", "state", "listening")
			// All of it was said by now. A page that is busy hears the end after it was told.
			const most = length * 9 / 10
			p.Hear(most - time.Duration(sound)*time.Second/callsound.SpokenRate)
			if diff := cmp.Diff([]string{"human: tell me a story", "ai: Once upon a time."}, transcript(t, p)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever interrupts the voice stops the answer that it speaks. What else goes on in
// the session by then, such as the answer to a message that was typed, goes on.
func TestBargeInStopsNothingElse(t *testing.T) {
	t.Parallel()
	typed, wait := make(chan struct{}), make(chan struct{})
	n := calltest.Start(t, calltest.Setup{Provider: scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Messages[len(req.Messages)-1].Text != "typed" {
			return scripted.Text("A sentence that is so long that it takes four whole seconds to say it in any voice at all. ")
		}
		close(typed)
		reply := scripted.Text("Read me.")
		reply.Wait = wait
		return reply
	})})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Send(map[string]any{"type": "text", "text": "tell me"})
	p.Await("state", "state", "speaking")
	calltest.Eventually(t, "the answer is kept", func() bool { return len(transcript(t, p)) == 2 })
	answered := make(chan []byte, 1)
	go func() {
		_, body := p.Do("POST", "/messages/"+p.Session, map[string]any{"message": "typed"})
		answered <- body
	}()
	<-typed
	p.Send(map[string]any{"type": "interrupt"})
	p.Await("state", "state", "listening")
	close(wait)
	if got := string(<-answered); !strings.Contains(got, `"finished"`) || !strings.Contains(got, "Read me.") {
		t.Errorf("the typed message was answered with %s", got)
	}
}

func TestWhoHangsUpReadsTheRestInTheSession(t *testing.T) {
	t.Parallel()
	reply := scripted.Text("A first sentence. ", "And the rest.")
	wait := make(chan struct{})
	reply.Wait = wait
	n := calltest.Start(t, calltest.Setup{Provider: scripted.Sequence(reply)})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Send(map[string]any{"type": "text", "text": "tell me"})
	p.Await("state", "state", "speaking")
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	p.Await("bye", "reason", "hangup")
	close(wait)
	for deadline := time.Now().Add(calltest.Patience); ; time.Sleep(10 * time.Millisecond) {
		got := transcript(t, p)
		if len(got) == 2 && got[1] == "ai: A first sentence. And the rest." {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the transcript is %q", got)
		}
	}
}

// TestWhatIsShownIsKept: a sentence that its speaker was shown is in the transcript,
// also when they hang up in that moment.
func TestWhatIsShownIsKept(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{Provider: scripted.Sequence(scripted.Text("I will not."))})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Send(map[string]any{"type": "text", "text": "do not forget me"})
	p.Await("caption", "role", "user", "text", "do not forget me")
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	if list := transcript(t, p); len(list) == 0 || list[0] != "human: do not forget me" {
		t.Errorf("transcript: %q", list)
	}
}

func TestAPauseDoesNotCutASentence(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "what is", "the time")
	slow := &slowHearing{inner: speech.Client(t), release: make(chan struct{}), asked: make(chan struct{}, 4)}
	n := calltest.Start(t, calltest.Setup{Hearing: slow})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(1)
	p.Pause(1)
	<-slow.asked
	p.Talk(1) // goes on while the first half is being understood
	p.Pause(1)
	calltest.Eventually(t, "the second half arrives", func() bool { return n.Calls.Stats().Utterances == 2 })
	close(slow.release)
	p.Await("caption", "role", "user", "text", "what is the time")
}

// slowHearing holds what it is asked until it is released, and then asks in the order
// in which it was asked itself: the speech service below hands out its sentences to
// whoever comes first.
type slowHearing struct {
	inner   call.SpeechToText
	release chan struct{}
	asked   chan struct{}

	mu   sync.Mutex
	last chan struct{} // closed when the one before has been answered
}

func (s *slowHearing) Transcribe(ctx context.Context, q call.Speech) (string, error) {
	answered := make(chan struct{})
	defer close(answered)
	s.mu.Lock()
	before := s.last
	s.last = answered
	s.mu.Unlock()
	if before == nil {
		before = s.release
	}
	s.asked <- struct{}{}
	for _, held := range []<-chan struct{}{s.release, before} {
		select {
		case <-held:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return s.inner.Transcribe(ctx, q)
}

// A cough while a sentence is being understood sounds like the rest of it. When it
// turns out to be nothing, the sentence is answered all the same.
func TestACoughDoesNotSwallowASentence(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *calltest.Page){
		"ends in silence": func(p *calltest.Page) { p.Pause(1) },
		"is muted":        func(p *calltest.Page) { p.Send(map[string]any{"type": "mute", "muted": true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speech := calltest.NewSpeech(t, "one sentence")
			slow := &slowHearing{inner: speech.Client(t), release: make(chan struct{}), asked: make(chan struct{}, 4)}
			n := calltest.Start(t,
				calltest.Setup{
					Hearing: slow, Call: call.Config{Detector: callsound.DetectorConfig{Shortest: 800 * time.Millisecond}},
				})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			p.Talk(3)
			p.Pause(1)
			<-slow.asked
			p.Talk(1) // too short to be heard, and without a silence behind it
			allHeard(t, n, p)
			close(slow.release)
			calltest.Eventually(t, "the sentence is understood", func() bool { return len(speech.Asked()) == 1 })
			p.Send(map[string]any{"type": "ping", "t": 1})
			p.Await("pong", "t", 1.0)
			end(p)
			p.Await("caption", "role", "user", "text", "one sentence")
		})
	}
}

func TestBadSpeechServicesCostASentenceAndNotTheCall(t *testing.T) {
	t.Parallel()
	for _, mood := range []calltest.Mood{
		calltest.Limited, calltest.Broken, calltest.Cut, calltest.Silent,
		calltest.Garbage, calltest.Empty,
	} {
		t.Run(string(mood), func(t *testing.T) {
			t.Parallel()
			speech := calltest.NewSpeech(t, slices.Repeat([]string{"are you there"}, 5)...)
			service := speech.Client(t, func(c *callspeech.Config) { c.First, c.Idle = 5*time.Second, 5*time.Second })
			n := calltest.Start(t, calltest.Setup{Hearing: service, Voice: service})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			speech.Feel(mood)
			p.Talk(1)
			p.Pause(1)
			p.Await("error", "code", "hearing_failed")
			p.Await("state", "state", "listening")
			p.Send(map[string]any{"type": "text", "text": "hello"})
			p.Await("error", "code", "speech_failed")
			p.Await("caption", "role", "assistant", "text", "Hello. I am here.", "final", true)
			speech.Feel(calltest.Well)
			for understood := false; !understood; { // on a busy machine it may take too long once more
				p.Talk(1)
				p.Pause(1)
				f := p.AwaitFrame("are you there, or not heard", func(f map[string]any) bool {
					text, _ := f["text"].(string) // said in two parts on such a machine
					return strings.HasPrefix(text, "are you there") || f["code"] == "hearing_failed"
				})
				understood = f["code"] == nil
			}
		})
	}
}

func TestALimitedServiceIsAskedAgain(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "hello")
	speech.Feel(calltest.LimitOnce)
	text, err := speech.Client(t).Transcribe(t.Context(), call.Speech{WAV: append([]byte("RIFF"), make([]byte, 60)...)})
	if err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAMutedMicrophoneIsNotHeard(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "secret", "public")
	n := calltest.Start(t, calltest.Setup{Hearing: speech.Client(t)})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Send(map[string]any{"type": "mute", "muted": true})
	p.Send(map[string]any{"type": "ping", "t": 1})
	p.Await("pong", "t", 1.0)
	p.Talk(2)
	p.Pause(1)
	allHeard(t, n, p)
	p.Send(map[string]any{"type": "mute", "muted": false})
	p.Send(map[string]any{"type": "ping", "t": 2})
	p.Await("pong", "t", 2.0)
	p.Talk(1)
	p.Pause(1)
	p.Await("caption", "role", "user", "text", "secret") // the first that was asked for
	if asked := speech.Asked(); len(asked) != 1 {
		t.Errorf("heard %d utterances, want the one after the mute", len(asked))
	}
}

func TestWithoutEarsTheCallSaysSo(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(1)
	p.Pause(1)
	p.Await("caption", "id", "deaf")
}

func TestBadFramesAreAnswered(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	for _, c := range []struct{ frame, says string }{
		{`{`, "the event cannot be read: unexpected EOF"},
		{`[]`, "the event must be a JSON object"},
		{`{"type":"text"}`, "text should not be empty"},
		{`{"type":"text","text":7}`, "the event cannot be read: text must not be a number"},
		{`{"type":"mute"}`, "muted must be a boolean value"},
		{`{"type":"sing"}`, "type must be one of text, mute, interrupt, ping"},
		{`{"type":"ping","x":1}`, `the event cannot be read: unknown field "x"`},
		{`{"type":"ping"}{}`, "the event must be one JSON object"},
	} {
		p.Send(c.frame)
		p.Await("error", "code", "invalid", "message", c.says)
	}
	time.Sleep(time.Second) // another window for frames
	p.Send(`{"type":"text","text":"` + strings.Repeat("a", 17<<10) + `"}`)
	p.Await("error", "code", "invalid", "message", "A frame must be text of at most 16384 bytes.")
	if err := p.Channel.Send([]byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	p.Await("error", "code", "invalid", "message", "A frame must be text of at most 16384 bytes.")
	for range 30 {
		p.Send(`{"type":"ping"}`)
	}
	p.Await("error", "code", "rate_limited")
}
