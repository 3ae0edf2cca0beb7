package system_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/test/system"
)

// texter plays a gateway of text messages. It does what before says first.
type texter struct {
	*httptest.Server
	kind   string
	before atomic.Pointer[func()]

	mu   sync.Mutex
	sent map[string][]string // what came under each name, of each number
}

const (
	smsToken  = "token-of-a-test"
	smsSecret = "a-word-that-both-know"
)

func newTexter(t *testing.T, kind string) *texter {
	t.Helper()
	g := &texter{kind: kind, sent: map[string][]string{}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		to, text := r.Form.Get("to"), r.Form.Get("message")
		if kind == "twilio" {
			to, text = r.Form.Get("To"), r.Form.Get("Body")
			if user, token, _ := r.BasicAuth(); user != "account" || token != smsToken {
				t.Errorf("%s comes with %s", user, token)
			}
		} else if r.Header.Get("apiKey") != smsToken {
			t.Error("no key")
		}
		g.mu.Lock()
		g.sent[to] = append(g.sent[to], r.Header.Get("Idempotency-Key")+" "+text)
		g.mu.Unlock()
		if do := g.before.Swap(nil); do != nil {
			(*do)()
		}
		w.WriteHeader(http.StatusCreated)
		if kind == "twilio" {
			_, _ = io.WriteString(w, `{"sid":"SM1","num_segments":"1","price":null,"price_unit":"USD"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"SMSMessageData":{"Recipients":[{"statusCode":101,"number":%q,"cost":"KES 0.8000","messageId":"ATXid_1"}]}}`, to)
	}))
	t.Cleanup(g.Close)
	return g
}

// of lists what a number was sent: how often, and under which names.
func (g *texter) of(number string) (messages []string, names int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[string]bool{}
	for _, m := range g.sent[number] {
		name, _, _ := strings.Cut(m, " ")
		seen[name] = true
	}
	return slices.Clone(g.sent[number]), len(seen)
}

// arrives waits for a message to a number that contains a text.
func (g *texter) arrives(t *testing.T, number, text string) (message string) {
	t.Helper()
	system.Eventually(t, "a message arrives: "+text, func() error {
		messages, _ := g.of(number)
		for _, m := range messages {
			if strings.Contains(m, text) {
				message = m
				return nil
			}
		}
		return fmt.Errorf("there are %q", messages)
	})
	return message
}

