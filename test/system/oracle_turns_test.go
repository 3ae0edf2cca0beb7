package system

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// texts is a transcript without its ids.
func (c *chatter) texts(t *testing.T, n *Node) []string {
	t.Helper()
	var out []string
	for _, m := range c.transcript(t, n).Messages {
		out = append(out, m.Content)
	}
	return out
}

// turnsInOneSession sends messages while another is being answered, on another
// node: the second takes the first one's place, or waits for it.
func turnsInOneSession(t *testing.T, w *World, model *speaker) {
	who := identitytest.NewActor("turns")
	alice := newChatter(t, w, who)
	b := alice.begin(t, w.Node(0), model)
	next := "next in " + alice.session
	reply := alice.do(t, w.Node(1), http.MethodPost, "/messages/"+alice.session, fmt.Sprintf(`{"message":%q}`, next))
	if reply.Status != http.StatusOK || !strings.Contains(string(reply.Body), next) {
		t.Errorf("the second message: %d %s", reply.Status, reply.Body)
	}
	rest := b.stream.rest(t)
	if end := rest[len(rest)-1]; end.field(t, "aborted") != true || end.field(t, "partialText") != b.begun {
		t.Errorf("the end of the first: %v", end)
	}
	if diff := cmp.Diff([]string{b.message, b.begun, next, answerTo(next)}, alice.texts(t, w.Node(2))); diff != "" {
		t.Errorf("after an interruption (-want +got):\n%s", diff)
	}

	alice = newChatter(t, w, who)
	b = alice.begin(t, w.Node(0), model)
	later := "later in " + alice.session
	queued := alice.stream(t, w.Node(1), http.MethodPost, "/messages/"+alice.session, fmt.Sprintf(`{"message":%q,"stream":true,"multitask":"enqueue"}`, later))
	queued.until(t, func(f frame) bool { return f.Event == "run" }) // accepted, and durable
	b.letGo()
	if got := textOf(t, append(b.frames, b.stream.rest(t)...)); got != b.answer {
		t.Errorf("the first answer: %q", got)
	}
	if got := textOf(t, queued.rest(t)); got != answerTo(later) {
		t.Errorf("the queued answer: %q", got)
	}
	if diff := cmp.Diff([]string{b.message, b.answer, later, answerTo(later)}, alice.texts(t, w.Node(2))); diff != "" {
		t.Errorf("after a queue (-want +got):\n%s", diff)
	}
}

// modelFailures ends turns whose model refuses, or breaks off: readers are told
// what kind of failure it was, and never the operator's secrets.
func modelFailures(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("failures"))
	for _, c := range []struct {
		message, kind string
		retryable     bool
		status        int
	}{
		{refuseMe + alice.session, "unknown", false, http.StatusInternalServerError},
		{cutMe + alice.session, "network", true, http.StatusServiceUnavailable},
	} {
		frames := alice.say(t, w.Node(0), c.message).rest(t)
		failed, done := frame{}, frames[len(frames)-1]
		for _, f := range frames {
			if f.Event == "error" {
				failed = f
			}
		}
		if failed.Event == "" || failed.field(t, "kind") != c.kind || failed.field(t, "retryable") != c.retryable ||
			strings.Contains(failed.Data, "sk-") {
			t.Errorf("%q: error %s", c.message, failed.Data)
		}
		if done.field(t, "failed") != true || done.field(t, "status") != "failed" {
			t.Errorf("%q: done %s", c.message, done.Data)
		}
		reply := alice.do(t, w.Node(1), http.MethodPost, "/messages/"+alice.session, fmt.Sprintf(`{"message":%q}`, c.message))
		refused(t, c.message, reply, c.status, "")
		if strings.Contains(string(reply.Body), "sk-") || (reply.Header.Get("Retry-After") != "") != c.retryable {
			t.Errorf("%q: %v %s", c.message, reply.Header, reply.Body)
		}
	}
	for i, n := range w.Nodes {
		if strings.Contains(n.Log(), "sk-verysecret") {
			t.Errorf("the log of node %d holds the key", i)
		}
	}
}

// attachedFiles reads a file from the homeserver that the body names, or else
// from that of the header, with the user's token.
func attachedFiles(t *testing.T, w *World, model *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("attachments"))
	homeserver := func(text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != "Bearer syt_good":
				http.Error(w, `{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid access token passed."}`, http.StatusUnauthorized)
			case r.URL.Path == "/_matrix/client/v3/account/whoami":
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"user_id":"@alice:%s"}`, r.Host)
			case strings.HasPrefix(r.URL.Path, "/_matrix/client/v1/media/download/"):
				_, _ = w.Write([]byte(text))
			default:
				http.NotFound(w, r)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	inBody, inHeader := homeserver("kept by the body's server, "+alice.session), homeserver("kept by the header's server, "+alice.session)
	for _, c := range []struct{ more, want string }{
		{fmt.Sprintf(`,"homeServer":%q`, inBody), "kept by the body's server, "},
		{"", "kept by the header's server, "},
	} {
		body := `{"message":"read this","attachments":[{"filename":"n.txt","mimetype":"text/plain","mxcUri":"mxc://any/file"}]` + c.more + `}`
		reply := w.Node(1).Do(t, Call{Method: http.MethodPost, Path: "/messages/" + alice.session, Body: body, Header: http.Header{
			"Authorization": {"Bearer " + alice.token}, "X-Auth-Type": {"ucan"},
			"X-Matrix-Homeserver": {inHeader}, "X-Matrix-Access-Token": {"syt_good"},
		}})
		if reply.Status != http.StatusOK || !model.told(c.want+alice.session) {
			t.Errorf("%s: %d %s", c.want, reply.Status, reply.Body)
		}
	}
	var list struct {
		Messages []struct{ Attachments []map[string]any }
	}
	alice.do(t, w.Node(2), http.MethodGet, "/messages/"+alice.session, "").JSON(t, &list)
	want := []map[string]any{{"filename": "n.txt", "mimetype": "text/plain", "mxcUri": "mxc://any/file", "category": "text", "size": 63.0}}
	if len(list.Messages) != 4 {
		t.Fatalf("%d messages", len(list.Messages))
	}
	if diff := cmp.Diff(want, list.Messages[0].Attachments); diff != "" {
		t.Errorf("attachments in the transcript (-want +got):\n%s", diff)
	}
	for i, n := range w.Nodes {
		if strings.Contains(n.Log(), "syt_good") {
			t.Errorf("the log of node %d holds the user's token", i)
		}
	}
}
