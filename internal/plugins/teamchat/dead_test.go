package teamchat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/teamchat"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// asOperator calls an operators' route.
func asOperator(t *testing.T, n *oracletest.Node, method, path, token string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(raw)
}

func deadOf(t *testing.T, n *oracletest.Node) []teamchat.Dead {
	t.Helper()
	status, body := asOperator(t, n, http.MethodGet, "/teamchat/dead", operators)
	var list teamchat.DeadList
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || list.Dead == nil {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return list.Dead
}

// What cannot be posted is put aside and shown, without its text, to operators
// only; tried again by many at once it is answered once.
func TestWhatWasPutAsideIsShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		c := newChat(t)
		db := open(t)
		nodes := []*oracletest.Node{start(t, db, c), start(t, db, c)}
		link(t, nodes[0], c, "U1", identitytest.Alice)
		if list := deadOf(t, nodes[0]); len(list) != 0 {
			t.Errorf("at first: %+v", list)
		}
		refuse := func(code string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.refuse["C1"], c.refuse["U1"] = code, code
		}
		before := len(c.seen())
		refuse("user_not_found")
		send(t, nodes[0], "events", mention("EvDead", "U1", "5.1", "", "a private word"))
		idleNow(t, nodes[0])
		list := deadOf(t, nodes[1])
		if len(list) != 1 || list[0].ID != "EvDead" || list[0].Team != "T1" || list[0].User != "U1" || !list[0].Answered ||
			list[0].Attempts != 1 ||
			!strings.Contains(list[0].Reason, "user_not_found") || list[0].At == "" {
			t.Fatalf("put aside: %+v", list)
		}
		if _, body := asOperator(t, nodes[1], http.MethodGet, "/teamchat/dead", operators); strings.Contains(body, "private word") {
			t.Errorf("operators read what was written: %s", body)
		}
		for _, token := range []string{"", "wrong", secret} {
			for _, r := range [][2]string{{http.MethodGet, "/teamchat/dead"}, {http.MethodPost, "/teamchat/dead/EvDead"}} {
				if status, body := asOperator(t, nodes[0], r[0], r[1], token); status != http.StatusUnauthorized {
					t.Errorf("%s with %q: %d %s", r[1], token, status, body)
				}
			}
		}
		refuse("")
		var again atomic.Int32
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				switch status, body := asOperator(t, nodes[i%2], http.MethodPost, "/teamchat/dead/EvDead", operators); status {
				case http.StatusOK:
					again.Add(1)
				case http.StatusNotFound:
				default:
					t.Errorf("%d %s", status, body)
				}
			})
		}
		all.Wait()
		if n := again.Load(); n != 1 {
			t.Errorf("%d calls tried it again", n)
		}
		if got := c.await(t, before+1); got.Text != "You said: a private word" {
			t.Errorf("%+v", got)
		}
		idleNow(t, nodes[0])
		if list, posts := deadOf(t, nodes[0]), len(c.seen()); len(list) != 0 || posts != before+1 {
			t.Errorf("afterwards: %+v, %d posts", list, posts-before)
		}
	})
}

// Without a secret there are no operators.
func TestWithoutASecretNobodySeesWhatWasPutAside(t *testing.T) {
	t.Parallel()
	n := startWith(t, teamchat.Config{Secret: secret, Token: "xoxb-test", API: "http://127.0.0.1:1"})
	for _, token := range []string{"", "anything"} {
		if status, body := asOperator(t, n, http.MethodGet, "/teamchat/dead", token); status != http.StatusUnauthorized {
			t.Errorf("%d %s", status, body)
		}
	}
}
