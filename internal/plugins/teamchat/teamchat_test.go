package teamchat_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/teamchat"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const (
	secret    = "8f742231b10e8888abcd99yyyzzz85a5"
	operators = "the operators' own token"
)

// chat is a double of the chat's Web API.
type chat struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
	// limited answers so many posts with 429 first; lost takes posts and hangs up.
	limited, lost int
	refuse        map[string]string // channel to error code
}

type post struct {
	Method   string `json:"-"`
	Channel  string
	User     string
	Thread   string `json:"thread_ts"`
	Text     string
	Metadata json.RawMessage
}

func newChat(t *testing.T) *chat {
	c := &chat{refuse: map[string]string{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	if r.Header.Get("Authorization") != "Bearer xoxb-test" {
		_, _ = io.WriteString(w, `{"ok":false,"error":"invalid_auth"}`)
		return
	}
	switch method {
	case "users.info":
		_, _ = io.WriteString(w, `{"ok":true,"user":{"real_name":"Ada L."}}`)
	case "conversations.replies", "conversations.history":
		found := []map[string]any{}
		for _, p := range c.posts {
			if p.Channel == r.URL.Query().Get("channel") {
				found = append(found, map[string]any{"metadata": p.Metadata})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "messages": found})
	case "chat.postMessage", "chat.postEphemeral":
		if c.limited > 0 {
			c.limited--
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		p := post{Method: method}
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if code := c.refuse[p.Channel]; code != "" {
			_, _ = fmt.Fprintf(w, `{"ok":false,"error":%q}`, code)
			return
		}
		c.posts = append(c.posts, p)
		if c.lost > 0 {
			c.lost--
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"ok":true,"ts":"1.1"}`)
	}
}

func (c *chat) seen() []post {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.posts)
}

// await waits for the n-th post.
func (c *chat) await(t *testing.T, n int) post {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if posts := c.seen(); len(posts) >= n {
			return posts[n-1]
		}
	}
	t.Fatalf("no post %d; there are %+v", n, c.seen())
	return post{}
}

func start(t *testing.T, db *sqldb.DB, c *chat) *oracletest.Node {
	t.Helper()
	oracletest.Migrated(t, db)
	return startWith(t, teamchat.Config{Secret: secret, Token: "xoxb-test", API: c.URL + "/api", Operators: operators},
		func(d *oraclekit.Deps) { d.DB = db })
}

func startWith(t *testing.T, cfg teamchat.Config, change ...func(*oraclekit.Deps)) *oracletest.Node {
	t.Helper()
	model := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		return scripted.Text("You said: " + req.Messages[len(req.Messages)-1].Text)
	})
	return oracletest.Start(t, model, append(change, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{teamchat.New(cfg)}
	})...)
}

// send posts a body as the chat does.
func send(t *testing.T, n *oracletest.Node, path, body string) (status int, reply string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/teamchat/slack/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, "v0:"+stamp+":"+body)
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text bytes.Buffer
	_, _ = text.ReadFrom(resp.Body)
	return resp.StatusCode, text.String()
}

func mention(id, user, ts, thread, text string) string {
	event := map[string]any{"type": "app_mention", "user": user, "channel": "C1", "ts": ts, "text": text}
	if thread != "" {
		event["thread_ts"] = thread
	}
	body, _ := json.Marshal(map[string]any{"type": "event_callback", "team_id": "T1", "event_id": id, "event": event})
	return string(body)
}

var code = regexp.MustCompile(`/console/link#([A-Z2-7]+) `)

// link makes a member of the team an actor, as they would do it themselves.
func link(t *testing.T, n *oracletest.Node, c *chat, user string, who identitytest.Actor) {
	t.Helper()
	before := len(c.seen())
	send(t, n, "events", mention("EvLink"+user, user, "1.0", "", "link"))
	invitation := c.await(t, before+1)
	found := code.FindStringSubmatch(invitation.Text)
	if found == nil || invitation.Method != "chat.postEphemeral" || invitation.User != user {
		t.Fatalf("%+v", invitation)
	}
	actor := n.As(t, who)
	var shown teamchat.Link
	actor.Do("POST", "/teamchat/link", map[string]any{"code": found[1]}).JSON(t, &shown)
	if d := cmp.Diff(teamchat.Link{Team: "T1", User: user, Name: "Ada L."}, shown); d != "" {
		t.Error(d)
	}
	if r := actor.Do("POST", "/teamchat/link", map[string]any{"code": found[1], "confirm": true}); r.Status != 200 {
		t.Fatalf("link: %d %s", r.Status, r.Body)
	}
	if r := n.As(t, identitytest.Mallory).Do("POST", "/teamchat/link",
		map[string]any{"code": found[1], "confirm": true}); r.Status != 404 {
		t.Errorf("a code works twice: %d", r.Status)
	}
	c.await(t, before+3) // the notice, and the answer to the message that waited
	idleNow(t, n)
}

// idleNow waits until nothing is left to do.
func idleNow(t *testing.T, n *oracletest.Node) {
	t.Helper()
	store := n.Store.PluginStore("teamchat")
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		left, err := store.Scan(t.Context(), plugin.Range{Prefix: "work/i/"})
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
	}
	t.Fatal("the work does not end")
}

func TestConversation(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		c := newChat(t)
		db := open(t)
		nodes := []*oracletest.Node{start(t, db, c), start(t, db, c)}
		link(t, nodes[0], c, "U1", identitytest.Alice)
		link(t, nodes[1], c, "U2", identitytest.Bob)
		before := len(c.seen())
		// The chat sends one event to both nodes, several times, at once.
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if status, body := send(t, nodes[i%2], "events",
					mention("Ev1", "U1", "5.1", "", "<@UBOT> good morning")); status != 200 || body != `{"ok":true}` {
					t.Errorf("%d %s", status, body)
				}
			})
		}
		all.Wait()
		if got := c.await(t, before+1); got.Channel != "C1" || got.Thread != "5.1" || got.Text != "You said: good morning" {
			t.Errorf("%+v", got)
		}
		send(t, nodes[1], "events", mention("Ev2", "U2", "5.2", "5.1", "me too"))
		c.await(t, before+2)
		send(t, nodes[0], "events", mention("Ev3", "U1", "5.3", "5.1", "and again"))
		c.await(t, before+3)
		// A thread is a session, and each speaks in his own.
		for _, c := range []struct {
			who  identitytest.Actor
			want []string
		}{{identitytest.Alice, []string{"good morning", "and again"}}, {identitytest.Bob, []string{"me too"}}} {
			var list struct{ Sessions []struct{ SessionID string } }
			actor := nodes[0].As(t, c.who)
			actor.Do("GET", "/sessions", nil).JSON(t, &list)
			var said []string
			for _, s := range list.Sessions {
				var history struct {
					Messages []struct{ Type, Content string }
				}
				actor.Do("GET", "/messages/"+url.PathEscape(s.SessionID), nil).JSON(t, &history)
				for _, m := range history.Messages {
					if m.Type == "human" {
						said = append(said, m.Content)
					}
				}
			}
			if d := cmp.Diff(c.want, said); d != "" {
				t.Error(d)
			}
		}
		if n := len(c.seen()); n != before+3 {
			t.Errorf("%d posts", n-before)
		}
	})
}

