package oraclehttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	r := alice.Do("POST", "/sessions", nil)
	var made map[string]any
	r.JSON(t, &made)
	for _, field := range []string{"sessionId", "title", "lastUpdatedAt", "createdAt", "oracleName", "oracleDid"} {
		if made[field] == nil {
			t.Errorf("session without %s: %s", field, r.Body)
		}
	}
	if r.Status != 201 || made["title"] != "Untitled" || r.Header.Get("X-Request-Id") == "" {
		t.Errorf("create: %d %s", r.Status, r.Body)
	}
	for range 2 {
		alice.Session()
	}
	var list struct {
		Sessions []map[string]any
		Total    int
	}
	alice.Do("GET", "/sessions?limit=2", nil).JSON(t, &list)
	if len(list.Sessions) != 2 || list.Total != 3 {
		t.Errorf("list: %d of %d", len(list.Sessions), list.Total)
	}
	alice.Do("GET", "/sessions?limit=1000&offset=50", nil).JSON(t, &list)
	if len(list.Sessions) != 0 || list.Total != 3 {
		t.Errorf("past the end: %d of %d", len(list.Sessions), list.Total)
	}
	if r := alice.Do("GET", "/sessions?limit=many", nil); r.Status != 400 {
		t.Errorf("limit=many: %d %s", r.Status, r.Body)
	}
	id := made["sessionId"].(string)
	if r := alice.Do("DELETE", "/sessions/"+id, nil); r.Status != 200 || !strings.Contains(string(r.Body), "Session deleted successfully") {
		t.Errorf("delete: %d %s", r.Status, r.Body)
	}
}

// A search looks into titles and messages, and only into one's own.
func TestSearchSessions(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("They fly on warm days."), scripted.Text("Of bees I know nothing.")))
	alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
	first, second := alice.Session(), alice.Session()
	for _, id := range []string{first, second} {
		if r := alice.Do("POST", "/messages/"+id, map[string]any{"message": "Tell me about insects"}); r.Status != 200 {
			t.Fatalf("send: %d %s", r.Status, r.Body)
		}
	}
	type found struct {
		Sessions []struct{ SessionID, Excerpt string }
		Total    int
	}
	search := func(who *oracletest.Client, query string) (list found) {
		who.Do("GET", "/sessions?"+query, nil).JSON(t, &list)
		return list
	}
	list := search(alice, "search=Days+WARM")
	if list.Total != 1 || len(list.Sessions) != 1 || list.Sessions[0].SessionID != first ||
		list.Sessions[0].Excerpt != "They fly on warm days." {
		t.Errorf("found: %+v", list)
	}
	if list = search(alice, "search=insects&limit=1&offset=1"); list.Total != 2 || len(list.Sessions) != 1 {
		t.Errorf("second page: %+v", list)
	}
	if list = search(alice, "search=+"); list.Total != 2 || list.Sessions[0].Excerpt != "" {
		t.Errorf("a search for nothing: %+v", list)
	}
	if list = search(bob, "search=insects"); list.Total != 0 || len(list.Sessions) != 0 {
		t.Errorf("Bob found %+v", list)
	}
	for _, bad := range []string{strings.Repeat("x", 201), strings.Repeat("x+", 17)} {
		if r := alice.Do("GET", "/sessions?search="+bad, nil); r.Status != 400 || !strings.Contains(string(r.Body), "search must have") {
			t.Errorf("%.10s: %d %s", bad, r.Status, r.Body)
		}
	}
}

