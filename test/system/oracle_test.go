package system

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// transcript is a session as GET /messages/:id shows it.
type transcript struct {
	Messages []struct {
		Type, Content, ID, CreatedAt string
		IsComplete                   bool
	}
}

func (c *chatter) transcript(t *testing.T, n *Node) transcript {
	t.Helper()
	var list transcript
	reply := c.do(t, n, http.MethodGet, "/messages/"+c.session, "")
	reply.JSON(t, &list)
	if reply.Status != http.StatusOK {
		t.Fatalf("the transcript: %d %s", reply.Status, reply.Body)
	}
	return list
}

// refused checks an error body: the status is repeated in it, and it says why.
func refused(t *testing.T, what string, reply Reply, status int, says string) {
	t.Helper()
	var body struct {
		StatusCode int
		Message    any
		Error      string
	}
	reply.JSON(t, &body)
	name := http.StatusText(status)
	if status == http.StatusUnauthorized || status == http.StatusInternalServerError {
		name = "" // published clients know these two bodies without it
	}
	if reply.Status != status || body.StatusCode != status || body.Error != name ||
		!strings.Contains(fmt.Sprint(body.Message), says) {
		t.Errorf("%s: %d %s; want %d with %q", what, reply.Status, reply.Body, status, says)
	}
}

// has checks that an object has exactly these fields, and no others.
func has(t *testing.T, what string, object map[string]any, fields ...string) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		want[f] = true
	}
	for f := range object {
		got[f] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of %s (-want +got):\n%s", what, diff)
	}
}

// TestOracleRoutes holds every route of the oracle against its statuses and
// bodies, each call on another node than the one before.
func TestOracleRoutes(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	Each(t, func(t *testing.T, w *World) {
		for _, part := range []struct {
			name string
			test func(*testing.T, *World, *speaker)
		}{
			{"sessions", sessionRoutes},
			{"messages", messageRoutes},
			{"streams", streamRoutes},
			{"refusals", messageRefusals},
			{"foreign sessions", foreignSessions},
			{"runs", runRoutes},
			{"turns", turnsInOneSession},
			{"versions", versionRoutes},
			{"usage", usageRoutes},
			{"failures", modelFailures},
			{"attachments", attachedFiles},
			{"history", historyRoute},
			{"delegation", delegationRoutes},
			{"events", socketQuestions},
			{"public", publicRoutes},
		} {
			t.Run(part.name, func(t *testing.T) { part.test(t, w, model) })
		}
	}, append(model.env(), "AUTH_EXCLUDED_ROUTES=GET /user-preferences", "MATRIX_ALLOW_PRIVATE=true")...)
}

func sessionRoutes(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("sessions"))
	var made map[string]any
	reply := alice.do(t, w.Node(1), http.MethodPost, "/sessions", "")
	reply.JSON(t, &made)
	has(t, "a session", made, "sessionId", "title", "lastUpdatedAt", "createdAt", "oracleName", "oracleDid")
	if reply.Status != http.StatusCreated || made["title"] != "Untitled" || reply.Header.Get("X-Request-Id") == "" {
		t.Errorf("create: %d %s", reply.Status, reply.Body)
	}
	for _, field := range []string{"lastUpdatedAt", "createdAt"} {
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(made[field])); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	alice.do(t, w.Node(2), http.MethodPost, "/sessions", "{}")
	var list struct {
		Sessions []map[string]any
		Total    int
	}
	for query, want := range map[string]int{"": 3, "?limit=2": 2, "?limit=2&offset=2": 1, "?limit=1000": 3, "?offset=9": 0, "?limit=0": 1} {
		reply := alice.do(t, w.Node(0), http.MethodGet, "/sessions"+query, "")
		reply.JSON(t, &list)
		if reply.Status != http.StatusOK || len(list.Sessions) != want || list.Total != 3 || list.Sessions == nil {
			t.Errorf("list%s: %d %s", query, reply.Status, reply.Body)
		}
	}
	refused(t, "limit=many", alice.do(t, w.Node(0), http.MethodGet, "/sessions?limit=many", ""), http.StatusBadRequest, "limit")
	path := "/sessions/" + made["sessionId"].(string)
	var gone map[string]any
	reply = alice.do(t, w.Node(0), http.MethodDelete, path, "")
	reply.JSON(t, &gone)
	if diff := cmp.Diff(map[string]any{"message": "Session deleted successfully"}, gone); diff != "" || reply.Status != http.StatusOK {
		t.Errorf("delete: %d %s", reply.Status, reply.Body)
	}
	refused(t, "delete twice", alice.do(t, w.Node(1), http.MethodDelete, path, ""), http.StatusNotFound, "Session not found")
}

