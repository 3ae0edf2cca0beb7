package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// telephone is a line to the deployment: every request goes to the next node.
type telephone struct {
	world *system.World
	turn  atomic.Int64
	// retries is how often it sends a request again that was told to come later,
	// as gateways do: a crowded machine may not check a PIN in time.
	retries int
}

func (p *telephone) Send(ctx context.Context, sessionID, code, phone, text string) (answer string, err error) {
	for range p.retries + 1 {
		if answer, err = p.once(ctx, sessionID, code, phone, text); err != nil || answer != unavailable {
			break
		}
	}
	return answer, err
}

func (p *telephone) once(ctx context.Context, sessionID, code, phone, text string) (string, error) {
	body, err := json.Marshal(map[string]string{"sessionId": sessionID, "serviceCode": code, "phoneNumber": phone, "text": text})
	if err != nil {
		return "", err
	}
	reply, err := p.world.Node(int(p.turn.Add(1))).Try(ctx, system.Call{
		Method: http.MethodPost, Path: "/api/ussd", Body: string(body), Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err == nil && reply.Status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", reply.Status, reply.Body)
	}
	return string(reply.Body), err
}

func (p *telephone) Screen(ctx context.Context, sessionID string) (string, error) {
	reply, err := p.world.Node(int(p.turn.Add(1))).Try(ctx, system.Call{Method: http.MethodGet, Path: "/api/ussd/debug/" + sessionID})
	if err != nil {
		return "", err
	}
	var record struct {
		DebugInfo struct{ Context struct{ Screen string } }
	}
	if err := json.Unmarshal(reply.Body, &record); err != nil {
		return "", fmt.Errorf("status %d: %s", reply.Status, reply.Body)
	}
	return record.DebugInfo.Context.Screen, nil
}

// Every recorded flow whose answers do not depend on a stub is answered word
// for word by the real program, whichever node gets the next input.
func TestTelephonesWalkTheMenu(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/service/ussd/ussdscript/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no flow files: %v", err)
	}
	system.Each(t, func(t *testing.T, w *system.World) {
		line, number := &telephone{world: w, retries: 3}, 0
		for _, file := range files {
			flows, err := ussdscript.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, flow := range flows.Flows {
				if flow.OwnAnswers() {
					continue // tested below with the real oracle and chain
				}
				number++
				flow.Phone = fmt.Sprintf("+2609799%05d", number)
				if err := flows.Run(t.Context(), flow, line, nil); err != nil {
					t.Errorf("%s: %v", filepath.Base(file), err)
				}
			}
		}
	}, telephoneModel(t, nil)...)
}

// caller types on one telephone and remembers.
type caller struct {
	t              *testing.T
	line           *telephone
	session, phone string
	text           string
}

func (c *caller) dial(session string) {
	c.t.Helper()
	c.session, c.text = session, ""
	if got := c.send(); !strings.HasPrefix(got, "CON Welcome") {
		c.t.Fatalf("the dial shows %q", got)
	}
}

func (c *caller) send() string {
	c.t.Helper()
	answer, err := c.line.Send(c.t.Context(), c.session, "*2233#", c.phone, c.text)
	if err != nil {
		c.t.Fatalf("text %q: %v", c.text, err)
	}
	return answer
}

// expect types inputs, each with a part of the answer that must come.
func (c *caller) expect(pairs ...string) string {
	c.t.Helper()
	answer := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		if c.text != "" {
			c.text += "*"
		}
		c.text += pairs[i]
		if answer = c.send(); !strings.Contains(answer, pairs[i+1]) {
			c.t.Fatalf("text %q: %q, want …%s…", c.text, answer, pairs[i+1])
		}
	}
	return answer
}

func TestATelephoneReachesTheOracleAndTheChain(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		var list struct{ Entities []struct{ ID string } }
		w.Node(0).Get(t, "/ixo/entity").JSON(t, &list)
		if len(list.Entities) == 0 {
			t.Fatal("the embedded chain knows no entity")
		}
		entity := list.Entities[0].ID
		short := entity[strings.LastIndexByte(entity, ':')+1:]
		c := &caller{t: t, line: &telephone{world: w, retries: 3}, phone: "+254700111222"}
		c.dial("o1")
		c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "5. Ask the oracle")
		answer := c.expect("5", "Type your question", "What can you do?", "CON ")
		if strings.Contains(answer, "away") || !strings.Contains(answer, "0. Back") {
			t.Errorf("the oracle answered %q", answer)
		}
		c.expect("0", "My account", "6", "identifier", short, entity, "*", "END Thank you")
		for i, way := range [][]string{
			{"5", "Type your question", "*", "END Thank you"},
			{"5", "Type your question", "What can you do?", "0. Back", "*", "END Thank you"},
			{"6", "identifier", "0", "My account", "6", "identifier", "nobody", "No such entity", "*", "END Thank you"},
		} {
			c.dial(fmt.Sprintf("way-%d", i))
			c.expect("2", "Account menu", "1", "Enter your PIN", "70382", "Welcome Ann", "1", "My account")
			c.expect(way...)
		}
	}, telephoneModel(t, nil)...)
}

