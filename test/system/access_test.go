package system

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

const gatekeeper = "the operator's own token"

// guest is somebody with a key who may or may not be a member.
type guest struct {
	identitytest.Actor
	chat, files string
}

func newGuest(t *testing.T, w *World, who identitytest.Actor) guest {
	t.Helper()
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	return guest{who, identitytest.Invocation(t, who, document.ID), identitytest.Files(t, who, document.ID, "fs/*")}
}

func (g guest) call(method, path, body string) Call {
	return Call{Method: method, Path: path, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + g.chat}, "X-Auth-Type": {"ucan"},
	}}
}

func (g guest) redeem(code string) Call {
	return g.call(http.MethodPost, "/api/invitations/redeem", `{"code":"`+code+`"}`)
}

// knocks tries every surface of a node and returns what each said.
func (g guest) knocks(t *testing.T, n *Node) map[string]Reply {
	t.Helper()
	files := http.Header{"Authorization": {"Bearer " + g.files}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	return map[string]Reply{
		"oracle": n.Do(t, g.call(http.MethodGet, "/sessions", "")),
		"calls":  n.Do(t, g.call(http.MethodGet, "/calls?sessionId=none", "")),
		"files":  n.Do(t, Call{Method: http.MethodGet, Path: "/api/fs/usage", Header: files}),
		"mcp":    n.Do(t, Call{Method: http.MethodPost, Path: "/mcp", Header: files, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}),
		"query":  n.Do(t, Call{Method: http.MethodGet, Path: "/ixo/entity", Header: http.Header{"Authorization": {"Bearer " + g.chat}}}),
	}
}

// outside checks that every door of every node is shut, and says what to do.
func (g guest) outside(t *testing.T, w *World) {
	t.Helper()
	for i, n := range w.Nodes {
		for door, reply := range g.knocks(t, n) {
			if body := string(reply.Body); reply.Status != http.StatusForbidden || !strings.Contains(body, `"reason":"not_a_member"`) ||
				!strings.Contains(body, "by invitation: ask its operator for a link") {
				t.Errorf("%s at %s of node %d: %d %s", g.Name, door, i, reply.Status, reply.Body)
			}
		}
		_, refusal := socketiotest.TryConnect(t, n.URL+"/socket.io/", "sessionId=any", map[string]string{"invocation": g.chat})
		if !strings.Contains(refusal, "by invitation") || !strings.Contains(refusal, `"statusCode":403`) {
			t.Errorf("%s at the socket of node %d: %s", g.Name, i, refusal)
		}
	}
}

func (g guest) inside(t *testing.T, w *World) {
	t.Helper()
	for i, n := range w.Nodes {
		for door, reply := range g.knocks(t, n) {
			if reply.Status == http.StatusForbidden || reply.Status >= 500 || reply.Status == http.StatusUnauthorized {
				t.Errorf("%s at %s of node %d: %d %s", g.Name, door, i, reply.Status, reply.Body)
			}
		}
	}
}

func asGatekeeper(method, path, body string) Call {
	return Call{
		Method: method, Path: path, Body: body,
		Header: http.Header{"Authorization": {"Bearer " + gatekeeper}, "Content-Type": {"application/json"}},
	}
}

type invitation struct {
	ID, Code, Path string
	Uses, MaxUses  int
}

func invite(t *testing.T, n *Node, uses int) invitation {
	t.Helper()
	var made invitation
	n.Do(t, asGatekeeper(http.MethodPost, "/operator/invitations", fmt.Sprintf(`{"maxUses":%d,"note":"test"}`, uses))).JSON(t, &made)
	if made.Code == "" || made.Path != "/console/invite#"+made.Code {
		t.Fatalf("an invitation: %+v", made)
	}
	return made
}

func used(t *testing.T, n *Node, id string) int {
	t.Helper()
	var list struct{ Invitations []invitation }
	n.Do(t, asGatekeeper(http.MethodGet, "/operator/invitations", "")).JSON(t, &list)
	for _, i := range list.Invitations {
		if i.ID == id {
			return i.Uses
		}
	}
	t.Fatalf("no invitation %s in %+v", id, list)
	return 0
}

// TestMembersComeByInvitation walks strangers through every door, lets them in by
// a link, and shows a member out at once, everywhere.
func TestMembersComeByInvitation(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		ann, ben := newGuest(t, w, identitytest.NewActor("ann")), newGuest(t, w, identitytest.NewActor("ben"))
		ann.outside(t, w)
		made := invite(t, w.Node(0), 1)
		if got := w.Node(1).Do(t, ann.redeem(strings.ToLower(made.Code))); got.Status != http.StatusNotFound {
			t.Errorf("another spelling of the code: %d %s", got.Status, got.Body)
		}
		for i := range 3 { // on any node, and again
			if got := w.Node(i).Do(t, ann.redeem(made.Code)); got.Status != http.StatusOK {
				t.Fatalf("redeem: %d %s", got.Status, got.Body)
			}
		}
		ann.inside(t, w)
		if got := w.Node(2).Do(t, ben.redeem(made.Code)); got.Status != http.StatusGone ||
			!strings.Contains(string(got.Body), "used up") {
			t.Errorf("one too many: %d %s", got.Status, got.Body)
		}
		ben.outside(t, w)
		shares(t, w, ann, ben)
		links := plainLinks(t, w, ann)

		// The command line sees the same book, beside the running program.
		if text, code := Run(t, w.Env, "members", "list"); code != 0 || !strings.Contains(text, ann.DID) {
			t.Errorf("members list: %d %s", code, text)
		}
		if text, code := Run(t, w.Env, "members", "add", ben.DID); code != 0 || !strings.Contains(text, "added") {
			t.Errorf("members add: %d %s", code, text)
		}
		ben.inside(t, w)

		pages := make(chan struct{}, len(w.Nodes))
		var session struct{ SessionID string }
		w.Node(0).Do(t, ann.call(http.MethodPost, "/sessions", "{}")).JSON(t, &session)
		for _, n := range w.Nodes {
			page := socketiotest.Connect(t, n.URL+"/socket.io/", "sessionId="+session.SessionID, map[string]string{"invocation": ann.chat})
			go func() {
				watch(page, make(chan seen, 100))
				pages <- struct{}{}
			}()
		}
		if got := w.Node(0).Do(t, asGatekeeper(http.MethodDelete, "/operator/members/"+ann.DID, "")); got.Status != http.StatusNoContent {
			t.Fatalf("remove: %d %s", got.Status, got.Body)
		}
		for range w.Nodes {
			<-pages // every socket ends, or the test does not
		}
		ann.outside(t, w)
		for i, n := range w.Nodes {
			for _, link := range links {
				if got := n.Do(t, link); got.Status != http.StatusGone {
					t.Errorf("%s %s at node %d after its owner: %d %s", link.Method, link.Path, i, got.Status, got.Body)
				}
			}
		}
		if got := w.Node(1).Do(t, ann.redeem(made.Code)); got.Status != http.StatusForbidden {
			t.Errorf("back by the old link: %d %s", got.Status, got.Body)
		}
		ben.inside(t, w)
	}, "ACCESS=invite", "OPERATOR_TOKEN="+gatekeeper, "QUERY_AUTH=ucan")
}

