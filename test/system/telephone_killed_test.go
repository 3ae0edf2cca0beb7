package system_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// killer kills a node with every request that it sends, and sends the request again to
// whoever comes next, as gateways do.
type killer struct {
	t    *testing.T
	w    *system.World
	turn int
}

// moments are how long after a request its node dies, as far as it has not answered by
// then: a hop takes a millisecond or two, one with a PIN or a call longer.
var moments = [...]time.Duration{
	0, time.Millisecond / 2, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond,
	80 * time.Millisecond,
}

// asked sends a request until it is answered.
func (k *killer) asked(n *system.Node, send func(*system.Node) (string, error)) (answer string) {
	k.t.Helper()
	n.WaitReady()
	system.Eventually(k.t, "the request is answered", func() error {
		got, err := send(n)
		if err == nil && got == unavailable {
			err = fmt.Errorf("%s", got)
		}
		answer = got
		return err
	})
	return answer
}

// hop sends a request to a node that dies of it: after it answered or while it works, as
// chance has it, or when dies is closed. It returns what the dead node answered, or "",
// and what the next one did.
func (k *killer) hop(send func(*system.Node) (string, error), dies <-chan struct{}) (told, answer string) {
	k.t.Helper()
	victim := k.w.Node(k.turn)
	victim.WaitReady()
	k.turn++
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if got, err := send(victim); err == nil && got != unavailable {
			told = got
		}
	}()
	var sudden <-chan time.Time
	if dies == nil && rand.N(2) == 0 {
		sudden = time.After(moments[rand.N(len(moments))])
	}
	select {
	case <-dies:
	case <-sudden:
	case <-answered:
	}
	victim.Kill()
	<-answered
	victim.Start()
	return told, k.asked(k.w.Node(k.turn), send)
}

// victim is a call of a telephone, all of whose hops kill.
type victim struct {
	*killer
	id, code, phone, text string
}

func (s *victim) send(n *system.Node) (string, error) {
	return postJSON(n, http.MethodPost, "/api/ussd",
		map[string]any{"sessionId": s.id, "serviceCode": s.code, "phoneNumber": s.phone, "text": s.text})
}

// walk types inputs, each with a part of the answer that must come. What was answered
// by a node that is dead now is answered again word for word.
func (s *victim) walk(pairs ...string) {
	s.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		s.types(pairs[i], pairs[i+1], nil)
	}
}

func (s *victim) types(input, want string, dies <-chan struct{}) {
	s.t.Helper()
	if input != "" {
		s.text = strings.TrimPrefix(s.text+"*"+input, "*")
	}
	told, answer := s.hop(s.send, dies)
	if !strings.Contains(answer, want) || told != "" && told != answer {
		s.t.Fatalf("%q is answered by a node that was killed with %q, by the next with %q; want …%s…", s.text, told, answer, want)
	}
}

// calmly types inputs while nobody is killed.
func (s *victim) calmly(pairs ...string) string {
	s.t.Helper()
	answer := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "" {
			s.text = strings.TrimPrefix(s.text+"*"+pairs[i], "*")
		}
		if answer = s.asked(s.w.Node(s.turn), s.send); !strings.Contains(answer, pairs[i+1]) {
			s.t.Fatalf("%q: %q, want …%s…", s.text, answer, pairs[i+1])
		}
	}
	return answer
}

// ledger is a program that gets webhooks, and counts under how many names each came.
type ledger struct {
	*httptest.Server
	mu    sync.Mutex
	names map[string]map[string]bool
	// meets, while it is set, gets a call and holds it until the node that made it is dead.
	meets chan struct{}
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{names: map[string]map[string]bool{}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Type string
			Data struct{ Webhook string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		what := body.Type + " " + body.Data.Webhook
		l.mu.Lock()
		if l.names[what] == nil {
			l.names[what] = map[string]bool{}
		}
		l.names[what][r.Header.Get("Webhook-Id")] = true
		meets := l.meets
		if body.Data.Webhook != "" {
			l.meets = nil
		}
		l.mu.Unlock()
		if meets != nil && body.Data.Webhook != "" {
			close(meets)
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprint(w, `{"price":"40","why":"-"}`)
	}))
	t.Cleanup(l.Close)
	return l
}

// next is closed when the next call of a menu arrives, which is never answered.
func (l *ledger) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meets = make(chan struct{})
	return l.meets
}