func messageRoutes(t *testing.T, w *World, model *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("messages"))
	path := "/messages/" + alice.session
	var answer map[string]any
	first := "first of " + alice.session
	reply := alice.do(t, w.Node(0), http.MethodPost, path, fmt.Sprintf(`{"message":%q,"model":"speaker","requestId":"turn-1"}`, first))
	reply.JSON(t, &answer)
	has(t, "an answer", answer, "message", "sessionId", "runId", "status")
	said, _ := answer["message"].(map[string]any)
	has(t, "the message", said, "type", "content", "id")
	if reply.Status != http.StatusOK || said["type"] != "ai" || said["content"] != answerTo(first) ||
		answer["sessionId"] != alice.session ||
		reply.Header.Get("X-Request-Id") != "turn-1" || reply.Header.Get("X-Run-Id") != answer["runId"] {
		t.Errorf("answer: %d %v %s", reply.Status, reply.Header, reply.Body)
	}
	// Nobody is reminded twice of the delegation, on whichever node he asks.
	if reply.Header.Get("X-Delegation-Required") != "1" || !strings.Contains(reply.Header.Get("Access-Control-Expose-Headers"), "X-Delegation-Required") {
		t.Errorf("the first turn did not ask for a delegation: %v", reply.Header)
	}
	second := "second of " + alice.session
	reply = alice.do(t, w.Node(1), http.MethodPost, path, fmt.Sprintf(`{"message":%q,"returnAllMessages":true}`, second))
	reply.JSON(t, &answer)
	has(t, "an answer with all messages", answer, "message", "sessionId", "runId", "status", "messages")
	if reply.Header.Get("X-Delegation-Required") != "" {
		t.Error("asked for a delegation twice")
	}
	for i := range w.Nodes {
		var texts []string
		for _, m := range alice.transcript(t, w.Node(i)).Messages {
			texts = append(texts, m.Type+": "+m.Content)
			if _, err := time.Parse(time.RFC3339, m.CreatedAt); err != nil || m.ID == "" || !m.IsComplete {
				t.Errorf("message %+v: %v", m, err)
			}
		}
		want := []string{"human: " + first, "ai: " + answerTo(first), "human: " + second, "ai: " + answerTo(second)}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("transcript on node %d (-want +got):\n%s", i, diff)
		}
	}
	if all, _ := answer["messages"].([]any); len(all) != 4 {
		t.Errorf("returnAllMessages: %v", answer["messages"])
	}
	// The zone of the body beats that of the header.
	for _, c := range []struct{ body, want string }{{`,"timezone":"Asia/Tokyo"`, "Asia/Tokyo"}, {"", "Africa/Nairobi"}} {
		message := "what time is it in " + c.want + ", " + alice.session
		reply := w.Node(2).Do(t, Call{
			Method: http.MethodPost, Path: path, Body: fmt.Sprintf(`{"message":%q,"metadata":{"currentEntityDid":"did:ixo:entity:7"}%s}`, message, c.body),
			Header: http.Header{"Authorization": {"Bearer " + alice.token}, "X-Auth-Type": {"ucan"}, "X-Timezone": {"Africa/Nairobi"}},
		})
		if reply.Status != http.StatusOK || !model.told(message, "time zone "+c.want, "did:ixo:entity:7") {
			t.Errorf("%s: %d, and the model was not told of zone and entity", c.want, reply.Status)
		}
	}
	// The title comes by itself.
	Eventually(t, "the session has a title", func() error {
		if reply := alice.do(t, w.Node(0), http.MethodGet, "/sessions", ""); strings.Contains(string(reply.Body), `"title":"Untitled"`) {
			return fmt.Errorf("%s", reply.Body)
		}
		return nil
	})
}

func streamRoutes(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("streams"))
	message := "stream to " + alice.session
	s := alice.stream(t, w.Node(0), http.MethodPost, "/messages/"+alice.session,
		fmt.Sprintf(`{"message":%q,"stream":true}`, message), "X-Request-Id", "asked-1")
	h := s.Header
	if h.Get("X-Request-Id") != "asked-1" || h.Get("X-Run-Id") == "" || h.Get("X-Delegation-Required") != "1" ||
		h.Get("Cache-Control") != "no-cache, no-transform" || h.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers: %v", h)
	}
	frames := s.rest(t)
	seen := map[string]int{}
	for i, f := range frames {
		seen[f.Event]++
		if f.ID != fmt.Sprint(i+1) {
			t.Errorf("frame %d has the id %s", i, f.ID)
		}
	}
	if frames[0].Event != "run" || frames[0].field(t, "runId") != h.Get("X-Run-Id") ||
		frames[0].field(t, "requestId") != "asked-1" {
		t.Errorf("the first frame: %v", frames[0])
	}
	if seen["delegation_required"] != 1 || seen["reasoning"] == 0 || seen["error"] != 0 || textOf(t, frames) != answerTo(message) {
		t.Errorf("frames: %v, text %q", seen, textOf(t, frames))
	}
	done := frames[len(frames)-1]
	list := alice.transcript(t, w.Node(1)).Messages
	if len(list) != 2 || list[1].ID != done.field(t, "messageId") || list[1].Content != answerTo(message) ||
		done.field(t, "status") != "finished" {
		t.Errorf("done %s, transcript %v", done.Data, list)
	}
	// Everything had been read: nothing is left, and nothing new is started.
	end := alice.stream(t, w.Node(2), http.MethodGet, "/runs/"+h.Get("X-Run-Id"), "", "Last-Event-ID", done.ID)
	if f, ok := end.next(); ok {
		t.Errorf("after the end: %v", f)
	}
	again := alice.say(t, w.Node(1), "again to "+alice.session)
	for _, f := range again.rest(t) {
		if f.Event == "delegation_required" {
			t.Error("a second delegation_required within six hours")
		}
	}
}