// shares lets a stranger read what a member shared, and nothing else.
func shares(t *testing.T, w *World, member, stranger guest) {
	t.Helper()
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	put := w.Node(0).Do(t, Call{Method: http.MethodPost, Path: "/api/fs/files?path=/shared/a.txt", Body: "it rains", Header: http.Header{
		"Authorization": {"Bearer " + member.files}, "Content-Type": {"text/plain"},
	}})
	if put.Status != http.StatusCreated {
		t.Fatalf("store: %d %s", put.Status, put.Body)
	}
	link := identitytest.Delegation(t, member.Actor, stranger.DID, identitytest.Can("fs/read", member.Home("/shared")))
	token := identitytest.Files(t, stranger.Actor, document.ID, "", identitytest.Can("fs/read", member.Home("/shared")),
		identitytest.Proof(link))
	got := w.Node(1).Do(t, Call{Method: http.MethodGet, Path: "/api/fs/content?path=/shared/a.txt", Header: http.Header{"Authorization": {"Bearer " + token}}})
	if got.Status != http.StatusOK || string(got.Body) != "it rains" {
		t.Errorf("a link of a member: %d %s", got.Status, got.Body)
	}
}

// plainLinks makes a link for reading and one for uploads, and returns how they are used.
func plainLinks(t *testing.T, w *World, member guest) (uses []Call) {
	t.Helper()
	for kind, body := range map[string]string{"plain": `{"path":"/shared/a.txt"}`, "upload": `{"path":"/in","maxBytes":1000,"expiresAt":"2100-01-01T00:00:00Z"}`} {
		var made struct{ URL string }
		w.Node(0).Do(t, Call{Method: http.MethodPost, Path: "/api/fs/shares/" + kind, Body: body, Header: http.Header{
			"Authorization": {"Bearer " + member.files}, "Content-Type": {"application/json"},
		}}).JSON(t, &made)
		_, secret, _ := strings.Cut(made.URL, "/s/")
		use := Call{Method: http.MethodGet, Path: "/s/" + secret}
		if kind == "upload" {
			use = Call{Method: http.MethodPut, Path: "/s/" + secret + "/b.txt", Body: "it pours"}
		}
		if got := w.Node(1).Do(t, use); got.Status >= 300 {
			t.Errorf("a member's link: %d %s", got.Status, got.Body)
		}
		uses = append(uses, use)
	}
	return uses
}

