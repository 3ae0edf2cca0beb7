package system

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

const teamSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// team is a double of the team chat's Web API. Posts are kept by channel.
type team struct {
	server *httptest.Server
	mu     sync.Mutex
	posts  map[string][]string
	// deaf channels are refused for good.
	deaf map[string]bool
}

func newTeam(t *testing.T) *team {
	t.Helper()
	c := &team{posts: map[string][]string{}, deaf: map[string]bool{}}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

// ServeHTTP takes posts and finds none of them again.
func (c *team) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var post struct{ Channel, Text string }
	if strings.Contains(r.URL.Path, "chat.post") && json.NewDecoder(r.Body).Decode(&post) == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.deaf[post.Channel] {
			_, _ = io.WriteString(w, `{"ok":false,"error":"user_not_found"}`)
			return
		}
		c.posts[post.Channel] = append(c.posts[post.Channel], post.Text)
	}
	_, _ = io.WriteString(w, `{"ok":true}`)
}

func (c *team) in(channel string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.posts[channel]...)
}

// await waits until a channel has n posts, and returns the last.
func (c *team) await(t *testing.T, channel string, n int) string {
	t.Helper()
	Eventually(t, fmt.Sprintf("channel %s has %d posts", channel, n), func() error {
		if got := c.in(channel); len(got) < n {
			return fmt.Errorf("there are %q", got)
		}
		return nil
	})
	return c.in(channel)[n-1]
}

// event sends an event as the chat does.
func event(ctx context.Context, n *Node, id, channel, user, text string) (Reply, error) {
	body, err := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": "T1", "event_id": id,
		"event": map[string]any{"type": "app_mention", "user": user, "channel": channel, "ts": "100.1", "text": "<@UBOT> " + text},
	})
	if err != nil {
		return Reply{}, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(teamSecret))
	_, _ = mac.Write([]byte("v0:" + stamp + ":" + string(body)))
	return n.Try(ctx, Call{Method: http.MethodPost, Path: "/teamchat/slack/events", Body: string(body), Header: http.Header{
		"Content-Type": {"application/json"}, "X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}})
}

var linkCode = regexp.MustCompile(`/console/link#([A-Z2-7]+) `)

// joins links a member of the team to an actor.
func (c *team) joins(t *testing.T, w *World, user string, who identitytest.Actor) {
	t.Helper()
	channel := "CLINK" + user
	if reply, err := event(t.Context(), w.Node(0), "EvLink"+user, channel, user, "whoami"); err != nil ||
		reply.Status != http.StatusOK {
		t.Fatalf("the webhook: %v %d %s", err, reply.Status, reply.Body)
	}
	code := linkCode.FindStringSubmatch(c.await(t, channel, 1))
	if code == nil {
		t.Fatalf("no link in %q", c.in(channel))
	}
	alice := newChatter(t, w, who)
	if r := alice.do(t, w.Node(1), http.MethodPost, "/teamchat/link", fmt.Sprintf(`{"code":%q,"confirm":true}`, code[1])); r.Status != http.StatusOK {
		t.Fatalf("link: %d %s", r.Status, r.Body)
	}
	if said := c.await(t, channel, 2); !strings.Contains(said, who.DID) {
		t.Errorf("whoami: %s", said)
	}
}

// An event that the chat repeats to all nodes at once is answered once.
func teamPlugin(t *testing.T, w *World, c *team) {
	user, channel := "U1"+strings.ToUpper(string(w.Shape)), "C1"+strings.ToUpper(string(w.Shape))
	c.joins(t, w, user, identitytest.NewActor("team"+string(w.Shape)))
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			began := time.Now()
			reply, err := event(t.Context(), w.Node(i), "EvOnce"+user, channel, user, "good morning")
			if err != nil || reply.Status != http.StatusOK {
				t.Errorf("the webhook: %v %d %s", err, reply.Status, reply.Body)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("the webhook took %v", took)
			}
		})
	}
	all.Wait()
	if said := c.await(t, channel, 1); said != "You said: good morning" {
		t.Errorf("answer: %s", said)
	}
	if _, err := event(t.Context(), w.Node(2), "EvNext"+user, channel, user, "and now?"); err != nil {
		t.Fatal(err)
	}
	c.await(t, channel, 2)
	if posts := c.in(channel); len(posts) != 2 {
		t.Errorf("posts: %q", posts)
	}
	putAside(t, w, c, user)
}

