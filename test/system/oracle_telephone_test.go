package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// handset types on a telephone, at a node of its choice, and sends again what was
// not answered, as gateways do.
type handset struct {
	world          *World
	session, phone string
	text           string
}

const handsetPIN = "70382"

// send delivers what was typed so far until a node answers. Every node may be the
// next one: dead ones do not answer.
func (h *handset) send(t *testing.T, node int) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"sessionId": h.session, "serviceCode": "*2233#", "phoneNumber": h.phone, "text": h.text})
	if err != nil {
		t.Fatal(err)
	}
	var screen string
	Eventually(t, "the telephone is answered", func() error {
		reply, err := h.world.Node(node).Try(t.Context(), Call{
			Method: http.MethodPost, Path: "/api/ussd", Body: string(body), Header: http.Header{"Content-Type": {"application/json"}},
		})
		node++
		switch {
		case err != nil:
			return err
		case reply.Status != http.StatusOK || strings.Contains(string(reply.Body), "unavailable"):
			return fmt.Errorf("%d %s", reply.Status, reply.Body)
		}
		screen = string(reply.Body)
		return nil
	})
	text := strings.TrimPrefix(strings.TrimPrefix(screen, "CON "), "END ")
	if n := utf8.RuneCountInString(text); n > 160 {
		t.Errorf("a screen of %d characters: %q", n, text)
	}
	return text
}

func (h *handset) key(t *testing.T, node int, input string) string {
	t.Helper()
	if h.text != "" {
		h.text += "*"
	}
	h.text += input
	return h.send(t, node)
}

func (h *handset) dial(t *testing.T, node int, session string, keys ...string) string {
	t.Helper()
	h.session, h.text = session, ""
	screen := h.send(t, node)
	for _, k := range keys {
		screen = h.key(t, node, k)
	}
	return screen
}

// whole reads a screen page by page until its options come.
func (h *handset) whole(t *testing.T, node int, screen, until string) string {
	t.Helper()
	all := screen
	for range 20 {
		if strings.Contains(screen, until) {
			return all
		}
		if !strings.Contains(screen, "98. ") {
			break
		}
		screen = h.key(t, node, "98")
		all += "\n" + screen
	}
	t.Fatalf("%q never came: %q", until, all)
	return ""
}

// answer is what the telephone shows in the end: what was promised is read after
// the next login.
func (h *handset) answer(t *testing.T, node int, screen string, want ...string) string {
	t.Helper()
	calls := 0
	Eventually(t, "the answer is there", func() error {
		for _, w := range want {
			if strings.Contains(screen, w) {
				return nil
			}
		}
		calls++
		screen = h.dial(t, node, fmt.Sprintf("%s-again-%d", h.phone, calls), "2", "1", handsetPIN)
		if !strings.Contains(screen, "Read your answer") {
			return errors.New(screen)
		}
		screen = h.key(t, node, "2")
		return errors.New(screen)
	})
	return screen
}

// TestApprovalsByTelephone approves and denies what the oracle wants to do on a
// telephone, while the nodes that work are killed: everything is done once.
func TestApprovalsByTelephone(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newClerk(t)
			w := Start(t, shape, model.env()...)
			for i, c := range []struct {
				point, key, said string
				sent             int
			}{
				{"", "1", "I did: sent ", 1},
				{"", "2", "I did: ", 0},
				{"the call waits", "1", "I did: sent ", 1},
				{"the model is asked for the answer", "1", "I did: sent ", 1},
			} {
				t.Run(c.point+" "+c.key, func(t *testing.T) {
					text := fmt.Sprint("letter ", i, ": maize and beans for the market of the valley, and all the millet of the hill")
					h := &handset{world: w, phone: fmt.Sprintf("+26097990%04d", i)}
					first := w.Node(0)
					revive := func() {
						first.Start()
						first.WaitReady()
					}
					screen := h.dial(t, 0, fmt.Sprint("call-", i), "2", "2", "Ann", "00", handsetPIN, handsetPIN, "1", "5", "send "+text)
					screen = h.answer(t, 0, screen, "May I do this?")
					shown := h.whole(t, 0, screen, "1. Yes, do it")
					for _, part := range []string{"post__send (until ", "UTC)", "text: ", "maize and beans"} {
						if !strings.Contains(shown, part) {
							t.Errorf("the question lacks %q: %s", part, shown)
						}
					}
					died := make(chan struct{})
					if c.point == "the call waits" {
						first.Kill()
						revive()
					} else if c.point != "" {
						model.when(c.point, func() {
							first.Kill()
							go func() {
								revive()
								close(died)
							}()
						})
					}
					screen = h.key(t, 0, c.key)
					screen = h.answer(t, 1, screen, "I did: ")
					if c.point == "the model is asked for the answer" {
						<-died
					}
					if !strings.HasPrefix(screen, c.said) {
						t.Errorf("the telephone shows %q", screen)
					}
					if n := model.sent(text); n != c.sent {
						t.Errorf("it was sent %d times, want %d", n, c.sent)
					}
				})
			}
		})
	}
}

// TestApprovalsByTelephoneExpire lets the time pass: the telephone says that it is
// too late, nothing is done, and what the oracle says instead can be read.
func TestApprovalsByTelephoneExpire(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model, over := newClerk(t), make(chan struct{})
			model.when("the model is asked for the answer", func() { close(over) })
			w := Start(t, shape, append(model.env(), "APPROVAL_TIMEOUT=10s")...)
			h := &handset{world: w, phone: "+260979909999"}
			screen := h.dial(t, 0, "late", "2", "2", "Ann", "00", handsetPIN, handsetPIN, "1", "5", "send a letter")
			h.whole(t, 0, h.answer(t, 0, screen, "May I do this?"), "1. Yes, do it")
			select {
			case <-over:
			case <-t.Context().Done():
				t.Fatal("the turn never went on")
			}
			screen = h.key(t, 1, "1")
			if !strings.Contains(screen, "Too late to decide.") {
				t.Errorf("the telephone shows %q", screen)
			}
			h.answer(t, 2, screen, "I did: ")
			if n := model.sent("a letter"); n != 0 {
				t.Errorf("it was sent %d times", n)
			}
		})
	}
}
