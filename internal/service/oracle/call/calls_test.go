package call_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestACallOutOfTheBox(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Await("caption", "id", "greeting")
	p.Hear(time.Second)
	p.Send(map[string]any{"type": "text", "text": "hello"})
	p.Await("caption", "role", "user", "text", "hello")
	p.Await("state", "state", "speaking")
	p.Await("caption", "role", "assistant", "text", "Hello. I am here.", "final", true)
}