func messageRefusals(t *testing.T, w *World, _ *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("refusals"))
	file := `{"filename":"a","mimetype":"text/plain","mxcUri":"mxc://a/b"}`
	for name, c := range map[string]struct{ path, body, says string }{
		"empty":             {alice.session, `{"message":""}`, "message should not be empty"},
		"no message":        {alice.session, `{}`, "message must be a string"},
		"unknown field":     {alice.session, `{"message":"x","colour":1}`, "property colour should not exist"},
		"in a tool":         {alice.session, `{"message":"x","tools":[{"name":"t","description":"d","schema":{},"fn":1}]}`, "tools.0.property fn should not exist"},
		"eleven files":      {alice.session, `{"message":"x","attachments":[` + strings.Repeat(file+",", 10) + file + `]}`, "no more than 10 elements"},
		"bad multitask":     {alice.session, `{"message":"x","multitask":"all"}`, "multitask must be one of"},
		"not JSON":          {alice.session, `{nope`, ""},
		"an array":          {alice.session, `[]`, "must be a JSON object"},
		"abort nothing":     {"abort", `{}`, "sessionId should not be empty"},
		"abort and a field": {"abort", `{"sessionId":"x","why":1}`, "why"},
	} {
		refused(t, name, alice.do(t, w.Node(0), http.MethodPost, "/messages/"+c.path, c.body), http.StatusBadRequest, c.says)
	}
	large := fmt.Sprintf(`{"message":%q}`, strings.Repeat("x", 300<<10))
	if reply := alice.do(t, w.Node(0), http.MethodPost, "/messages/"+alice.session, large); reply.Status != http.StatusOK {
		t.Errorf("300 KiB: %d %.200s", reply.Status, reply.Body)
	}
	tooLarge := alice.do(t, w.Node(0), http.MethodPost, "/messages/"+alice.session,
		fmt.Sprintf(`{"message":%q}`, strings.Repeat("x", 1<<20)))
	if tooLarge.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(tooLarge.Body), `"statusCode":413`) {
		t.Errorf("1 MiB: %d %s", tooLarge.Status, tooLarge.Body)
	}
	if n := len(alice.transcript(t, w.Node(1)).Messages); n != 2 {
		t.Errorf("refused messages were stored: %d messages", n)
	}
}

// An unknown session and another's are the same 404 for every verb.
func foreignSessions(t *testing.T, w *World, _ *speaker) {
	alice, bob := newChatter(t, w, identitytest.NewActor("own")), newChatter(t, w, identitytest.NewActor("foreign"))
	bob.do(t, w.Node(0), http.MethodPost, "/messages/"+bob.session, `{"message":"a secret"}`)
	want := `{"error":"Not Found","message":"Session not found","statusCode":404}`
	for i, id := range []string{bob.session, "nobody", "$sess:1", "%24sess%3A1", "$a:b.c", strings.Repeat("x", 300)} {
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, "/messages/" + id, ""},
			{http.MethodPost, "/messages/" + id, `{"message":"hi","stream":true}`},
			{http.MethodPost, "/messages/" + id, `{"message":"hi"}`},
			{http.MethodDelete, "/sessions/" + id, ""},
			{http.MethodGet, "/sessions/" + id + "/messages", ""},
			{http.MethodGet, "/sessions/" + id + "/run", ""},
		} {
			if reply := alice.do(t, w.Node(i), c.method, c.path, c.body); reply.Status != http.StatusNotFound ||
				strings.TrimSpace(string(reply.Body)) != want {
				t.Errorf("%s %s: %d %s", c.method, c.path, reply.Status, reply.Body)
			}
		}
		reply := alice.do(t, w.Node(i), http.MethodPost, "/messages/abort", fmt.Sprintf(`{"sessionId":%q}`, id))
		if strings.TrimSpace(string(reply.Body)) != `{"success":false}` || reply.Status != http.StatusOK {
			t.Errorf("abort of %s: %d %s", id, reply.Status, reply.Body)
		}
	}
	// The owner may encode what need not be encoded.
	bob.session = strings.ReplaceAll(bob.session, "-", "%2D")
	if n := len(bob.transcript(t, w.Node(2)).Messages); n != 2 {
		t.Errorf("the owner has %d messages, want 2", n)
	}
}