// What was acknowledged is answered after the node died, by another one.
func TestAcknowledgedIsAnswered(t *testing.T) {
	t.Parallel()
	c := newChat(t)
	db := sqldbtest.SQLite(t)
	first := start(t, db, c)
	link(t, first, c, "U1", identitytest.Alice)
	first.Stop()
	store := first.Store.PluginStore("teamchat")
	// An event that was stored, and nothing more.
	quiet := oracletest.Start(t, nil, func(d *oraclekit.Deps) {
		d.DB, d.Plugins = db,
			[]plugin.Plugin{idle{teamchat.New(teamchat.Config{Secret: secret, Token: "xoxb-test", API: c.URL + "/api"})}}
	})
	before := len(c.seen())
	send(t, quiet, "events", mention("Ev9", "U1", "9.1", "", "still there?"))
	quiet.Stop()
	if n := len(c.seen()); n != before {
		t.Fatalf("%d posts", n-before)
	}
	if found, err := store.Scan(context.Background(), plugin.Range{Prefix: "work/i/"}); err != nil || len(found) != 1 {
		t.Fatal(err, len(found))
	}
	start(t, db, c)
	if got := c.await(t, before+1); got.Text != "You said: still there?" {
		t.Errorf("%+v", got)
	}
}

// idle is the plugin on a node whose workers never come to work.
type idle struct{ *teamchat.Plugin }

func (idle) Workers() []plugin.Worker { return nil }

