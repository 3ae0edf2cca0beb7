package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
	"github.com/castalia-org/castalia/test/system"
)

// naming is a deployment in which alice has a file and a session. Each request
// comes from an address of its own, so that no limit stands in for a refusal.
type naming struct {
	world   *system.World
	service string
	session string
	clients atomic.Int64
}

func newNaming(t *testing.T, w *system.World) *naming {
	t.Helper()
	n := &naming{world: w}
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	n.service = document.ID
	if _, err := files(t, w.Node(0), identitytest.Alice.Signer).Put(t.Context(), "/f", "text/plain",
		strings.NewReader("secret"), 6, cid.CID{}); err != nil {
		t.Fatal(err)
	}
	var created struct{ SessionID string }
	reply := n.ask(t, w.Node(0), http.MethodPost, "/sessions", "{}", "Authorization",
		"Bearer "+identitytest.Invocation(t, identitytest.Alice, n.service), "X-Auth-Type", "ucan")
	reply.JSON(t, &created)
	if n.session = created.SessionID; n.session == "" {
		t.Fatalf("no session: %d %s", reply.Status, reply.Body)
	}
	return n
}

func (n *naming) ask(t *testing.T, node *system.Node, method, path, body string, header ...string) system.Reply {
	t.Helper()
	client := n.clients.Add(1)
	h := http.Header{"X-Forwarded-For": {fmt.Sprintf("198.51.%d.%d", client>>8, client&0xff)}, "Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return node.Do(t, system.Call{Method: method, Path: path, Body: body, Header: h})
}

// door is a way in: it reports the status with which a token is met.
type door struct {
	name  string
	token func(t *testing.T, n *naming) string
	enter func(t *testing.T, n *naming, node *system.Node, token string) int
}

func doors() []door {
	oracle := func(t *testing.T, n *naming) string {
		t.Helper()
		return identitytest.Invocation(t, identitytest.Alice, n.service, identitytest.Nonce(n.nonce()))
	}
	file := func(t *testing.T, n *naming) string {
		t.Helper()
		return identitytest.Files(t, identitytest.Alice, n.service, "*", identitytest.Nonce(n.nonce()))
	}
	return []door{
		{"files", file, func(t *testing.T, n *naming, node *system.Node, token string) int {
			t.Helper()
			return n.ask(t, node, http.MethodGet, "/api/fs/content?path=/f", "", "Authorization", "Bearer "+token).Status
		}},
		{"change stream", file, listen},
		{"oracle", oracle, func(t *testing.T, n *naming, node *system.Node, token string) int {
			t.Helper()
			return n.ask(t, node, http.MethodGet, "/sessions", "", "Authorization", "Bearer "+token, "X-Auth-Type", "ucan").Status
		}},
		{"delegation", func(t *testing.T, n *naming) string {
			t.Helper()
			return identitytest.Delegation(t, identitytest.Alice, n.service, identitytest.Can("*", "ixo:oracle"),
				identitytest.Nonce(n.nonce()))
		}, func(t *testing.T, n *naming, node *system.Node, token string) int {
			t.Helper()
			return n.ask(t, node, http.MethodGet, "/sessions", "", "X-Ucan-Delegation", token).Status
		}},
		{"agents", file, func(t *testing.T, n *naming, node *system.Node, token string) int {
			t.Helper()
			return n.ask(t, node, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
				"Authorization", "Bearer "+token, "Accept", "application/json, text/event-stream").Status
		}},
		{"socket", oracle, func(t *testing.T, n *naming, node *system.Node, token string) int {
			t.Helper()
			c, refusal := socketiotest.TryConnect(t, node.URL+"/socket.io/", "sessionId="+n.session, map[string]string{"invocation": token})
			if c == nil && strings.Contains(refusal, "401") {
				return http.StatusUnauthorized
			}
			return http.StatusOK
		}},
	}
}

func (n *naming) nonce() string { return fmt.Sprint("nonce ", n.clients.Add(1)) }

// listen reports how the stream of changes answers, and leaves.
func listen(t *testing.T, n *naming, node *system.Node, token string) int {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, node.URL+"/api/fs/changes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", n.clients.Add(1)&0xff))
	reply, err := n.world.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}