// Unknown and foreign sessions are the same 404 for every verb, also with $ and : in their ids.
func TestForeignSessionsDoNotExist(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	foreign := n.As(t, identitytest.Bob).Session()
	alice := n.As(t, identitytest.Alice)
	want := ""
	for _, id := range []string{foreign, "nobody", "$sess:1", "%24sess%3A1", "%20", "%ff", "a%00b", strings.Repeat("x", 300)} {
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/messages/" + id, nil},
			{"POST", "/messages/" + id, map[string]any{"message": "hi", "stream": true}},
			{"POST", "/messages/" + id, map[string]any{"message": "hi"}},
			{"DELETE", "/sessions/" + id, nil},
			{"GET", "/sessions/" + id + "/messages", nil},
			{"GET", "/sessions/" + id + "/run", nil},
		} {
			r := alice.Do(c.method, c.path, c.body)
			if want == "" {
				want = string(r.Body)
			}
			if r.Status != 404 || string(r.Body) != want {
				t.Errorf("%s %s: %d %s", c.method, c.path, r.Status, r.Body)
			}
		}
	}
	var body map[string]any
	must(t, json.Unmarshal([]byte(want), &body))
	if d := cmp.Diff(map[string]any{"statusCode": 404.0, "message": "Session not found", "error": "Not Found"}, body); d != "" {
		t.Error(d)
	}
	if r := alice.Do("POST", "/messages/abort", map[string]any{"sessionId": foreign}); !strings.Contains(string(r.Body), `"success":false`) {
		t.Errorf("abort of a foreign session: %s", r.Body)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t,
		scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Reasoning: "hm"}, {Text: "Hello"}, {Text: " you"}}}))
	alice := n.As(t, identitytest.Alice)
	alice.Header.Set("X-Request-Id", "turn-1")
	session := alice.Session()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session,
		map[string]any{"message": "hi", "stream": true, "timezone": "Europe/Zurich", "model": "scripted"})
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	h := resp.Header
	if h.Get("X-Request-Id") != "turn-1" || h.Get("X-Run-Id") == "" || h.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		h.Get("Cache-Control") != "no-cache, no-transform" || h.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers: %v", h)
	}
	if exposed := strings.ToLower(h.Get("Access-Control-Expose-Headers")); !strings.Contains(exposed, "x-request-id") {
		t.Errorf("exposed: %q", exposed)
	}
	frames := oracletest.Stream(t, resp)
	want := []string{"run", "reasoning", "delegation_required", "reasoning", "message", "message", "reasoning", "done"}
	if d := cmp.Diff(want, oracletest.Events(frames)); d != "" {
		t.Fatal(d)
	}
	for i, f := range frames {
		if f.Seq != int64(i+1) {
			t.Errorf("frame %d has number %d", i, f.Seq)
		}
	}
	var done oracle.DoneFrame
	must(t, json.Unmarshal(frames[len(frames)-1].Data, &done))
	var list struct{ Messages []map[string]any }
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 2 || list.Messages[1]["content"] != "Hello you" || list.Messages[1]["id"] != done.MessageID ||
		list.Messages[0]["type"] != "human" {
		t.Errorf("transcript: %v", list.Messages)
	}
	if turn.TextOf(frames) != "Hello you" {
		t.Errorf("text: %q", turn.TextOf(frames))
	}
	// The same run can be read again, whole or in part, byte by byte the same, and under the id of its message.
	alice.Header.Set("X-Request-Id", "again")
	for _, after := range []int{0, 3, 8} {
		resp, err := alice.Open(t.Context(), "GET", fmt.Sprintf("/runs/%s?after=%d", done.RunID, after), nil)
		must(t, err)
		defer func() { _ = resp.Body.Close() }()
		if id := resp.Header.Get("X-Request-Id"); id != "turn-1" {
			t.Errorf("after %d: the answer's id is %q", after, id)
		}
		if d := cmp.Diff(frames[after:], oracletest.Stream(t, resp), cmp.Transformer("text", func(b json.RawMessage) string {
			return string(b)
		})); d != "" && after < 8 {
			t.Errorf("after %d: %s", after, d)
		}
	}
	if r := n.As(t, identitytest.Bob).Do("GET", "/runs/"+done.RunID, nil); r.Status != 404 {
		t.Errorf("a stranger reads a run: %d", r.Status)
	}
}

