package engineio_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

// A client that has its probe answered stops polling for good: from then on the
// probing WebSocket is the only way to it, also for a goodbye.

func TestTheLastWordsFollowAnUpgrade(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	p.Post("4close") // says bye and closes, and no poll is there to hear it
	a.expectReason(t, engineio.ForcedClose)
	w.Send("5")
	w.Expect("4bye")
	if got := w.ExpectClose(); got != websocket.CloseNoStatusReceived {
		t.Errorf("closed with %d", got)
	}
	if status, _ := p.Get(); status != http.StatusBadRequest {
		t.Errorf("a poll after the end got %d", status)
	}
}

func TestACutSessionAnswersTheUpgrade(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	p.Post("4panic")
	a.expectReason(t, engineio.ForcedClose)
	w.Send("5")
	if got := w.ExpectClose(); got != websocket.CloseNoStatusReceived {
		t.Errorf("closed with %d", got)
	}
}

func TestTheLastWordsReachAPollThatIsStillUnderWay(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	p.Post("4close")
	p.Expect("4bye") // the client had polled before it saw the answer to its probe
	w.Send("5")
	if got := w.ExpectClose(); got != websocket.CloseNoStatusReceived {
		t.Errorf("closed with %d", got)
	}
}

func TestAnEndBeforeTheProbeLeavesPollingItsLastWords(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	p.Post("4close")
	w.ExpectClose()
	for _, want := range []string{"4bye", "1"} {
		if _, body := p.Get(); body != want {
			t.Errorf("polled %q, want %q", body, want)
		}
	}
}

func TestAnAbandonedUpgradeEndsWithItsSession(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	p.Post("4close")
	for _, want := range []string{"4bye", "1"} {
		if _, body := p.Get(); body != want {
			t.Errorf("polled %q, want %q", body, want)
		}
	}
	w.ExpectClose()
}

func TestAPushToASessionThatSaysGoodbyeIsNoError(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	p.Post("4close")
	if status, answer := p.Post("4too late"); status != http.StatusOK || answer != "ok" {
		t.Errorf("the push got %d %s", status, answer) // a client takes an error for the end, and misses the goodbye
	}
	p.Expect("4bye", "1")
}

// mover upgrades as the real client does: it polls until its probe is answered,
// waits for the poll and the push that are under way, and never polls again.
type mover struct {
	polling *socketiotest.Polling
	heard   chan string // packets, whatever they came on; closed at the end
}

func (m *mover) run(t *testing.T, base string, push func()) {
	defer close(m.heard)
	paused := make(chan struct{})
	probed := make(chan struct{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		push()
	}()
	polled := make(chan bool, 1)
	go func() {
		for {
			status, body := m.polling.Get()
			if status != http.StatusOK {
				polled <- true
				return
			}
			for packet := range strings.SplitSeq(body, "\x1e") {
				m.heard <- packet
				if packet == "1" {
					polled <- true
					return
				}
			}
			select {
			case <-paused:
				polled <- false
				return
			default:
			}
		}
	}()
	var w *websocket.Conn
	go func() {
		defer close(probed)
		address := strings.Replace(base, "http", "ws", 1) + "?EIO=4&transport=websocket&sid=" + m.polling.SID()
		conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), address, nil)
		if resp != nil {
			_ = resp.Body.Close()
		}
		if err != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Now().Add(socketiotest.Patience))
		_ = conn.WriteMessage(websocket.TextMessage, []byte("2probe"))
		if _, data, err := conn.ReadMessage(); err != nil || string(data) != "3probe" {
			_ = conn.Close()
			return
		}
		w = conn
		close(paused)
	}()
	<-probed
	over := <-polled
	<-drained
	if w == nil {
		return
	}
	defer func() { _ = w.Close() }()
	if over {
		return
	}
	_ = w.WriteMessage(websocket.TextMessage, []byte("5"))
	for {
		_, data, err := w.ReadMessage()
		if err != nil {
			return
		}
		m.heard <- string(data)
	}
}

func TestAGoodbyeAtAnyMomentOfTheUpgradeIsHeard(t *testing.T) {
	t.Parallel()
	a := serve(t, quiet)
	for i := range 200 {
		p, _ := socketiotest.OpenPolling(t, a.url, "")
		m := &mover{polling: p, heard: make(chan string, 100)}
		go m.run(t, a.url, func() {
			time.Sleep(time.Duration(i) * 20 * time.Microsecond) // all over the upgrade, which takes a few milliseconds
			p.Post("4close")
		})
		bye := 0
		for packet := range m.heard {
			if packet == "4bye" {
				bye++
			}
		}
		if bye != 1 {
			t.Fatalf("round %d: heard the goodbye %d times", i, bye)
		}
	}
}

// answer is that of a poll.
type answer struct {
	status int
	body   string
}

// upgrading has a session whose probe is answered, and a poll that waits to see
// the upgrade.
func upgrading(t *testing.T) (*app, *socketiotest.Polling, *socketiotest.Wire, <-chan answer) {
	t.Helper()
	cfg := quiet
	cfg.UpgradePoll = socketiotest.Patience
	a := serve(t, cfg)
	p, _ := socketiotest.OpenPolling(t, a.url, "")
	w := socketiotest.DialWire(t, a.url, "sid="+p.SID())
	w.Send("2probe")
	w.Expect("3probe")
	polled := make(chan answer, 1)
	go func() {
		status, body := p.Get()
		polled <- answer{status, body}
	}()
	a.awaitHeld(t)
	return a, p, w, polled
}

func TestAPollThatIsHeldWhenTheUpgradeCompletesIsRefused(t *testing.T) {
	t.Parallel()
	_, _, w, polled := upgrading(t)
	w.Send("5")
	if got := <-polled; got.status != http.StatusBadRequest || !strings.Contains(got.body, `"code":3`) {
		t.Errorf("the poll got %d %s", got.status, got.body)
	}
	w.Send("4alive") // and the session lives on, where it moved
	w.Expect("4alive")
}

func TestWhatIsSaidDuringAnUpgradeEndsThePoll(t *testing.T) {
	t.Parallel()
	_, p, w, polled := upgrading(t)
	p.Post("4now")
	if got := <-polled; got != (answer{http.StatusOK, "4now"}) {
		t.Errorf("the poll got %d %s", got.status, got.body)
	}
	w.Send("5")
	w.Send("4then")
	w.Expect("4then")
}

func TestAnEndDuringAnUpgradeEndsThePoll(t *testing.T) {
	t.Parallel()
	a, _, w, polled := upgrading(t)
	a.session(t).Close()
	if got := <-polled; got != (answer{http.StatusOK, "6"}) {
		t.Errorf("the poll got %d %s", got.status, got.body)
	}
	w.Send("5") // as a client does that waited for the poll
	if got := w.ExpectClose(); got != websocket.CloseNoStatusReceived {
		t.Errorf("closed with %d", got)
	}
}