func (n *naming) revoke(t *testing.T, by identitytest.Actor, token string) {
	t.Helper()
	body := revocationBody(t, by, n.service, token)
	if reply := n.ask(t, n.world.Node(0), http.MethodPost, "/api/revocations", body); reply.Status != http.StatusOK {
		t.Fatalf("revoke: %d %s", reply.Status, reply.Body)
	}
}

func revocationBody(t *testing.T, by identitytest.Actor, service, token string) string {
	t.Helper()
	return `{"revocation":"` + identitytest.Revocation(t, by, service, token) + `"}`
}

// A revoked token is refused at every door and every node, and no other label in
// front of the same bytes opens one again.
func TestATokenHasOneName(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		n := newNaming(t, w)
		for _, d := range doors() {
			t.Run(d.name, func(t *testing.T) {
				token := d.token(t, n)
				if got := d.enter(t, n, w.Node(1), token); got != http.StatusOK {
					t.Fatalf("before: %d", got)
				}
				n.revoke(t, identitytest.Alice, token)
				for i := range w.Nodes {
					system.Eventually(t, "the node knows it", func() error {
						if got := d.enter(t, n, w.Node(i), token); got != http.StatusUnauthorized {
							return fmt.Errorf("node %d answers %d", i, got)
						}
						return nil
					})
				}
				for i, label := range identitytest.Labels() {
					if got := d.enter(t, n, w.Node(i), identitytest.Relabel(t, token, label)); got != http.StatusUnauthorized {
						t.Errorf("as %s: %d", label.Name, got)
					}
				}
			})
		}
		t.Run("proof", func(t *testing.T) { testRevokedProof(t, n) })
		t.Run("question", func(t *testing.T) { testQuestions(t, n) })
		t.Run("command", func(t *testing.T) { testCommand(t, n) })
		for _, over := range []string{"used up", "ended"} {
			t.Run("link "+over, func(t *testing.T) { testLink(t, n, over == "ended") })
		}
		t.Run("old row", func(t *testing.T) { testOldRow(t, n) })
	}, "TRUST_PROXY_ENABLED=true")
}

// testRevokedProof has the holder of a revoked delegation link it by other names.
func testRevokedProof(t *testing.T, n *naming) {
	t.Helper()
	grant := identitytest.Delegation(t, identitytest.Alice, identitytest.Bob.DID)
	present := func(node *system.Node, label identitytest.Label) int {
		token := identitytest.RelabelProof(t, identitytest.Bob, n.service, "fs/read", identitytest.Alice.Home(""), grant, label)
		return n.ask(t, node, http.MethodGet, "/api/fs/content?path=/f", "", "Authorization", "Bearer "+token).Status
	}
	honest := identitytest.Label{Name: "dag-cbor", CID: ipld.SumDagCBOR}
	if got := present(n.world.Node(0), honest); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	n.revoke(t, identitytest.Alice, grant)
	for _, label := range append(identitytest.Labels(), honest) {
		if got := present(n.world.Node(0), label); got != http.StatusUnauthorized {
			t.Errorf("as %s: %d", label.Name, got)
		}
	}
}

// testQuestions asks about a revoked token by all its spellings.
func testQuestions(t *testing.T, n *naming) {
	t.Helper()
	token := identitytest.Files(t, identitytest.Alice, n.service, "fs/read")
	n.revoke(t, identitytest.Alice, token)
	names := identitytest.Names(t, token)
	body, err := json.Marshal(map[string][]string{"cids": names})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Revoked []string }
	n.ask(t, n.world.Node(0), http.MethodPost, "/api/revocations/check", string(body)).JSON(t, &got)
	if len(got.Revoked) != len(names) {
		t.Errorf("revoked are %q, want %q", got.Revoked, names)
	}
}