// hands posts a message of a number to a node, as the gateway does.
func (g *texter) hands(t *testing.T, n *system.Node, id, number, text string, proof bool) int {
	t.Helper()
	form, path, header := url.Values{"id": {id}, "from": {number}, "to": {"2233"}, "text": {text}}, "/api/sms/africastalking?secret=", http.Header{}
	if proof {
		path += smsSecret
	}
	if g.kind == "twilio" {
		form, path = url.Values{"MessageSid": {id}, "From": {number}, "To": {"+15005550006"}, "Body": {text}}, "/api/sms/twilio"
		mac := hmac.New(sha1.New, []byte(smsToken))
		_, _ = io.WriteString(mac, n.URL+path)
		for _, name := range slices.Sorted(maps.Keys(form)) {
			_, _ = io.WriteString(mac, name+form.Get(name))
		}
		if proof {
			header.Set("X-Twilio-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
	}
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := n.Try(t.Context(), system.Call{Method: http.MethodPost, Path: path, Body: form.Encode(), Header: header})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Status
}

var beginsWith = regexp.MustCompile(`begins with (\d{3});`)

// Codes, promised answers and replies go out as messages, under one name each, also
// when every node is killed while the gateway has one; nobody else makes the program
// send; a number gets no more than its limit, and none after STOP.
func TestTelephonesGetAndSendTextMessages(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"africastalking", "twilio"} {
		for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
			t.Run(kind+"/"+string(shape), func(t *testing.T) {
				t.Parallel()
				gateway := newTexter(t, kind)
				thinking := make(chan struct{})
				w := system.Start(t, shape, append(telephoneModel(t, thinking), "SMS_GATEWAY="+kind, "SMS_URL="+gateway.URL,
					"SMS_ACCOUNT=account", "SMS_KEY="+smsToken,
					"SMS_FROM=+15005550006", "SMS_SECRET="+smsSecret, "SMS_ALLOW_PRIVATE=true", "SMS_NUMBER_PARTS=4", "SMS_PRICE=USD 0.01")...)
				line := &telephone{world: w, retries: 3}
				const ann, ben = "+254700888111", "+254700888222"

				// A promised answer is announced, and not told.
				c := &caller{t: t, line: line, phone: ann}
				c.dial("s1")
				c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "My account",
					"5", "Type your question", "When to water?", "still thinking", "*", "END ")
				close(thinking)
				if ready := gateway.arrives(t, ann, "your answer is ready"); strings.Contains(ready, "dusk") {
					t.Error(ready)
				}

				// A code goes to the telephone and to the operator, in halves.
				var list struct{ Accounts []struct{ Account string } }
				operatorCall(t, line, http.MethodPost, "/accounts/search", `{"phoneNumber":"`+ann+`"}`, &list)
				reset := "/operator/ussd/accounts/" + list.Accounts[0].Account + "/reset-pin/sms"
				reply := w.Node(1).Post(t, reset, "")
				var told struct{ Code string }
				reply.JSON(t, &told)
				begin := beginsWith.FindStringSubmatch(gateway.arrives(t, ann, "your code for a new PIN"))
				if reply.Status != http.StatusOK || len(told.Code) != 5 || len(begin) != 2 {
					t.Fatalf("%d %q", reply.Status, begin)
				}
				code := begin[1] + told.Code
				c.dial("s2")
				c.expect("2", "", "1", "Enter your PIN", "01", "8 digits", code, "Choose a new PIN")

				// A message asks once. All nodes die while the gateway has the reply.
				done := make(chan struct{})
				kill := func() {
					for _, n := range w.Nodes {
						n.Kill()
					}
					for _, n := range w.Nodes {
						n.Start()
					}
					for _, n := range w.Nodes {
						n.WaitReady()
					}
					close(done)
				}
				if status := gateway.hands(t, w.Node(0), "forged1", ben, "When to water?", false); status != http.StatusForbidden {
					t.Errorf("without proof: %d", status)
				}
				gateway.before.Store(&kill)
				if status := gateway.hands(t, w.Node(0), "m1", ben, "When to water?", true); status != http.StatusOK {
					t.Fatalf("%d", status)
				}
				<-done
				if status := gateway.hands(t, w.Node(2), "m1", ben, "When to water?", true); status != http.StatusOK {
					t.Fatalf("again: %d", status)
				}
				system.Eventually(t, "the reply is sent by those who come after", func() error {
					if messages, names := gateway.of(ben); names != 1 || len(messages) < 2 || !strings.Contains(messages[0], "Water at dusk.") {
						return fmt.Errorf("%d: %q", names, messages)
					}
					return nil
				})

				// No number gets more than its parts, however much it asks.
				for i := range 8 {
					gateway.hands(t, w.Node(i), fmt.Sprint("flood", i), ben, "More?", true)
				}
				var figures struct {
					Messages []struct {
						Kind, State, Currency string
						Messages, Parts       int
					}
				}
				system.Eventually(t, "all are answered or refused", func() error {
					figures.Messages = nil
					operatorCall(t, line, http.MethodGet, "/figures", "", &figures)
					sent, refused := 0, 0
					for _, m := range figures.Messages {
						if m.Kind == "reply" && m.State == "sent" {
							sent += m.Messages
						}
						if m.Kind == "reply" && m.State == "refused" {
							refused += m.Messages
						}
					}
					if sent != 4 || refused != 5 {
						return fmt.Errorf("%+v", figures)
					}
					return nil
				})
				if _, names := gateway.of(ben); names != 4 {
					t.Errorf("%d messages", names)
				}

				// STOP ends them.
				gateway.hands(t, w.Node(0), "stop1", ann, "STOP", true)
				if reply := w.Node(1).Post(t, reset, ""); reply.Status != http.StatusConflict ||
					!strings.Contains(string(reply.Body), "wants no messages") {
					t.Errorf("after STOP: %d %s", reply.Status, reply.Body)
				}
				gateway.hands(t, w.Node(0), "start1", ann, "START", true)
				if reply := w.Node(1).Post(t, reset, ""); reply.Status != http.StatusOK {
					t.Errorf("after START: %d %s", reply.Status, reply.Body)
				}
				for _, n := range w.Nodes {
					for _, secret := range []string{"254700888", code, smsToken, smsSecret} {
						if strings.Contains(n.Log(), secret) {
							t.Errorf("%s is in a log", secret)
						}
					}
				}
			})
		}
	}
}