// putAside: what the chat refuses is shown to operators by any node, and tried
// again once, however many ask for it.
func putAside(t *testing.T, w *World, c *team, user string) {
	t.Helper()
	id := "EvDead" + user
	deaf := func(yes bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deaf[user], c.deaf["CDEAD"+user] = yes, yes
	}
	deaf(true)
	if reply, err := event(t.Context(), w.Node(0), id, "CDEAD"+user, user, "are you there?"); err != nil ||
		reply.Status != http.StatusOK {
		t.Fatalf("the webhook: %v %d %s", err, reply.Status, reply.Body)
	}
	listed := func() string {
		return string(asOperator(t, w.Node(1), http.MethodGet, "/teamchat/dead", teamSecret, "").Body)
	}
	Eventually(t, "the event is put aside", func() error {
		if got := listed(); !strings.Contains(got, `"id":"`+id+`"`) || !strings.Contains(got, "user_not_found") ||
			strings.Contains(got, "are you there") {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	deaf(false)
	var all sync.WaitGroup
	var again atomic.Int32
	for i := range 6 {
		all.Go(func() {
			if r := asOperator(t, w.Node(i), http.MethodPost, "/teamchat/dead/"+id, teamSecret, ""); r.Status == http.StatusOK {
				again.Add(1)
			} else if r.Status != http.StatusNotFound {
				t.Errorf("try again: %d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	if n := again.Load(); n != 1 {
		t.Errorf("%d calls tried the event again", n)
	}
	Eventually(t, "the event is answered, in private, once", func() error {
		count := 0
		for _, said := range c.in(user) {
			if said == "You said: are you there?" {
				count++
			}
		}
		if count != 1 {
			return fmt.Errorf("%d times in %q", count, c.in(user))
		}
		return nil
	})
	if got := listed(); strings.Contains(got, id) {
		t.Errorf("afterwards: %s", got)
	}
}

// TestAcknowledgedEventsSurvive kills the node that acknowledged an event while
// the model still thinks. The answer comes all the same, once.
func TestAcknowledgedEventsSurvive(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model, c := newPuppet(t), newTeam(t)
			w := Start(t, shape, append(model.env(), "SLACK_SIGNING_SECRET="+teamSecret, "SLACK_BOT_TOKEN=xoxb-test", "SLACK_API_URL="+c.server.URL+"/api")...)
			survive(t, w, model, c)
		})
	}
}

func survive(t *testing.T, w *World, model *puppet, c *team) {
	user, channel := "U2"+strings.ToUpper(string(w.Shape)), "C2"+strings.ToUpper(string(w.Shape))
	c.joins(t, w, user, identitytest.NewActor("survivor"+string(w.Shape)))
	if reply, err := event(t.Context(), w.Node(0), "EvKill"+user, channel, user, "wait for me"); err != nil ||
		reply.Status != http.StatusOK {
		t.Fatalf("the webhook: %v %d %s", err, reply.Status, reply.Body)
	}
	w.Node(0).Kill()
	w.Node(0).Start()
	w.Node(0).WaitReady()
	model.letGo()
	if said := c.await(t, channel, 1); said != "You said: wait for me" {
		t.Errorf("answer: %s", said)
	}
	if _, err := event(t.Context(), w.Node(0), "EvKill"+user, channel, user, "wait for me"); err != nil {
		t.Fatal(err)
	}
	if _, err := event(t.Context(), w.Node(0), "EvAfter"+user, channel, user, "after"); err != nil {
		t.Fatal(err)
	}
	c.await(t, channel, 2)
	if posts := c.in(channel); len(posts) != 2 || posts[1] != "You said: after" {
		t.Errorf("posts: %q", posts)
	}
}