func TestReplyWithoutStream(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	var reply struct {
		Message   struct{ Type, Content, ID string }
		SessionID string
		Messages  []map[string]any
	}
	r := alice.Do("POST", "/messages/"+session, map[string]any{"message": "hi"})
	r.JSON(t, &reply)
	if r.Status != 200 || reply.Message.Content != "Hello, world" || reply.Message.Type != "ai" ||
		reply.SessionID != session || reply.Messages != nil {
		t.Errorf("reply: %d %s", r.Status, r.Body)
	}
	if r.Header.Get("X-Delegation-Required") != "1" {
		t.Error("the first turn without a delegation does not ask for one")
	}
	r = alice.Do("POST", "/messages/"+session, map[string]any{"message": "again", "returnAllMessages": true})
	r.JSON(t, &reply)
	if len(reply.Messages) != 4 {
		t.Errorf("all messages: %s", r.Body)
	}
	if r.Header.Get("X-Delegation-Required") != "" {
		t.Error("asked for a delegation twice within six hours")
	}
}

// Whoever was asked for a delegation in an answer that was an error has not heard
// of it.
func TestARefusedMessageAsksForNoDelegation(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	if r := alice.Do("POST", "/messages/nobody", map[string]any{"message": "hi"}); r.Status != 404 || r.Header.Get("X-Delegation-Required") != "" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	for _, want := range []string{"1", ""} {
		if r := alice.Do("POST", "/messages/"+alice.Session(), map[string]any{"message": "hi"}); r.Header.Get("X-Delegation-Required") != want {
			t.Errorf("%d, X-Delegation-Required: %q, want %q", r.Status, r.Header.Get("X-Delegation-Required"), want)
		}
	}
}

func TestValidation(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	files := func(k int) []map[string]any {
		return slices.Repeat([]map[string]any{{"filename": "a", "mimetype": "text/plain", "mxcUri": "mxc://a/b"}}, k)
	}
	for _, c := range []struct {
		body any
		want []string
	}{
		{
			map[string]any{"message": "", "foo": 1, "tools": []any{map[string]any{"name": "t", "description": "d"}}},
			[]string{"message should not be empty", "tools.0.schema must be an object", "property foo should not exist"},
		},
		{map[string]any{}, []string{"message should not be empty", "message must be a string"}},
		{map[string]any{"message": "x", "stream": "yes"}, []string{"stream must be a boolean value"}},
		{map[string]any{"message": "x", "attachments": files(11)}, []string{"attachments must contain no more than 10 elements"}},
		{
			map[string]any{"message": "x", "attachments": []any{map[string]any{"filename": "a", "mimetype": "b", "eventId": "x", "zip": 1}}},
			[]string{"attachments.0.eventId must start with $", "attachments.0.property zip should not exist"},
		},
		{
			map[string]any{"message": "x", "attachments": []any{map[string]any{"filename": "a", "mimetype": "b", "cid": "../../secret"}}},
			[]string{"attachments.0.cid must be a CID"},
		},
		{map[string]any{"message": "x", "multitask": "all"}, []string{"multitask must be one of the following values: enqueue, reject, interrupt"}},
	} {
		r := alice.Do("POST", "/messages/"+session, c.body)
		var got struct {
			StatusCode int
			Error      string
			Message    []string
		}
		r.JSON(t, &got)
		if d := cmp.Diff(c.want, got.Message); d != "" || r.Status != 400 || got.StatusCode != r.Status ||
			got.Error != "Bad Request" {
			t.Errorf("%v: %d %s", c.body, r.Status, r.Body)
		}
	}
	if r := alice.Do("POST", "/messages/"+session, "{nope"); r.Status != 400 || !strings.Contains(string(r.Body), `"statusCode":400`) {
		t.Errorf("malformed: %d %s", r.Status, r.Body)
	}
	if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": strings.Repeat("x", 300<<10)}); r.Status != 200 {
		t.Errorf("300 KiB: %d", r.Status)
	}
	if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": strings.Repeat("x", 2<<20)}); r.Status != 413 {
		t.Errorf("2 MiB: %d", r.Status)
	}
	if r := alice.Do("POST", "/messages/abort", map[string]any{}); r.Status != 400 {
		t.Errorf("abort without a session: %d", r.Status)
	}
}

