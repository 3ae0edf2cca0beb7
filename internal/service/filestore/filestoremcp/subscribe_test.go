package filestoremcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// stream is an open subscriptions/listen.
type stream struct {
	t *testing.T
	d *sse.Decoder
}

type notification struct {
	Method string `json:"method"`
	Params struct {
		URI           string `json:"uri"`
		Notifications struct {
			ResourceSubscriptions []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// listen opens a stream for some resources, which ends with the test.
func listen(t *testing.T, base, token string, uris ...string) stream {
	t.Helper()
	body, err := json.Marshal(m{"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": m{
		"notifications": m{"resourceSubscriptions": uris},
		"_meta": m{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": m{},
			"io.modelcontextprotocol/clientInfo": m{"name": "test", "version": "1"},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s, %s", res.Status, res.Header.Get("Content-Type"))
	}
	return stream{t, sse.NewDecoder(res.Body, 1<<20)}
}

func (s stream) next() notification {
	s.t.Helper()
	e, err := s.d.Next()
	if err != nil {
		s.t.Fatalf("the stream ended: %v", err)
	}
	var n notification
	if err := json.Unmarshal(e.Data, &n); err != nil {
		s.t.Fatalf("%q: %v", e.Data, err)
	}
	return n
}

func TestListenersAreToldOfChanges(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	w.MustPut(t, alice.DID, "/watched", "1")
	one, folder := alice.Home("/watched"), alice.Home("/folder")+"/"
	s := listen(t, base, token(t, "*"), one, folder, identitytest.Bob.Home("/theirs"), "file:///etc/passwd")
	ack := s.next()
	if diff := cmp.Diff([]string{one, folder},
		ack.Params.Notifications.ResourceSubscriptions); ack.Method != "notifications/subscriptions/acknowledged" || diff != "" {
		t.Fatalf("%s: %s", ack.Method, diff)
	}
	w.MustPut(t, alice.DID, "/other", "x")
	w.MustPut(t, identitytest.Bob.DID, "/watched", "x")
	w.MustPut(t, alice.DID, "/watched", "2")
	if n := s.next(); n.Method != "notifications/resources/updated" || n.Params.URI != one {
		t.Errorf("told %s of %s", n.Method, n.Params.URI)
	}
	w.MustPut(t, alice.DID, "/folder/new", "x")
	if n := s.next(); n.Params.URI != folder {
		t.Errorf("told of %s", n.Params.URI)
	}
	target := filestore.Target{Path: "/watched"}
	if _, err := w.Move(t.Context(), filestore.Owner(alice.DID), target, "/gone", false); err != nil {
		t.Fatal(err)
	}
	if n := s.next(); n.Params.URI != one {
		t.Errorf("told of %s after the move", n.Params.URI)
	}
}

func TestListenersReachWhatTheirTokenReaches(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	w.MustPut(t, alice.DID, "/in/a", "1")
	w.MustPut(t, alice.DID, "/out/a", "1")
	inside := token(t, "", identitytest.Can("fs/read", alice.Home("/in")))
	s := listen(t, base, inside, alice.Home("/in/a"), alice.Home("/out/a"), alice.Home("/out/absent"), alice.Home("/"))
	if got := s.next().Params.Notifications.ResourceSubscriptions; len(got) != 1 || got[0] != alice.Home("/in/a") {
		t.Errorf("acknowledged %v", got)
	}
	scoped := connect(t, base, token(t, "", identitytest.CIDs("fs/read", alice.Home(""), "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")))
	if c := scoped.InitializeResult().Capabilities; c.Resources != nil {
		t.Error("a token for CIDs is offered resources")
	}
}

// asking is a client whose user answers questions.
func asking(t *testing.T, base, token string, answer func(question string) string) agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: answer(r.Params.Message)}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{t, session}
}

func TestUsersAreAskedBeforeSomethingIsReplacedOrRemoved(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	f := w.MustPut(t, alice.DID, "/a", "1")
	w.MustPut(t, alice.DID, "/b", "1")
	var asked []string
	say := "decline"
	a := asking(t, base, token(t, "*"), func(q string) string { asked = append(asked, q); return say })
	a.refused("vfs_delete", m{"paths": []string{"/a"}}, "declined")
	a.refused("vfs_write", m{"path": "/a", "content": "2", "overwrite": true}, "declined")
	a.refused("vfs_move", m{"from": "/b", "to": "/a", "overwrite": true}, "declined")
	a.must("vfs_write", m{"path": "/new", "content": "2"})
	a.must("vfs_write", m{"path": "/a", "content": "2", "ifCid": f.CID})
	want := []string{"Move /a to the trash?", "Replace what is stored at /a? Its old versions stay.", "Move /b to /a, and put what is there into the trash?"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	say = "accept"
	a.must("vfs_delete", m{"paths": []string{"/a", "/b"}})
	if _, err := w.Stat(t.Context(), filestore.Owner(alice.DID), "/a"); err == nil {
		t.Error("/a is still there")
	}
}

func TestListeningEndsWithTheLink(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	w.MustPut(t, alice.DID, "/a/f", "x")
	holder := identitytest.NewActor("link")
	delegation := identitytest.Delegation(t, alice, holder.DID, identitytest.Can("fs/read", alice.Home("/a")))
	parsed, err := ucan.Parse(delegation)
	if err != nil {
		t.Fatal(err)
	}
	owner := filestore.Owner(alice.DID)
	link, err := w.Share(t.Context(), owner, filestore.NewShare{TokenCID: parsed.CID(), Path: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	bearer := identitytest.Files(t, holder, identitytest.Oracle.DID, "fs/read",
		identitytest.Can("fs/read", alice.Home("/a")), identitytest.Proof(delegation), identitytest.TTL(30*time.Minute))
	s := listen(t, base, bearer, alice.Home("/a"))
	if ack := s.next(); len(ack.Params.Notifications.ResourceSubscriptions) != 1 {
		t.Fatalf("acknowledged %+v", ack)
	}
	if err := w.EndShare(t.Context(), owner, link.ID); err != nil {
		t.Fatal(err)
	}
	for { // the answer to the request, then the end
		if _, err := s.d.Next(); err != nil {
			return
		}
	}
}

func TestListeningEndsWithTheToken(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	s := listen(t, base, token(t, "*", identitytest.TTL(5*time.Second)), alice.Home("/a"))
	if ack := s.next(); len(ack.Params.Notifications.ResourceSubscriptions) != 1 {
		t.Fatalf("acknowledged %+v", ack)
	}
	for { // the answer to the request, then the end
		if _, err := s.d.Next(); err != nil {
			return
		}
	}
}