func TestTroubleWithTheChat(t *testing.T) {
	t.Parallel()
	c := newChat(t)
	n := start(t, sqldbtest.SQLite(t), c)
	link(t, n, c, "U1", identitytest.Alice)
	before := len(c.seen())
	c.mu.Lock()
	c.limited = 2
	c.mu.Unlock()
	send(t, n, "events", mention("Ev1", "U1", "5.1", "", "slowly"))
	if got := c.await(t, before+1); got.Text != "You said: slowly" {
		t.Errorf("%+v", got)
	}
	// A post whose answer was lost is not posted again.
	c.mu.Lock()
	c.lost = 1
	c.mu.Unlock()
	send(t, n, "events", mention("Ev2", "U1", "6.1", "", "once"))
	c.await(t, before+2)
	idleNow(t, n)
	if n := len(c.seen()); n != before+2 {
		t.Errorf("%d posts", n-before)
	}
	// Where the oracle may not speak it answers in private.
	c.mu.Lock()
	c.refuse["C7"] = "not_in_channel"
	c.mu.Unlock()
	form := url.Values{"team_id": {"T1"}, "user_id": {"U1"}, "channel_id": {"C7"}, "trigger_id": {"7.7"}, "text": {"psst"}, "user_name": {"ada"}}
	if status, body := send(t, n, "commands", form.Encode()); status != 200 || !strings.Contains(body, `"ephemeral"`) {
		t.Errorf("%d %s", status, body)
	}
	if got := c.await(t, before+3); got.Channel != "U1" || got.Text != "You said: psst" {
		t.Errorf("%+v", got)
	}
}

func TestOwnWords(t *testing.T) {
	t.Parallel()
	c := newChat(t)
	n := start(t, sqldbtest.SQLite(t), c)
	link(t, n, c, "U1", identitytest.Alice)
	alice, mallory := n.As(t, identitytest.Alice), n.As(t, identitytest.Mallory)
	before := len(c.seen())
	send(t, n, "events", mention("Ev1", "U1", "5.1", "", "whoami"))
	if got := c.await(t, before+1); !strings.Contains(got.Text, identitytest.Alice.DID) {
		t.Errorf("%+v", got)
	}
	var list teamchat.LinkList
	alice.Do("GET", "/teamchat/links", nil).JSON(t, &list)
	if len(list.Links) != 1 || list.Links[0].User != "U1" {
		t.Errorf("%+v", list)
	}
	for _, path := range []string{"/teamchat/links/T1/U1", "/teamchat/links/t.1/U1", "/teamchat/links/T1/U9"} {
		if r := mallory.Do("DELETE", path, nil); r.Status != 404 {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := alice.Do("DELETE", "/teamchat/links/T1/U1", nil); r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	send(t, n, "events", mention("Ev2", "U1", "5.2", "", "whoami"))
	if got := c.await(t, before+2); !strings.Contains(got.Text, "/console/link#") {
		t.Errorf("after the end of the link: %+v", got)
	}
	for _, body := range []any{
		map[string]any{},
		map[string]any{"code": strings.Repeat("A", 65)},
		map[string]any{"code": "A", "did": "x"},
		[]int{1},
	} {
		if r := alice.Do("POST", "/teamchat/link", body); r.Status != 400 {
			t.Errorf("%v: %d %s", body, r.Status, r.Body)
		}
	}
	if r := alice.Do("POST", "/teamchat/link", map[string]any{"code": "NOPE"}); r.Status != 404 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestWebhookRefuses(t *testing.T) {
	t.Parallel()
	c := newChat(t)
	n := start(t, sqldbtest.SQLite(t), c)
	if status, body := send(t, n, "events", `{"type":"url_verification","challenge":"3eZbrw1a"}`); status != 200 || body != `{"challenge":"3eZbrw1a"}` {
		t.Errorf("%d %s", status, body)
	}
	for _, body := range []string{``, `{`, `[]`, `{"type":"event_callback"}`} {
		if status, reply := send(t, n, "events", body); status != 400 {
			t.Errorf("%q: %d %s", body, status, reply)
		}
	}
	for _, path := range []string{"events", "commands"} {
		resp, err := http.Post(n.URL+"/teamchat/slack/"+path, "application/json", strings.NewReader(`{"type":"url_verification","challenge":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a signature: %d", path, resp.StatusCode)
		}
	}
}

func TestWhenItIsOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  teamchat.Config
		on   bool
		hint string
	}{
		{teamchat.Config{}, false, "SLACK_SIGNING_SECRET is not set"},
		{teamchat.Config{Secret: "s"}, false, "SLACK_BOT_TOKEN is not set"},
		{teamchat.Config{Secret: "s", Token: "t"}, true, "SLACK_SIGNING_SECRET and SLACK_BOT_TOKEN are set"},
	} {
		if on, hint := teamchat.New(c.cfg).AutoDetect(); on != c.on || hint != c.hint {
			t.Errorf("%+v: %v %s", c.cfg, on, hint)
		}
	}
	for _, cfg := range []teamchat.Config{{API: "x"}, {API: "https://a", URL: "javascript:x"}} {
		if err := teamchat.New(cfg).Start(t.Context(), plugin.Host{}); err == nil {
			t.Errorf("%+v started", cfg)
		}
	}
}