func TestAMessageWhoseAnswerWasLostIsFoundByItsRequest(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "Yes"}}}))
	alice := n.As(t, identitytest.Alice)
	session, other := alice.Session(), alice.Session()
	alice.Header.Set("X-Request-Id", "page-1")
	//nolint:bodyclose // Stream does
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "hi", "stream": true})
	must(t, err)
	oracletest.Stream(t, resp)
	alice.Header.Del("X-Request-Id")
	for _, c := range []struct {
		session, request, want string
	}{
		{session, "page-1", resp.Header.Get("X-Run-Id")},
		{session, "page-2", ""},
		{session, "", ""}, // nothing is going on
		{other, "page-1", ""},
	} {
		var got struct {
			Run struct{ RunID, RequestID, Status string }
		}
		alice.Do("GET", "/sessions/"+c.session+"/run?requestId="+c.request, nil).JSON(t, &got)
		if got.Run.RunID != c.want || c.want != "" && (got.Run.RequestID != "page-1" || got.Run.Status != "finished") {
			t.Errorf("%+v: %+v", c, got.Run)
		}
	}
	if r := n.As(t, identitytest.Bob).Do("GET", "/sessions/"+session+"/run?requestId=page-1", nil); r.Status != 404 {
		t.Errorf("somebody else is told: %d %s", r.Status, r.Body)
	}
}

func TestAMessageThatIsRepeatedOnItsWayIsTakenOnce(t *testing.T) {
	t.Parallel()
	yes := scripted.Reply{Chunks: []plugin.Chunk{{Text: "Yes"}}}
	n := oracletest.Start(t, scripted.Sequence(yes, yes, yes))
	alice := n.As(t, identitytest.Alice)
	for _, c := range []struct {
		request string
		runs    int
	}{
		{"once-1", 1},
		{"trace-1", 2}, // correlates, and names no message
	} {
		session := alice.Session()
		alice.Header.Set("X-Request-Id", c.request)
		runs := map[string]bool{}
		for range 2 {
			//nolint:bodyclose // Stream does
			resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "hi", "stream": true})
			must(t, err)
			runs[resp.Header.Get("X-Run-Id")] = true
			if events := oracletest.Events(oracletest.Stream(t, resp)); resp.Header.Get("X-Request-Id") != c.request ||
				events[len(events)-1] != "done" {
				t.Errorf("%s: %s, %v", c.request, resp.Header.Get("X-Request-Id"), events)
			}
		}
		alice.Header.Del("X-Request-Id")
		var list struct{ Messages []map[string]any }
		alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
		if len(runs) != c.runs || len(list.Messages) != 2*c.runs {
			t.Errorf("%s: %d runs, %d messages, want %d runs", c.request, len(runs), len(list.Messages), c.runs)
		}
	}
}

func TestARequestIDNamesOneMessage(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	alice.Header.Set("X-Request-Id", "once-7")
	if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": "hi"}); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := alice.Do("POST", "/messages/"+session,
		map[string]any{"message": "hi", "stream": true, "timezone": "UTC"}); r.Status != 200 {
		t.Errorf("the same message: %d %s", r.Status, r.Body)
	}
	for name, other := range map[string]map[string]any{
		"another text":  {"message": "bye"},
		"another model": {"message": "hi", "model": "scripted"},
	} {
		if r := alice.Do("POST", "/messages/"+session, other); r.Status != http.StatusConflict {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
}

func TestAnUnknownModelIsRefused(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	r := alice.Do("POST", "/messages/"+alice.Session(), map[string]any{"message": "hi", "model": "oracle-9000"})
	var body struct{ Message, Models []string }
	r.JSON(t, &body)
	if r.Status != http.StatusBadRequest || len(body.Models) != 1 || body.Models[0] != "scripted" || len(body.Message) != 1 ||
		!strings.Contains(body.Message[0], "scripted") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// waitForText reads a run until it has said something.
func waitForText(t *testing.T, c *oracletest.Client, run string) {
	t.Helper()
	resp, err := c.Open(t.Context(), "GET", "/runs/"+run, nil)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 64<<10)
	for seen := ""; !strings.Contains(seen, "event: message"); {
		k, err := resp.Body.Read(buf)
		seen += string(buf[:k])
		must(t, err)
	}
}

func TestModelFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *model.Error
		kind string
	}{
		{&model.Error{Kind: model.RateLimit, Status: 429, Detail: "slow down, org-abcdefgh"}, "rate_limit"},
		{&model.Error{Kind: model.Auth, Status: 401, Detail: "bad key sk-secret-123456"}, "unknown"},
		{&model.Error{Kind: model.Billing, Status: 402, Detail: "no money"}, "unknown"},
		{&model.Error{Kind: model.Network}, "network"},
	} {
		n := oracletest.Start(t, scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "I th"}}, Err: c.err}))
		alice := n.As(t, identitytest.Alice)
		session := alice.Session()
		frames := alice.Say(session, "hi")
		events := oracletest.Events(frames)
		if d := cmp.Diff([]string{"message", "reasoning", "error", "done"}, events[len(events)-4:]); d != "" {
			t.Errorf("%s: %s", c.kind, d)
		}
		var e oracle.ErrorFrame
		must(t, json.Unmarshal(frames[len(frames)-2].Data, &e))
		if e.Kind != c.kind || strings.Contains(string(frames[len(frames)-2].Data), "sk-") ||
			strings.Contains(e.Detail, "org-") {
			t.Errorf("error frame: %s", frames[len(frames)-2].Data)
		}
		if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": "x"}); r.Status < 500 {
			t.Errorf("%s without stream: %d %s", c.kind, r.Status, r.Body)
		}
	}
}