func testCommand(t *testing.T, n *naming) {
	t.Helper()
	token := identitytest.Files(t, identitytest.Alice, n.service, "fs/read")
	if text, code := system.Run(t, nil, "ucan", "verify", "--audience", n.service, token); code != 0 {
		t.Fatalf("castalia ucan verify: exit %d\n%s", code, text)
	}
	for _, label := range identitytest.Labels() {
		if text, code := system.Run(t, nil, "ucan", "verify", "--audience", n.service,
			identitytest.Relabel(t, token, label)); code != 1 || !strings.Contains(text, `"valid": false`) {
			t.Errorf("as %s: exit %d\n%s", label.Name, code, text)
		}
	}
}

// testLink follows a link that is over by other names of its delegation.
func testLink(t *testing.T, n *naming, ended bool) {
	t.Helper()
	alice := files(t, n.world.Node(0), identitytest.Alice.Signer)
	link, err := alice.Share(t.Context(), "/f", identitytest.Alice.Home("/f"), time.Now().Add(time.Hour), 1)
	if err != nil {
		t.Fatal(err)
	}
	key, err := did.ParseSigner(link.Key)
	if err != nil {
		t.Fatal(err)
	}
	holder := identitytest.Actor{Name: "link", DID: string(key.DID()), Signer: key}
	follow := func(i int, label identitytest.Label) int {
		token := identitytest.RelabelProof(t, holder, n.service, "fs/read", identitytest.Alice.Home("/f"), link.Token, label)
		return n.ask(t, n.world.Node(i), http.MethodGet, "/api/fs/content?path=/f", "", "Authorization", "Bearer "+token).Status
	}
	honest := identitytest.Label{Name: "dag-cbor", CID: ipld.SumDagCBOR}
	if ended {
		err = alice.EndShare(t.Context(), link.ID)
	} else if got := follow(1, honest); got != http.StatusOK {
		t.Fatalf("the first reading: %d", got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := follow(2, honest); got != http.StatusForbidden {
		t.Errorf("under its own name: %d", got)
	}
	for i, label := range identitytest.Labels() {
		if got := follow(i, label); got != http.StatusUnauthorized {
			t.Errorf("as %s: %d", label.Name, got)
		}
	}
}

// testOldRow writes what an earlier release wrote when somebody revoked a token
// under another label.
func testOldRow(t *testing.T, n *naming) {
	t.Helper()
	token := identitytest.Files(t, identitytest.Alice, n.service, "fs/read", identitytest.TTL(time.Hour))
	enter := doors()[0].enter
	if got := enter(t, n, n.world.Node(0), token); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	if n.world.Shape == system.Embedded {
		n.world.Node(0).Stop()
	}
	names := identitytest.Names(t, token)
	db := n.world.Database()
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		feed, err := sqldb.NextFeed(ctx, tx, "identity_revocations")
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO identity_revocations (feed, kind, target, revoked_by, at_ms) VALUES ($1, 'token', $2, $3, $4)`,
			feed, names[len(names)-2], identitytest.Alice.DID, time.Now().UnixMilli())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.world.Shape == system.Embedded {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		n.world.Node(0).Start()
		n.world.Node(0).WaitReady()
	}
	for i := range n.world.Nodes {
		system.Eventually(t, "the row counts", func() error {
			if got := enter(t, n, n.world.Node(i), token); got != http.StatusUnauthorized {
				return fmt.Errorf("node %d answers %d", i, got)
			}
			return nil
		})
	}
}

// Anybody can make keys, sign tokens with them and revoke those; only so many are
// remembered of one address.
func TestStrangersRevokeSlowly(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		taken := 0
		for i := range 20 {
			stranger := identitytest.NewActor(fmt.Sprint("stranger ", i))
			token := identitytest.Files(t, stranger, document.ID, "fs/read")
			switch reply := w.Node(0).Post(t, "/api/revocations", revocationBody(t, stranger, document.ID, token)); reply.Status {
			case http.StatusOK:
				taken++
			case http.StatusTooManyRequests:
				if reply.Header.Get("Retry-After") == "" {
					t.Error("nobody is told when to come back")
				}
			default:
				t.Fatalf("%d %s", reply.Status, reply.Body)
			}
		}
		if taken != 5 {
			t.Errorf("%d revocations were taken, want 5", taken)
		}
	}, "REVOCATION_RATE_LIMIT_PER_MINUTE=5")
}