// TestAnInvitationCountsOnceForEachPerson has many people redeem one link on all
// nodes at once while a node is killed: never more come in than may, and whose
// answer got lost asks again and is in.
func TestAnInvitationCountsOnceForEachPerson(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		const uses, people = 6, 10
		made := invite(t, w.Node(0), uses)
		var guests []guest
		for i := range people {
			guests = append(guests, newGuest(t, w, identitytest.NewActor(fmt.Sprint("guest ", i))))
		}
		var (
			wg   sync.WaitGroup
			once sync.Once
			mu   sync.Mutex
			in   = map[string]bool{}
		)
		for i, g := range guests {
			for k := range 2 {
				wg.Go(func() {
					reply, err := w.Node(i+k).Try(t.Context(), g.redeem(made.Code))
					if err == nil && reply.Status == http.StatusOK {
						mu.Lock()
						in[g.DID] = true
						mu.Unlock()
					}
					once.Do(func() { w.Node(0).Kill() })
				})
			}
		}
		wg.Wait()
		w.Node(0).Start()
		w.Node(0).WaitReady()
		admitted := 0
		for i, g := range guests {
			reply := w.Node(i).Do(t, g.redeem(made.Code))
			switch {
			case reply.Status == http.StatusOK:
				admitted++
			case reply.Status != http.StatusGone || in[g.DID]:
				t.Errorf("guest %d, who was told %t: %d %s", i, in[g.DID], reply.Status, reply.Body)
			}
		}
		if n := used(t, w.Node(1), made.ID); admitted != uses || n != uses {
			t.Errorf("%d came in, %d uses are counted, want %d", admitted, n, uses)
		}
	}, "ACCESS=invite", "OPERATOR_TOKEN="+gatekeeper)
}

// TestADayHasAMeasure counts messages and costs over nodes and their deaths.
func TestADayHasAMeasure(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newPuppet(t)
			// Three calls of the model fit; the fourth begins when the day is spent.
			w := Start(t, shape, append(model.env(), puppetPrices, "MESSAGES_PER_DAY=4", "MODEL_COST_PER_DAY=0.0162")...)
			measured(t, w)
		})
	}
}

func measured(t *testing.T, w *World) {
	send := func(n *Node, c *chatter, text string) Reply {
		t.Helper()
		return c.do(t, n, http.MethodPost, "/messages/"+c.session, `{"message":"`+text+`"}`)
	}
	limited := func(what string, reply Reply, code string) {
		t.Helper()
		var body struct {
			Message, Code, ResetsAt string
			Limit                   float64
		}
		reply.JSON(t, &body)
		if reply.Status != http.StatusTooManyRequests || body.Code != code || body.Limit == 0 || body.ResetsAt == "" ||
			!strings.Contains(body.Message, body.ResetsAt) || reply.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, reply.Status, reply.Body)
		}
	}
	spender := newChatter(t, w, identitytest.NewActor("spender"))
	Eventually(t, "the day is spent", func() error { // a title may cost something too
		reply := send(w.Node(0), spender, "hello")
		if reply.Status == http.StatusTooManyRequests {
			limited("a day that is spent", reply, "model_cost_per_day")
			return nil
		}
		return fmt.Errorf("%d %s", reply.Status, reply.Body)
	})
	w.Node(0).Kill()
	w.Node(0).Start()
	w.Node(0).WaitReady()
	limited("after a crash", send(w.Node(0), spender, "hello"), "model_cost_per_day")
	limited("at another node", send(w.Node(1), spender, "hello"), "model_cost_per_day")
}

