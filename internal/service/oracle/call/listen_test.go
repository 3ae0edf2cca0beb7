package call_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

// streaming are services of which the first takes speech while it is spoken.
func streaming(t *testing.T, speech *calltest.Speech, change ...func(*callspeech.Config)) *callspeech.Services {
	t.Helper()
	one := speech.Client(t, append(change, calltest.Streaming)...)
	return callspeech.NewServices([]*callspeech.Service{one}, slog.New(slog.DiscardHandler), time.Now)
}

// Speech is sent while it is spoken, and not again when it is over; a call has one way to
// the service for all that is said.
func TestSpeechIsSentWhileItIsSpoken(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "What is the time?", "And the weather?")
	n := calltest.Start(t, calltest.Setup{Hearing: streaming(t, speech)})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Language = "de-CH"
	p.Ring(call.Audio, false)
	for _, sentence := range []string{"What is the time?", "And the weather?"} {
		p.Talk(3)
		coming := func() bool { return speech.Coming() > 500*time.Millisecond }
		calltest.Eventually(t, "what is said is there before it is over", coming)
		p.Pause(1)
		p.Await("caption", "role", "user", "text", sentence, "final", true)
		p.Await("state", "state", "listening")
	}
	for _, part := range speech.Streamed() {
		if part.Model != "m" || part.Language != "de" || part.Seconds < 1 || part.Seconds > 3.5 {
			t.Errorf("heard %+v, want one utterance of about 1.9 s, once", part)
		}
	}
	streams, parts, asked := speech.Streams(), len(speech.Streamed()), len(speech.Asked())
	if streams != 1 || parts != 2 || asked != 0 {
		t.Errorf("%d connections, %d parts, %d whole utterances", streams, parts, asked)
	}
}

// A pause in the middle of a sentence makes two texts of it, and one message.
func TestPartsOfASentenceAreOneMessage(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t, "I would like to", "know the time.")
	n := calltest.Start(t, calltest.Setup{Hearing: streaming(t, speech)})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(3)
	p.Breath()
	calltest.Eventually(t, "the first part is understood", func() bool { return len(speech.Streamed()) == 1 })
	p.Talk(3)
	p.Pause(1)
	p.Await("caption", "role", "user", "text", "I would like to know the time.", "final", true)
}

// Whatever becomes of the stream, what was said is understood as a whole.
func TestAStreamThatFailsCostsNothing(t *testing.T) {
	t.Parallel()
	for _, mood := range []calltest.Mood{
		calltest.Refusing, calltest.Broken, calltest.Cut, calltest.Garbage, calltest.Empty, calltest.Silent,
	} {
		t.Run(string(mood), func(t *testing.T) {
			t.Parallel()
			speech, well := calltest.NewSpeech(t), calltest.NewSpeech(t, "what is the time", "what is the weather")
			speech.Feel(mood)
			one := speech.Client(t, calltest.Streaming, func(c *callspeech.Config) { c.First = 300 * time.Millisecond })
			both := callspeech.NewServices([]*callspeech.Service{one, well.Client(t)}, slog.New(slog.DiscardHandler), time.Now)
			n := calltest.Start(t, calltest.Setup{Hearing: both})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			for _, sentence := range []string{"what is the time", "what is the weather"} {
				p.Talk(3)
				p.Pause(1)
				p.Await("caption", "role", "user", "text", sentence, "final", true)
				p.Await("state", "state", "listening")
			}
			if streams := speech.Streams(); streams > 1 {
				t.Errorf("%d connections, want one at most: who failed rests", streams)
			}
			want := []string{"human: what is the time", "ai: Hello. I am here.", "human: what is the weather", "ai: Hello. I am here."}
			if diff := cmp.Diff(want, transcript(t, p)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}
