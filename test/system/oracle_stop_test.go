package system

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// TestAWaitingTurnDoesNotHoldUpAStop stops a program while a page waits for the
// rest of an answer: the page is sent away at once, and finds the answer when
// the program is back.
func TestAWaitingTurnDoesNotHoldUpAStop(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	w := Start(t, Embedded, model.env()...)
	alice := newChatter(t, w, identitytest.NewActor("stop"))
	b := alice.begin(t, w.Node(0), model)
	w.Node(0).Stop()
	if code := w.Node(0).ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s", code, w.Node(0).Log())
	}
	for f, ok := b.stream.next(); ok; f, ok = b.stream.next() {
		t.Errorf("the page saw %v", f)
	}
	w.Node(0).Start()
	w.Node(0).WaitReady()
	<-b.asked // the turn goes on
	b.end(t, w.Node(0))
}