// A node that is killed between any two hops loses no session; its neighbours,
// or its successor, go on.
// TestATelephoneHasAMeasure lets a number ask twice a day, whatever account it
// asks from and on whatever node; another number has a day of its own.
func TestATelephoneHasAMeasure(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		line := &telephone{world: w, retries: 3}
		c := &caller{t: t, line: line, phone: "+254700333444"}
		register := func(c *caller, session string) {
			t.Helper()
			c.dial(session)
			c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "5. Ask the oracle")
		}
		const enough = "You may ask 2 questions a day. Ask again tomorrow"
		register(c, "m1")
		for range 2 {
			if answer := c.expect("5", "Type your question", "What can you do?", "0. Back"); strings.Contains(answer, enough) {
				t.Errorf("refused too early: %q", answer)
			}
			c.expect("0", "My account")
		}
		c.expect("5", "Type your question", "What can you do?", enough, "0", "My account")
		for i := range w.Nodes {
			w.Node(i).Kill()
			w.Node(i).Start()
			w.Node(i).WaitReady()
		}
		register(c, "m2") // another account of the same telephone
		c.expect("5", "Type your question", "What can you do?", enough)
		other := &caller{t: t, line: line, phone: "+254700333445"}
		register(other, "m3")
		if answer := other.expect("5", "Type your question", "What can you do?", "0. Back"); strings.Contains(answer, enough) {
			t.Errorf("another number: %q", answer)
		}
		for _, n := range w.Nodes {
			if strings.Contains(n.Log(), "700333444") {
				t.Error("the log has a telephone number")
			}
		}
	}, append(telephoneModel(t, nil), "TELEPHONE_QUESTIONS_PER_DAY=2")...)
}

func TestAKilledNodeLosesNoTelephoneSession(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		c := &caller{t: t, line: &telephone{world: w}, phone: "+254700333444"}
		kill := func(i int) {
			t.Helper()
			n := w.Node(i)
			n.Kill()
			n.Start()
			n.WaitReady()
		}
		c.dial("k1")
		for i, step := range [][2]string{{"2", "Account menu"}, {"2", "full name"}, {"Ann", "e-mail"}, {"00", "PIN of 5"}, {"70382", "again"}, {"70382", "account ID is"}, {"1", "My account"}} {
			kill(i)
			c.expect(step[0], step[1])
			before := c.send()
			if i%3 == 2 {
				kill(i + 1) // between an answer and its repetition, too
			}
			if again := c.send(); again != before {
				t.Fatalf("a replay after a kill answers %q, was %q", again, before)
			}
		}
		// The PIN is in no log of the fleet.
		for i, n := range w.Nodes {
			if ussdtest.Leak(n.Log(), "70382") != "" {
				t.Errorf("node %d logged the PIN", i)
			}
		}
	})
}

var promise = regexp.MustCompile(`^(CON|END) `)

func TestEveryAnswerToAGatewayIsPlain(t *testing.T) {
	t.Parallel()
	n := system.Start(t, system.Embedded).Node(0)
	for _, body := range []string{"", "{}", "null", `{"sessionId":1}`, strings.Repeat("x", 1<<20), `{"sessionId":"s","serviceCode":"*1#","phoneNumber":"+254700000001","text":""}`} {
		reply := n.Post(t, "/api/ussd", body)
		if reply.Status != 200 || !promise.Match(reply.Body) || !strings.HasPrefix(reply.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%.40q: %d %s", body, reply.Status, reply.Body)
		}
		if reply.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("the session endpoint sends CORS headers")
		}
	}
}

// telephoneModel answers every question with one sentence, as soon as think is
// closed, or at once without it. It returns the settings that make the program ask.
func telephoneModel(t *testing.T, think <-chan struct{}) []string {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if think != nil {
			select {
			case <-think:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Water at dusk."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(func() {
		model.CloseClientConnections()
		model.Close()
	})
	return []string{"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + model.URL, "OPENAI_API_KEY=sk-test", "MODEL=dusk"}
}

// A slow answer is promised, and waits at every node for the next dial.
func TestASlowAnswerWaitsForTheNextDial(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			thinking := make(chan struct{})
			w := system.Start(t, shape, telephoneModel(t, thinking)...)
			c := &caller{t: t, line: &telephone{world: w}, phone: "+254700777888"}
			c.dial("p1")
			c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "My account",
				"5", "Type your question", "When to water?", "still thinking", "*", "END ")
			close(thinking)
			system.Eventually(t, "the answer is there", func() error {
				c.dial(fmt.Sprintf("p2-%d", c.line.turn.Load()))
				if got := c.expect("2", "Account menu", "1", "PIN", "70382", "Welcome Ann"); !strings.Contains(got, "2. Read your answer") {
					return fmt.Errorf("%q", got)
				}
				return nil
			})
			c.expect("2", "Water at dusk.", "0", "My account", "7", "Invalid selection")
		})
	}
}

// A telephone that was cut off goes on where it was, at any node.
func TestATelephoneThatWasCutOffGoesOn(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		c := &caller{t: t, line: &telephone{world: w}, phone: "+254700999111"}
		c.dial("r1")
		c.expect("2", "Account menu", "2", "full name", "Ann", "e-mail")
		c.session, c.text = "r2", ""
		if got := c.send(); !strings.HasPrefix(got, "CON Welcome back") {
			t.Fatalf("the second dial shows %q", got)
		}
		c.expect("1", "e-mail", "00", "PIN of 5", "70382", "again", "70382", "Welcome Ann!", "1", "My account")
		c.session, c.text = "r3", ""
		c.send()
		c.expect("1", "Enter your PIN", "70382", "My account") // a private place asks for the PIN
		stranger := &caller{t: t, line: c.line, phone: "+254700999222"}
		stranger.dial("r4")
	}, "USSD_RESUME_WINDOW=5m")
}