func TestPagesOverHTTP(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	for i := range 3 {
		alice.Say(session, fmt.Sprint("q", i))
	}
	var page struct {
		Messages               []struct{ ID, Content string }
		PrevCursor, NextCursor *string
		HasOlder, HasNewer     bool
	}
	alice.Do("GET", "/sessions/"+session+"/messages?limit=1", nil).JSON(t, &page)
	if len(page.Messages) != 2 || page.Messages[0].Content != "q2" || !page.HasOlder || page.HasNewer ||
		*page.PrevCursor != page.Messages[0].ID {
		t.Fatalf("newest: %+v", page)
	}
	alice.Do("GET", "/sessions/"+session+"/messages?limit=1&before="+*page.PrevCursor, nil).JSON(t, &page)
	if page.Messages[0].Content != "q1" || !page.HasNewer {
		t.Errorf("before: %+v", page)
	}
	for _, query := range []string{"?before=a&after=b", "?limit=x", "?before=nobody"} {
		if r := alice.Do("GET", "/sessions/"+session+"/messages"+query, nil); r.Status != 400 {
			t.Errorf("%s: %d", query, r.Status)
		}
	}
}

func TestDelegation(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	alice := n.As(t, identitytest.Alice)
	check := func(want bool) {
		t.Helper()
		var got struct{ Authorized bool }
		alice.Do("GET", "/delegation", nil).JSON(t, &got)
		if got.Authorized != want {
			t.Errorf("authorized: %v", got.Authorized)
		}
	}
	check(false)
	for name, raw := range map[string]string{
		"empty": "", "garbage": "AAAA",
		"somebody else's": identitytest.Delegation(t, identitytest.Bob, identitytest.Oracle.DID),
		"other audience":  identitytest.Delegation(t, identitytest.Alice, identitytest.Bob.DID),
		"expired": identitytest.Delegation(t, identitytest.Alice, identitytest.Oracle.DID,
			identitytest.TTL(-time.Minute)),
	} {
		if r := alice.Do("POST", "/delegation", map[string]any{"raw": raw}); r.Status != 400 {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := alice.Do("POST", "/delegation", map[string]any{"raw": "x", "bogus": 1}); r.Status != 400 ||
		!strings.Contains(string(r.Body), "bogus") {
		t.Errorf("unknown field: %d %s", r.Status, r.Body)
	}
	check(false)
	r := alice.Do("POST", "/delegation",
		map[string]any{"raw": identitytest.Delegation(t, identitytest.Alice, identitytest.Oracle.DID)})
	if r.Status != 200 || !strings.Contains(string(r.Body), `"ok":true`) || !strings.Contains(string(r.Body), `"expiration":`) {
		t.Errorf("store: %d %s", r.Status, r.Body)
	}
	check(true)
	if r := alice.Do("POST", "/messages/"+alice.Session(), map[string]any{"message": "x"}); r.Header.Get("X-Delegation-Required") != "" {
		t.Error("asked for a delegation that is there")
	}
	alice.Do("DELETE", "/delegation", nil)
	check(false)
}