// TestMessagesOfADayAreCounted is for models that cost nothing.
func TestMessagesOfADayAreCounted(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		boss := newChatter(t, w, identitytest.NewActor("boss"))
		var taken sync.Map
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				c := *boss
				var made struct{ SessionID string }
				c.do(t, w.Node(i), http.MethodPost, "/sessions", "{}").JSON(t, &made)
				if c.do(t, w.Node(i), http.MethodPost, "/messages/"+made.SessionID, `{"message":"hello"}`).Status == http.StatusOK {
					taken.Store(i, true)
				}
			})
		}
		wg.Wait()
		n := 0
		taken.Range(func(any, any) bool { n++; return true })
		if n != 3 {
			t.Errorf("%d messages of nine were taken, want 3", n)
		}
		w.Node(0).Kill()
		w.Node(0).Start()
		w.Node(0).WaitReady()
		if got := boss.do(t, w.Node(0), http.MethodPost, "/messages/"+boss.session,
			`{"message":"hello"}`); got.Status != http.StatusTooManyRequests {
			t.Errorf("after a crash: %d %s", got.Status, got.Body)
		}
		// Whoever may read goes on reading, and others have a day of their own.
		if got := boss.do(t, w.Node(1), http.MethodGet, "/messages/"+boss.session, ""); got.Status != http.StatusOK {
			t.Errorf("reading: %d %s", got.Status, got.Body)
		}
		other := newChatter(t, w, identitytest.NewActor("another"))
		if got := other.do(t, w.Node(1), http.MethodPost, "/messages/"+other.session, `{"message":"hello"}`); got.Status != http.StatusOK {
			t.Errorf("another user: %d %s", got.Status, got.Body)
		}
	}, "MESSAGES_PER_DAY=3")
}

// TestAProductionDeploymentChooses starts one as an operator would.
func TestAProductionDeploymentChooses(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			w := Prepare(t, shape, "CASTALIA_ENV=production")
			w.Node(0).Start()
			<-w.Node(0).Done()
			if log := w.Node(0).Log(); w.Node(0).ExitCode() != 1 || !strings.Contains(log, "ACCESS=open (everybody who makes a key), ACCESS=invite") {
				t.Fatalf("exit code %d:\n%s", w.Node(0).ExitCode(), log)
			}
			w.Env = append(w.Env, "ACCESS=closed")
			w.Node(0).Start()
			w.Node(0).WaitReady()
			var features struct{ Access string }
			w.Node(0).Get(t, "/console/features.json").JSON(t, &features)
			if features.Access != "closed" {
				t.Errorf("access is %q", features.Access)
			}
			link, code := Run(t, append(w.Env, "CASTALIA_URL=https://oracle.example.org"), "invite", "--uses", "3", "--for", "1h")
			if code != 0 || !strings.Contains(link, "https://oracle.example.org/console/invite#") {
				t.Errorf("invite: %d %s", code, link)
			}
			list, code := Run(t, w.Env, "invite", "list")
			if code != 0 || !strings.Contains(list, "0 of 3 used") {
				t.Fatalf("invite list: %d %s", code, list)
			}
			if text, code := Run(t, w.Env, "invite", "revoke", strings.Fields(list)[0]); code != 0 {
				t.Errorf("invite revoke: %d %s", code, text)
			}
			if text, code := Run(t, nil, "members", "list", "--data", t.TempDir()); code != 1 || !strings.Contains(text, "there is no deployment") {
				t.Errorf("members of nothing: %d %s", code, text)
			}
		})
	}
}
