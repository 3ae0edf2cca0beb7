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
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
)

// A service that fails in a call, in whatever way, is replaced by the next: the caller
// is understood, and every sentence of the answer is said once.
func TestAnotherSpeechServiceGoesOnWithTheCall(t *testing.T) {
	t.Parallel()
	for _, mood := range []calltest.Mood{
		calltest.Silent, calltest.Refusing, calltest.Broken, calltest.Limited, calltest.Garbage, calltest.Cut, calltest.Empty,
		calltest.Half,
	} {
		t.Run(string(mood), func(t *testing.T) {
			t.Parallel()
			first, second := calltest.NewSpeech(t, "how is the weather?"), calltest.NewSpeech(t, "how is the weather?")
			first.Feel(mood)
			quick := func(c *callspeech.Config) { c.First, c.Idle = 300*time.Millisecond, 300*time.Millisecond }
			both := callspeech.NewServices([]*callspeech.Service{first.Client(t, quick), second.Client(t)},
				slog.New(slog.DiscardHandler), time.Now)
			n := calltest.Start(t, calltest.Setup{
				Hearing: both, Voice: both, Provider: scripted.Sequence(scripted.Text("It rains. ", "Take an ", "umbrella.")),
			})
			p := calltest.NewPage(t, n, identitytest.Alice)
			p.Ring(call.Audio, false)
			p.Talk(3)
			p.Pause(1)
			p.Await("caption", "role", "user", "text", "how is the weather?", "final", true)
			p.Await("caption", "role", "assistant", "text", "It rains. Take an umbrella.", "final", true)
			p.Await("state", "state", "listening")
			spoken := [][]string{nil, {"It rains.", "Take an umbrella."}}
			if mood == calltest.Half { // it had begun: the rest of that sentence is read
				spoken = [][]string{{"It rains."}, {"Take an umbrella."}}
			}
			if diff := cmp.Diff(spoken, [][]string{first.Spoken(), second.Spoken()}); diff != "" {
				t.Errorf("spoken (-want +got):\n%s", diff)
			}
			want := []string{"human: how is the weather?", "ai: It rains. Take an umbrella."}
			if diff := cmp.Diff(want, transcript(t, p)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}