func (l *ledger) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.names[what])
}

// A node dies with every single request that makes a link, resets a PIN, sends a form and
// calls a program, and the request is sent again. Nothing that was answered is lost,
// nothing is there twice, and no code is good twice.
func TestANodeDiesWithEveryRequestOfATelephone(t *testing.T) {
	t.Parallel()
	rounds := 1
	if os.Getenv("CASTALIA_LONG") != "" {
		rounds = 20
	}
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			menu := filepath.Join(t.TempDir(), "menu.yaml")
			if err := os.WriteFile(menu, ussd.DefaultMenuSource(), 0o600); err != nil {
				t.Fatal(err)
			}
			w := system.Start(t, shape, "USSD_MENU="+menu, "WEBHOOKS_ALLOW_PRIVATE=true")
			who := somebody(t)
			k := &killer{t: t, w: w}
			program := newLedger(t)
			v := victims{killer: k, who: who, program: program, pin: "70382"}
			var hook struct{ ID string }
			v.ask(w.Node(0), http.MethodPost, "/api/webhooks", map[string]any{"url": program.URL, "events": []string{"menu.called", "form.submitted"}}, &hook)
			menus := string(ussd.DefaultMenuSource()) + "---\ncodes: [\"*901#\"]\n" +
				strings.ReplaceAll(ussdtest.FormMenu, "did:key:zowner", string(who.DID())) + "---\ncodes: [\"*902#\"]\n" + string(ussdtest.HookMenu(hook.ID))
			if err := os.WriteFile(menu, []byte(menus), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, n := range w.Nodes {
				n.Kill()
				n.Start()
			}
			v.account = v.register()
			for round := range rounds {
				v.round = round
				v.link()
				v.reset()
				v.form()
				v.call()
			}
			for i, n := range w.Nodes {
				for _, secret := range append(v.secrets, v.pin, v.phone()[1:]) {
					if found := ussdtest.Leak(n.Log(), secret); found != "" {
						t.Errorf("node %d logged %q", i, found)
					}
				}
			}
		})
	}
}

// victims are the telephones and people of the test.
type victims struct {
	*killer
	who          did.Signer
	program      *ledger
	account, pin string
	round        int
	calls        int
	secrets      []string
}

func (v *victims) phone() string { return "+254700121212" }

func (v *victims) dial(code string) *victim {
	v.calls++
	return &victim{killer: v.killer, id: fmt.Sprint("killed", v.calls), code: code, phone: v.phone()}
}

// try asks as the person with the key.
func (v *victims) try(n *system.Node, method, path string, in, out any) error {
	web, err := oracleclient.New(v.t.Context(), oracleclient.Config{Server: n.URL, Signer: v.who})
	if err != nil {
		return err
	}
	return web.Do(v.t.Context(), method, path, in, out)
}

func (v *victims) ask(n *system.Node, method, path string, in, out any) {
	v.t.Helper()
	n.WaitReady()
	if err := v.try(n, method, path, in, out); err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
}

func (v *victims) operator(path string, out any) {
	v.t.Helper()
	n := v.w.Node(v.turn)
	n.WaitReady()
	n.Get(v.t, "/operator/ussd"+path).JSON(v.t, out)
}

// acts counts what was done to the account.
func (v *victims) acts(what string) (n int) {
	v.t.Helper()
	var list struct{ Acts []struct{ Act string } }
	v.operator("/acts?limit=500&account="+v.account, &list)
	for _, a := range list.Acts {
		if a.Act == what {
			n++
		}
	}
	return n
}

func (v *victims) register() string {
	made := v.dial("*2233#").calmly("", "Welcome", "2", "Account menu", "2", "full name", "Ann", "e-mail", "00", "PIN of 5", v.pin, "again", v.pin, "account ID is")
	_, made, _ = strings.Cut(made, "account ID is ")
	return made[:9]
}

// codes makes a code at a node that dies of it, and again. It returns those that were
// told: the last alone is good.
func (v *victims) codes(ask func(n *system.Node, told *struct{ Code string }) error) (void, good string) {
	v.t.Helper()
	void, good = v.hop(func(n *system.Node) (string, error) {
		var told struct{ Code string }
		err := ask(n, &told)
		return told.Code, err
	}, nil)
	v.secrets = append(v.secrets, good)
	return void, good
}

func (v *victims) link() {
	v.t.Helper()
	linked := v.acts("linked")
	void, code := v.codes(func(n *system.Node, told *struct{ Code string }) error {
		return v.try(n, http.MethodPost, "/api/telephones", ussdpeoplehttp.NewLink{Account: v.account}, told)
	})
	s := v.dial("*2233#")
	s.walk("", "Welcome", "2", "Account menu", "1", "Enter your PIN", v.pin, "Welcome Ann", "1", "My account", "1", "Link web", "1", "Enter your PIN", v.pin, "8 digits")
	if void != "" {
		s.walk(void, "Wrong code")
	}
	s.walk(code, "Link this account with did:key:", "1", "Your account is linked")
	var list ussdpeoplehttp.LinkList
	v.ask(v.w.Node(v.turn), http.MethodGet, "/api/telephones", nil, &list)
	if len(list.Telephones) != 1 || list.Telephones[0].Account != v.account || v.acts("linked") != linked+1 {
		v.t.Errorf("after a link: %+v, %d acts", list, v.acts("linked")-linked)
	}
	v.hop(func(n *system.Node) (string, error) {
		return "", v.try(n, http.MethodDelete, "/api/telephones/"+v.account, nil, nil)
	}, nil)
	s = v.dial("*2233#")
	s.calmly("", "Welcome", "2", "Account menu", "1", "Enter your PIN", v.pin, "Welcome Ann", "1", "My account", "1", "Link web", "1", "Enter your PIN", v.pin, "8 digits",
		code, "Wrong code")
}

func (v *victims) reset() {
	v.t.Helper()
	resets := v.acts("PIN reset")
	void, code := v.codes(func(n *system.Node, told *struct{ Code string }) error {
		reply, err := n.Try(v.t.Context(), system.Call{Method: http.MethodPost, Path: "/operator/ussd/accounts/" + v.account + "/reset-pin"})
		if err != nil {
			return err
		}
		return json.Unmarshal(reply.Body, told)
	})
	old := v.pin
	v.pin = []string{"48217", "60481", "70382"}[v.round%3]
	s := v.dial("*2233#")
	s.walk("", "Welcome", "2", "Account menu", "1", "Enter your PIN", "01", "8 digits")
	if void != "" {
		s.walk(void, "Wrong account or code")
	}
	s.walk(code, "Choose a new PIN", v.pin, "again", v.pin, "Welcome Ann")
	if n := v.acts("PIN reset"); n != resets+1 {
		v.t.Errorf("one PIN was reset, %d are noted", n-resets)
	}
	v.dial("*2233#").calmly("", "Welcome", "2", "Account menu", "1", "Enter your PIN", "01", "8 digits", code, "Wrong account or code")
	v.dial("*2233#").calmly("", "Welcome", "2", "Account menu", "1", "Enter your PIN", old, "Wrong", v.pin, "Welcome Ann")
}

func (v *victims) form() {
	v.t.Helper()
	v.dial("*901#").walk("", "Name?", "Ann", "Acres?", "12", "Born?", "03021990", "Crop?", "2", "May we", "1", "END Thank you")
	var list struct {
		Submissions []struct {
			Values []struct{ Name, Value string }
		}
	}
	v.operator("/forms/farm", &list)
	if len(list.Submissions) != v.round+1 || len(list.Submissions[v.round].Values) != 4 {
		v.t.Errorf("%d forms were sent, there are %+v", v.round+1, list)
	}
	system.Eventually(v.t, "the owner is told of each form once", func() error {
		if n := v.program.count("form.submitted "); n != v.round+1 {
			return fmt.Errorf("%d of %d", n, v.round+1)
		}
		return nil
	})
}

func (v *victims) call() {
	v.t.Helper()
	s := v.dial("*902#")
	s.walk("", "Welcome. Crop?")
	s.types("maize", "maize is 40.", v.program.next())
	s.walk("7", "END Ordered")
	s = v.dial("*902#")
	s.walk("", "Welcome. Crop?", "beans", "beans is 40.")
	s.types("9", "END Ordered", v.program.next())
	for _, what := range []string{"menu.called price", "menu.called order"} {
		if n := v.program.count(what); n != 2*(v.round+1) {
			v.t.Errorf("%s: %d calls were made under %d names", what, 2*(v.round+1), n)
		}
	}
}
