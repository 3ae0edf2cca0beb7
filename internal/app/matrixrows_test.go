package app

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/web"
)

// row is one line of the matrix: a request to a route, and what each caller
// gets. A route may have several.
type row struct {
	route  string // method and pattern, as they are mounted
	target string // path and query, with names of things; the pattern unless given
	body   string
	header []string
	may    []string

	owner     int    // Alice, or the operator, or anybody on a public route
	other     int    // Bob with a good token of his own
	grant     int    // Bob with a bare delegation; as other unless given
	refusal   string // what the body says to whom the thing does not concern, where the status is 200
	needs     string // the least file ability
	elsewhere int    // Alice, with a token for another folder
	cid       int    // Alice, with a token for other CIDs; 403 unless given
	signed    bool   // an invocation for everything is needed: a token for a CID gets 403
}

const otherCID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"

// things are what rows are about. All of them are Alice's and hold the marker.
var things = map[string]func(*testing.T, *world) string{
	"{session}": func(t *testing.T, w *world) string { session, _ := w.talk(t); return session },
	"{runId}":   func(t *testing.T, w *world) string { _, run := w.talk(t); return run },
	"{call}": func(t *testing.T, w *world) string {
		session, _ := w.talk(t)
		var made struct{ CallID string }
		w.alices(t, request{method: http.MethodPost, target: "/calls", body: `{"sessionId":"` + session + `","callType":"audio","agentVoice":"` + marker + `"}`}, &made)
		return made.CallID
	},
	"{memory}": func(t *testing.T, w *world) string {
		var made struct{ ID string }
		w.alices(t, request{method: http.MethodPost, target: "/memory", body: fmt.Sprintf(`{"text":"%s %d"}`, marker, w.made.Add(1))}, &made)
		return made.ID
	},
	"{file}":   func(t *testing.T, w *world) string { return w.file(t).ID },
	"{path}":   func(t *testing.T, w *world) string { return w.file(t).Path },
	"{folder}": func(t *testing.T, w *world) string { return path.Dir(w.file(t).Path) },
	"{cid}":    func(t *testing.T, w *world) string { return w.file(t).CID },
	"{trashed}": func(t *testing.T, w *world) string {
		id := w.file(t).ID
		w.alices(t, request{method: http.MethodDelete, target: "/api/fs/files/" + id}, nil)
		return id
	},
	"{public}": func(t *testing.T, w *world) string {
		var made struct{ PublicURL string }
		w.alices(t, request{method: http.MethodPatch, target: "/api/fs/files/" + w.file(t).ID + "/public?public=true"}, &made)
		return path.Base(made.PublicURL)
	},
	"{upload}": func(t *testing.T, w *world) string {
		where := fmt.Sprintf("/%s/upload%d", marker, w.made.Add(1))
		got := w.alices(t, request{method: http.MethodPost, target: "/api/fs/upload", header: []string{
			"Tus-Resumable", "1.0.0", "Upload-Length", "100", "Upload-Metadata", "path " + base64.StdEncoding.EncodeToString([]byte(where)),
		}}, nil)
		return path.Base(got.Header().Get("Location"))
	},
	"{share}": func(t *testing.T, w *world) string {
		var made struct{ ID string }
		w.alices(t,
			request{method: http.MethodPost, target: "/api/fs/shares", body: fmt.Sprintf(`{"delegation":"%s","path":"%s"}`, w.link(t), w.file(t).Path)}, &made)
		return made.ID
	},
	"{collection}": func(t *testing.T, w *world) string {
		var made struct{ ID string }
		n := w.made.Add(1)
		w.alices(t, request{
			method: http.MethodPost, target: "/api/knowledge/collections",
			body: fmt.Sprintf(`{"name":"%s %d","folder":"/%s/knowledge%d","readers":"delegates"}`, marker, n, marker, n),
		}, &made)
		return made.ID
	},
	"{asked}": func(t *testing.T, w *world) string { return w.asked(t) },
	"{question}": func(t *testing.T, w *world) string {
		var waiting struct{ Questions []struct{ ID string } }
		w.alices(t, request{method: http.MethodGet, target: "/api/knowledge/questions"}, &waiting)
		for _, q := range waiting.Questions { // there is a limit
			w.alices(t, request{method: http.MethodDelete, target: "/api/knowledge/questions/" + q.ID}, nil)
		}
		var made struct{ ID string }
		w.alices(t, request{method: http.MethodPost, target: "/knowledge/questions", body: `{"question":"who grows rye?","collection":"` + w.asked(t) + `"}`}, &made)
		return made.ID
	},
	"{webhook}": func(t *testing.T, w *world) string { // one for all rows: there is a limit
		var has struct{ Webhooks []struct{ ID string } }
		w.alices(t, request{method: http.MethodGet, target: "/api/webhooks"}, &has)
		if len(has.Webhooks) > 0 {
			return has.Webhooks[0].ID
		}
		var made struct{ ID string }
		w.alices(t, request{method: http.MethodPost, target: "/api/webhooks", body: `{"url":"http://127.0.0.1:9/","events":["webhook.*"],"description":"` + marker + `"}`}, &made)
		return made.ID
	},
	"{link}": func(t *testing.T, w *world) string { return w.link(t) },
	"{new}":  func(_ *testing.T, w *world) string { return fmt.Sprintf("/drafts/new%d.txt", w.made.Add(1)) },
	"{key}": func(t *testing.T, w *world) string {
		k, _ := appkeytest.Make(t, w.keys, alice, fmt.Sprint(marker, w.made.Add(1)))
		return k.ID
	},
	"{grant}": func(t *testing.T, w *world) string {
		return identitytest.Delegation(t, alice, w.DID())
	},
}

// asked is a collection of Alice's of which operators may know: they answer what is
// asked there.
func (w *world) asked(t *testing.T) string {
	t.Helper()
	var c struct{ ID string }
	n := w.made.Add(1)
	w.alices(t, request{
		method: http.MethodPost, target: "/api/knowledge/collections",
		body: fmt.Sprintf(`{"name":"asked %d","folder":"/%s/asked%d","readers":"delegates"}`, n, marker, n),
	}, &c)
	return c.ID
}

// link is a delegation of Alice's, as a share link carries it.
func (w *world) link(t *testing.T) string {
	t.Helper()
	return identitytest.Delegation(t, alice, mallory.DID, identitytest.Nonce(fmt.Sprint(w.made.Add(1))),
		identitytest.Can("fs/read", alice.Home("/"+marker)))
}

type madeFile struct{ ID, Path, CID string }

func (w *world) file(t *testing.T) madeFile {
	t.Helper()
	n := w.made.Add(1)
	var made madeFile
	w.alices(t, request{
		method: http.MethodPost, target: fmt.Sprintf("/api/fs/files?path=/%s/%d/note.txt", marker, n),
		body: fmt.Sprintf("%s %d", marker, n), header: []string{"Content-Type", "text/plain"},
	}, &made)
	return made
}

// talk is a session of Alice's with one run that has ended.
func (w *world) talk(t *testing.T) (session, run string) {
	t.Helper()
	var made struct{ SessionID, RunID string }
	w.alices(t, request{method: http.MethodPost, target: "/sessions"}, &made)
	w.alices(t, request{method: http.MethodPost, target: "/messages/" + made.SessionID, body: `{"message":"` + marker + `"}`}, &made)
	return made.SessionID, made.RunID
}

// dynamicRow is a query: its paths come from the chain, so that it is mounted
// as no route.
var dynamicRow = row{route: "GET /ixo/entity/params", owner: 200}

// optionalRows are the routes that take a caller when there is one.
var optionalRows = []row{
	{route: "GET /ipfs/{cid}", target: "/ipfs/{cid}?format=raw", owner: 200, other: 404},
	{route: "HEAD /ipfs/{cid}", target: "/ipfs/{cid}?format=raw", owner: 200, other: 404},
	{route: "GET /ipfs/{cid}/{path...}", target: "/ipfs/{cid}/x?format=car", owner: 404, other: 404},
	{route: "HEAD /ipfs/{cid}/{path...}", target: "/ipfs/{cid}/x?format=car", owner: 404, other: 404},
}

var publicRows = []row{
	{route: "GET /", owner: 200},
	{route: "GET /health", owner: 200},
	{route: "GET /ready", owner: 200},
	{route: "GET /ready/{part}", target: "/ready/database", owner: 200},
	{route: "GET /console", owner: 302},
	{route: "GET /console/features.json", owner: 200},
	{route: "GET /console/", owner: consoleStatus(), may: []string{"text"}},
	{route: "GET /console/{path...}", target: "/console/files", owner: consoleStatus(), may: []string{"text"}},
	{route: "GET /docs", owner: 200},
	{route: "GET /docs/", owner: 200},
	{route: "GET /docs/{file}", target: "/docs/none.js", owner: 404},
	{route: "GET /docs-json", owner: 200},
	{route: "GET /guides", target: "/guides?q=telephone", owner: 200},
	{route: "GET /guides/", owner: 200},
	{route: "GET /guides/{path...}", target: "/guides/start", owner: 200},
	{route: "GET /.well-known/did.json", owner: 200},
	{route: "GET /.well-known/oauth-protected-resource", owner: 200},
	{route: "GET /.well-known/oauth-protected-resource/mcp", owner: 200},
	// The body is a credential by itself, and this one does not hold.
	{route: "POST /api/revocations", body: `{"revocation":"x"}`, owner: 401},
	{route: "POST /api/revocations/check", body: `{"cids":[]}`, owner: 200},
	{route: "GET /models", owner: 200},
	{route: "GET /openings", owner: 200},
	// It knows a secret of its own, and no user.
	{route: "POST /credits/grants", body: `{}`, owner: 401},
	{route: "POST /credits/grants", body: `{}`, header: []string{"Authorization", "Bearer " + grantSecret}, owner: 400},
	{route: "POST /claims/cron/submit", owner: 401},
	{route: "POST /claims/cron/submit", header: cron, owner: 200},
	{route: "POST /claims/cron/settle", owner: 401},
	{route: "POST /claims/cron/settle", header: cron, owner: 200},
	{route: "GET /claims/cron/dead", owner: 401},
	{route: "GET /claims/cron/dead", header: cron, owner: 200},
	{route: "POST /claims/cron/dead/{id}", target: "/claims/cron/dead/claim_1", owner: 401},
	{route: "POST /claims/cron/dead/{id}", target: "/claims/cron/dead/claim_1", header: cron, owner: 404},
	{route: "GET /teamchat/dead", owner: 401},
	{route: "GET /teamchat/dead", header: cron, owner: 200},
	{route: "POST /teamchat/dead/{id}", target: "/teamchat/dead/Ev1", owner: 401},
	{route: "POST /teamchat/dead/{id}", target: "/teamchat/dead/Ev1", header: cron, owner: 404},
	// The state is the secret of these, and nobody has this one.
	{route: "GET /mcp-servers/authorize/{state}", target: "/mcp-servers/authorize/NOPE", owner: 410, may: []string{"text"}},
	{route: "GET /mcp-servers/callback", target: "/mcp-servers/callback?state=NOPE&code=x", owner: 410, may: []string{"text"}},
	{route: "GET /mcp-servers/client.json", owner: 404},
	{route: "GET /mcp-servers/answer/{issuer}", target: "/mcp-servers/answer/AAAAAAAAAAAAAAAAAAAAAA?state=NOPE&code=x", owner: 410, may: []string{"text"}},
	{route: "GET /mcp-servers/client/{issuer}", target: "/mcp-servers/client/AAAAAAAAAAAAAAAAAAAAAA", owner: 404},
	// The chat signs these.
	{route: "POST /teamchat/slack/events", body: `{}`, owner: 401},
	{route: "POST /teamchat/slack/commands", body: `{}`, owner: 401},
	{route: "GET /socket.io/", owner: 400},
	{route: "POST /socket.io/", owner: 400},
	{route: "GET /public/id/{id}", target: "/public/id/{public}", owner: 200, may: []string{"see"}},
	{route: "GET /public/id/{id}", target: "/public/id/{file}", owner: 404},
	{route: "HEAD /public/id/{id}", target: "/public/id/{public}", owner: 200},
	{route: "HEAD /public/id/{id}", target: "/public/id/{file}", owner: 404},
	{route: "GET /s/{secret}", target: "/s/{file}", owner: 404},
	{route: "HEAD /s/{secret}", target: "/s/{file}", owner: 404},
	{route: "POST /s/{secret}", target: "/s/{file}", owner: 404},
	{route: "POST /s/{secret}/{path...}", target: "/s/{file}/", owner: 404},
	{route: "PUT /s/{secret}/{path...}", target: "/s/{file}/x", owner: 404},
	{route: "GET /s/{secret}/{path...}", target: "/s/{file}/x", owner: 404},
	{route: "HEAD /s/{secret}/{path...}", target: "/s/{file}/x", owner: 404},
	{route: "OPTIONS /dav", owner: 200},
	{route: "OPTIONS /dav/{path...}", target: "/dav/x", owner: 200},
	{route: "OPTIONS /api/fs/upload", owner: 204},
	{route: "OPTIONS /api/fs/upload/{id}", target: "/api/fs/upload/{upload}", owner: 204},
	{route: "POST /api/sms/africastalking", owner: 404},
	{route: "POST /api/sms/twilio", owner: 404},
	{route: "POST /api/sms/africastalking/reports", owner: 404},
	{route: "POST /api/sms/twilio/reports", owner: 404},
	{route: "POST /api/ussd", owner: 200},
	{route: "POST /api/ussd/africastalking", owner: 200},
	{route: "POST /api/ussd/africastalking/events", owner: 200},
	{route: "POST /api/ussd/hubtel", body: `{}`, owner: 200},
	{route: "POST /api/ussd/infobip/session/{sessionId}/start", target: "/api/ussd/infobip/session/1/start", body: `{}`, owner: 200},
	{route: "PUT /api/ussd/infobip/session/{sessionId}/response", target: "/api/ussd/infobip/session/1/response", body: `{}`, owner: 200},
	{route: "PUT /api/ussd/infobip/session/{sessionId}/end", target: "/api/ussd/infobip/session/1/end", body: `{}`, owner: 200},
	{route: "POST /api/ussd/arkesel", body: `{}`, owner: 200},
	{route: "POST /api/ussd/nalo", body: `{}`, owner: 200},
	{route: "GET /api/ussd/advanta", owner: 200},
	{route: "GET /api/ussd/bonga", owner: 200},
	{route: "GET /api/ussd/crossgate", owner: 200},
	{route: "GET /api/ussd/hollatags", owner: 200},
	{route: "POST /api/ussd/beem", body: `{}`, owner: 200},
}

// consoleStatus depends on whether the page was built into the program.
func consoleStatus() int {
	if _, built := web.Console(); built {
		return http.StatusOK
	}
	return http.StatusNotFound
}

var operatorRows = []row{
	{route: "GET /metrics", owner: 200},
	{route: "GET /debug/profile/cpu", target: "/debug/profile/cpu?seconds=99", owner: 400},
	{route: "GET /debug/profile/trace", target: "/debug/profile/trace?seconds=x", owner: 400},
	{route: "GET /debug/profile/heap", owner: 200},
	{route: "GET /debug/profile/allocs", owner: 200},
	{route: "GET /debug/profile/goroutine", owner: 200},
	{route: "GET /operator/plugins", owner: 200},
	{route: "PATCH /operator/plugins/{name}", target: "/operator/plugins/none", body: "{}", owner: 404},
	{route: "GET /operator/settings", owner: 200},
	{route: "GET /operator/address", owner: 200},
	{route: "GET /operator/logs", owner: 200},
	{route: "GET /operator/logs", target: "/operator/logs?level=loud", owner: 400},
	{route: "GET /operator/audit", owner: 200},
	{route: "GET /operator/audit", target: "/operator/audit?actor=a&act=b", owner: 400},
	{route: "GET /operator/audit/export", owner: 200},
	{route: "GET /operator/retention", owner: 200},
	{route: "GET /operator/retention", target: "/operator/retention?rules=runs:%2090d", owner: 200},
	{route: "GET /operator/retention", target: "/operator/retention?rules=runs:%201h", owner: 400},
	{route: "POST /operator/retention/archive", owner: 409},
	{route: "GET /operator/backups", owner: 200},
	{route: "POST /operator/backups", owner: 409},
	{route: "POST /operator/backups/{name}/check", target: "/operator/backups/none/check", owner: 409},
	{route: "POST /operator/backups/{name}/trial", target: "/operator/backups/none/trial", body: `{"problem":1}`, owner: 400},
	{route: "GET /operator/backups/{name}/archive", target: "/operator/backups/none/archive", owner: 409},
	{route: "GET /operator/me", owner: 200},
	{route: "GET /operator/health", owner: 200},
	{route: "GET /operator/operators", owner: 200},
	{route: "PUT /operator/operators/{did}", target: "/operator/operators/" + bob.DID, body: `{"role":"king"}`, owner: 400},
	{route: "DELETE /operator/operators/{did}", target: "/operator/operators/" + bob.DID, owner: 404},
	{route: "GET /operator/claims", owner: 200, may: []string{"see"}},
	{route: "GET /operator/claims", target: "/operator/claims?state=paid", owner: 400},
	{route: "POST /operator/claims/{id}/retry", target: "/operator/claims/claim_x/retry", owner: 404},
	{route: "GET /operator/credits", owner: 200, may: []string{"see"}},
	{route: "GET /operator/people", owner: 200, may: []string{"see"}},
	{route: "GET /operator/people", target: "/operator/people?limit=0", owner: 400},
	{route: "PUT /operator/people/{did}/block", target: "/operator/people/alice/block", body: `{}`, owner: 400},
	{route: "DELETE /operator/people/{did}/block", target: "/operator/people/" + bob.DID + "/block", owner: 404},
	{route: "GET /operator/people/{did}/quota", target: "/operator/people/" + bob.DID + "/quota", owner: 200, may: []string{"see"}},
	{route: "PUT /operator/people/{did}/quota", target: "/operator/people/" + bob.DID + "/quota", body: `{"bytes":-1}`, owner: 400},
	{route: "DELETE /operator/people/{did}/quota", target: "/operator/people/alice/quota", owner: 400},
	{route: "POST /operator/people/{did}/export", target: "/operator/people/alice/export", owner: 400},
	{route: "POST /operator/people/{did}/erase", target: "/operator/people/" + bob.DID + "/erase", body: `{"confirm":"no"}`, owner: 400},
	{route: "GET /operator/access", owner: 200},
	{route: "GET /operator/members", target: "/operator/members?limit=2", owner: 200},
	{route: "PUT /operator/members/{did}", target: "/operator/members/alice", owner: 400},
	{route: "DELETE /operator/members/{did}", target: "/operator/members/" + bob.DID, owner: 404},
	{route: "GET /operator/invitations", owner: 200},
	{route: "POST /operator/invitations", body: `{"maxUses":2,"note":"friends"}`, owner: 201},
	{route: "DELETE /operator/invitations/{id}", target: "/operator/invitations/none", owner: 404},
	{route: "GET /operator/knowledge/collections", target: "/operator/knowledge/collections?limit=2", owner: 200, may: []string{"see"}},
	{route: "PUT /operator/knowledge/collections/{id}/published", target: "/operator/knowledge/collections/none/published", body: `{"readers":"everybody"}`, owner: 404},
	{route: "DELETE /operator/knowledge/collections/{id}/published", target: "/operator/knowledge/collections/none/published", owner: 404},
	{route: "GET /operator/documents", owner: 200},
	{route: "GET /operator/documents/{name}", target: "/operator/documents/instructions", owner: 200},
	{route: "PUT /operator/documents/{name}", target: "/operator/documents/instructions", body: `{"text":"Be kind."}`, owner: 400},
	{route: "DELETE /operator/documents/{name}", target: "/operator/documents/models", owner: 400},
	{route: "GET /operator/documents/{name}/versions", target: "/operator/documents/models/versions", owner: 200},
	{route: "GET /operator/documents/{name}/versions/{version}", target: "/operator/documents/models/versions/7", owner: 404},
	{route: "POST /operator/documents/{name}/versions/{version}/restore", target: "/operator/documents/models/versions/7/restore", body: `{}`, owner: 400},
	{route: "GET /operator/models", owner: 200},
	{route: "GET /operator/models/single", owner: 200},
	{route: "PUT /operator/models/single", body: `{"kind":"guide"}`, owner: 400},
	{route: "POST /operator/models/try", body: `{"kind":"guide"}`, owner: 200},
	{route: "GET /operator/speech", owner: 200},
	{route: "GET /operator/usage", target: "/operator/usage?by=user,source", owner: 200},
	{route: "GET /operator/usage/spenders", target: "/operator/usage/spenders?month=2026-11", owner: 200},
	{route: "GET /operator/usage/credits", owner: 200},
	{route: "GET /operator/feedback", target: "/operator/feedback?from=2026-11-01&to=2026-11-02", owner: 200},
	{route: "GET /query/status", owner: 200},
	{route: "GET /query/routes", owner: 200},
	{route: "GET /api/ussd/debug/{sessionId}", target: "/api/ussd/debug/1", owner: 404},
	{route: "GET /api/ussd/sessions", owner: 200},
	{route: "GET /api/ussd/live", owner: 200},
	{route: "GET /api/ussd/timeline/{sessionId}", target: "/api/ussd/timeline/1", owner: 404},
	{route: "GET /api/ussd/funnel", owner: 200},
	{route: "GET /api/ussd/graph", owner: 200},
	{route: "GET /api/ussd/locks", owner: 200},
	{route: "POST /api/ussd/accounts/{account}/unlock", target: "/api/ussd/accounts/1/unlock", owner: 404},
	{route: "POST /api/ussd/telephones/unlock", body: `{"telephone":"tel-1"}`, owner: 404},
	{route: "GET /operator/knowledge/questions", owner: 200},
	{route: "POST /operator/knowledge/questions/{id}/answer", target: "/operator/knowledge/questions/none/answer", body: `{"answer":"Nobody."}`, owner: 404},
	{route: "POST /operator/knowledge/questions/{id}/dismiss", target: "/operator/knowledge/questions/none/dismiss", owner: 404},
	{route: "DELETE /operator/knowledge/questions/{id}", target: "/operator/knowledge/questions/none", owner: 404},
	{route: "GET /operator/ussd/debug/{sessionId}", target: "/operator/ussd/debug/1", owner: 404},
	{route: "GET /operator/ussd/sessions", owner: 200},
	{route: "GET /operator/ussd/live", owner: 200},
	{route: "GET /operator/ussd/timeline/{sessionId}", target: "/operator/ussd/timeline/1", owner: 404},
	{route: "GET /operator/ussd/funnel", owner: 200},
	{route: "GET /operator/ussd/graph", owner: 200},
	{route: "GET /operator/ussd/menus", owner: 200},
	{route: "GET /operator/ussd/locks", owner: 200},
	{route: "POST /operator/ussd/accounts/{account}/unlock", target: "/operator/ussd/accounts/1/unlock", owner: 404},
	{route: "POST /operator/ussd/telephones/unlock", body: `{"telephone":"tel-1"}`, owner: 404},
	{route: "GET /operator/ussd/refusals", owner: 200},
	{route: "GET /operator/ussd/figures", owner: 200},
	{route: "GET /operator/ussd/days", target: "/operator/ussd/days?days=90", owner: 200},
	{route: "POST /operator/ussd/menu/draft", body: `{"text":"name: x"}`, owner: 200},
	{route: "POST /operator/ussd/menu/try", body: `{"text":"name: x","inputs":[]}`, owner: 400},
	{route: "GET /operator/ussd/forms", owner: 200},
	{route: "GET /operator/ussd/forms/{form}", target: "/operator/ussd/forms/x", owner: 200},
	{route: "GET /operator/ussd/forms/{form}/csv", target: "/operator/ussd/forms/x/csv", owner: 200},
	{route: "DELETE /operator/ussd/forms/{form}/{submission}", target: "/operator/ussd/forms/x/1", owner: 404},
	{route: "GET /operator/ussd/accounts", owner: 200},
	{route: "GET /operator/ussd/acts", owner: 200},
	{route: "POST /operator/ussd/accounts/search", body: `{}`, owner: 200},
	{route: "POST /operator/ussd/accounts/{account}/reset-pin", target: "/operator/ussd/accounts/1/reset-pin", owner: 404},
	{route: "POST /operator/ussd/accounts/{account}/reset-pin/sms", target: "/operator/ussd/accounts/1/reset-pin/sms", owner: 404},
	{route: "GET /operator/ussd/key-requests", owner: 200},
	{route: "POST /operator/ussd/key-requests/{id}/approve", target: "/operator/ussd/key-requests/1/approve", owner: 404},
	{route: "POST /operator/ussd/key-requests/{id}/refuse", target: "/operator/ussd/key-requests/1/refuse", owner: 404},
	{route: "POST /operator/ussd/key-requests/{id}/undo", target: "/operator/ussd/key-requests/1/undo", owner: 404},
	{route: "POST /operator/ussd/accounts/{account}/close", target: "/operator/ussd/accounts/1/close", owner: 404},
	{route: "POST /operator/ussd/accounts/{account}/erase", target: "/operator/ussd/accounts/1/erase", owner: 404},
	{route: "POST /operator/ussd/accounts/{account}/move", target: "/operator/ussd/accounts/1/move", body: `{"phoneNumber":"+254700000001"}`, owner: 404},
}

var entranceRows = []row{
	{route: "POST /api/setup", body: `{"code":"AAAAAAAAAAAAAAAAAAAAAAAAAA"}`, owner: 404},
	{route: "GET /api/key-requests", owner: 200},
	{route: "POST /api/key-requests", body: `{"account":"C1A2B3C4D"}`, owner: 409},
	{route: "POST /api/key-requests/{id}/refuse", target: "/api/key-requests/1/refuse", owner: 404},
	{route: "POST /api/invitations/redeem", body: `{"code":"AAAAAAAAAAAAAAAAAAAAAAAAAA"}`, owner: 404},
}

var oracleRows = []row{
	{route: "POST /sessions", owner: 201, other: 201},
	{route: "GET /sessions", target: "/sessions?limit=100", owner: 200, other: 200},
	{route: "DELETE /sessions/{sessionId}", target: "/sessions/{session}", owner: 200, other: 404},
	{route: "GET /sessions/{sessionId}/messages", target: "/sessions/{session}/messages", owner: 200, other: 404},
	{route: "GET /sessions/{sessionId}/run", target: "/sessions/{session}/run", owner: 200, other: 404},
	{route: "POST /messages/{sessionId}", target: "/messages/{session}", body: `{"message":"hello"}`, owner: 200, other: 404},
	{route: "POST /messages/{sessionId}", target: "/messages/{session}", body: `{"message":"hello","stream":true}`, owner: 200, other: 404},
	{route: "GET /messages/{sessionId}", target: "/messages/{session}", owner: 200, other: 404},
	{route: "POST /messages/abort", body: `{"sessionId":"{session}"}`, owner: 200, other: 200, refusal: `{"success":false}`},
	{route: "GET /runs/{runId}", owner: 200, other: 404},
	{route: "POST /sessions/{sessionId}/messages/{messageId}/versions", target: "/sessions/{session}/messages/none/versions", body: `{}`, owner: 404, other: 404},
	{route: "GET /sessions/{sessionId}/messages/{messageId}/versions", target: "/sessions/{session}/messages/none/versions", owner: 404, other: 404},
	{route: "POST /sessions/{sessionId}/messages/{messageId}/choose", target: "/sessions/{session}/messages/none/choose", owner: 404, other: 404},
	{route: "PUT /sessions/{sessionId}/messages/{messageId}/feedback", target: "/sessions/{session}/messages/none/feedback", body: `{"rating":"up"}`, owner: 404, other: 404},
	{route: "DELETE /sessions/{sessionId}/messages/{messageId}/feedback", target: "/sessions/{session}/messages/none/feedback", owner: 404, other: 404},
	{route: "GET /approvals", owner: 200, other: 200},
	{route: "GET /usage", owner: 200, other: 200},
	{route: "POST /approvals/{approvalId}", target: "/approvals/1", body: `{"decision":"approve"}`, owner: 404, other: 404, grant: 403},
	{route: "POST /delegation", body: `{"raw":"{grant}"}`, owner: 200, other: 400},
	{route: "GET /delegation", owner: 200, other: 200},
	{route: "DELETE /delegation", owner: 200, other: 200},
	{route: "POST /api/keys/offer", owner: 200, other: 200, grant: 403, signed: true},
	{route: "POST /api/keys", body: `{"id":"me","name":"x","delegation":"{grant}"}`, owner: 400, other: 400, grant: 403, signed: true},
	{route: "GET /api/keys", target: "/api/keys?of={key}", owner: 200, other: 200, refusal: `{"keys":[]}`},
	{route: "DELETE /api/keys/{id}", target: "/api/keys/{key}", owner: 204, other: 404, grant: 403, signed: true},
	{route: "POST /api/telephones", body: `{"account":"C1A2B3C4D"}`, owner: 200, other: 200, grant: 403, signed: true},
	{route: "GET /api/telephones", owner: 200, other: 200, grant: 403, signed: true},
	{route: "DELETE /api/telephones/{account}", target: "/api/telephones/C1A2B3C4D", owner: 204, other: 204, grant: 403, signed: true},
	{route: "POST /api/telephones/{account}/reset-pin", target: "/api/telephones/C1A2B3C4D/reset-pin", owner: 404, other: 404, grant: 403, signed: true},
	{route: "POST /calls", body: `{"sessionId":"{session}","callType":"audio"}`, owner: 201, other: 404},
	{route: "POST /calls", body: `{"sessionId":"{session}","callType":"smoke"}`, owner: 400, other: 400},
	{route: "GET /calls", target: "/calls?sessionId={session}", owner: 200, other: 404},
	{route: "GET /calls/speech", owner: 200, other: 200},
	{route: "GET /calls/{callId}", target: "/calls/{call}", owner: 200, other: 404},
	{route: "PATCH /calls/{callId}", target: "/calls/{call}", body: `{"callStatus":"ended"}`, owner: 200, other: 404},
	{route: "GET /user-preferences", owner: 200, other: 200},
	{route: "PUT /user-preferences", body: `{}`, owner: 200, other: 200},
	{route: "PATCH /user-preferences", body: `{}`, owner: 200, other: 200},
	{route: "DELETE /user-preferences", owner: 200, other: 200},
	{route: "GET /memory", owner: 200, other: 200},
	{route: "POST /memory", body: `{"text":"a heron"}`, owner: 201, other: 201},
	{route: "DELETE /memory/{id}", target: "/memory/{memory}", owner: 200, other: 404},
	{route: "DELETE /memory", owner: 200, other: 200},
	{route: "POST /knowledge/search", body: `{"query":"who grows rye in {collection}"}`, owner: 200, other: 200, refusal: `"hits":[]`},
	{route: "POST /knowledge/search", body: `{"query":""}`, owner: 400, other: 400},
	{route: "GET /knowledge/collections", owner: 200, other: 200},
	{route: "GET /knowledge/passages/{collection}/{document}/{number}", target: "/knowledge/passages/{collection}/none/0", owner: 404, other: 404},
	{route: "POST /knowledge/questions", body: `{"question":"who grows rye?","collection":"{asked}"}`, owner: 201, other: 404},
	{route: "GET /knowledge/questions", target: "/knowledge/questions?of={question}", owner: 200, other: 200, refusal: `{"questions":[]}`},
	{route: "GET /credits", owner: 200, other: 200},
	{route: "GET /claims", owner: 200, other: 200},
	{route: "POST /teamchat/link", body: `{"code":"NOPE"}`, owner: 404, other: 404, grant: 403, signed: true},
	{route: "GET /teamchat/links", owner: 200, other: 200},
	{route: "GET /mcp-servers", owner: 200, other: 200},
	{route: "POST /mcp-servers", body: `{"name":"x","url":"http://x"}`, owner: 400, other: 400, grant: 403, signed: true},
	{route: "DELETE /mcp-servers/{name}", target: "/mcp-servers/x", owner: 404, other: 404, grant: 403, signed: true},
	{route: "POST /mcp-servers/{name}/authorize", target: "/mcp-servers/x/authorize", owner: 404, other: 404, grant: 403, signed: true},
	{route: "POST /mcp-servers/{name}/confirm", target: "/mcp-servers/x/confirm", body: `{"code":"x"}`, owner: 404, other: 404, grant: 403, signed: true},
	{route: "DELETE /mcp-servers/{name}/authorization", target: "/mcp-servers/x/authorization", owner: 404, other: 404, grant: 403, signed: true},
	{route: "DELETE /teamchat/links/{team}/{user}", target: "/teamchat/links/T1/U1", owner: 404, other: 404, grant: 403, signed: true},
	{route: "GET /api/webhooks", owner: 200, other: 200, grant: 403, signed: true},
	{route: "POST /api/webhooks", body: `{"url":"http://127.0.0.1:9/","events":["webhook.*"]}`, owner: 201, other: 201, grant: 403, signed: true},
	{route: "GET /api/webhooks/types", owner: 200, other: 200, grant: 403, signed: true},
	{route: "GET /api/webhooks/{id}", target: "/api/webhooks/{webhook}", owner: 200, other: 404, grant: 403, signed: true},
	{route: "PATCH /api/webhooks/{id}", target: "/api/webhooks/{webhook}", body: `{"status":"active"}`, owner: 200, other: 404, grant: 403, signed: true},
	{route: "POST /api/webhooks/{id}/secret", target: "/api/webhooks/{webhook}/secret", owner: 201, other: 404, grant: 403, signed: true},
	{route: "POST /api/webhooks/{id}/test", target: "/api/webhooks/{webhook}/test", owner: 202, other: 404, grant: 403, signed: true},
	{route: "GET /api/webhooks/{id}/deliveries", target: "/api/webhooks/{webhook}/deliveries", owner: 200, other: 404, grant: 403, signed: true},
	{route: "POST /api/webhooks/{id}/deliveries/{event}/replay", target: "/api/webhooks/{webhook}/deliveries/evt_AAAAAAAAAAAAAAAAAAAAAAAAAA/replay", owner: 404, other: 404, grant: 403, signed: true},
	{route: "POST /api/webhooks/{id}/replay", target: "/api/webhooks/{webhook}/replay", body: `{"since":"2026-01-01T00:00:00Z"}`, owner: 202, other: 404, grant: 403, signed: true},
	{route: "DELETE /api/webhooks/{id}", target: "/api/webhooks/{webhook}", owner: 204, other: 404, grant: 403, signed: true},
}

var (
	tus  = []string{"Tus-Resumable", "1.0.0"}
	more = []string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}
	cron = []string{"Authorization", "Bearer " + cronSecret}
	rpc  = []string{"Accept", "application/json, text/event-stream"}
	// A new upload, in a folder that others do not reach.
	begin = []string{
		"Tus-Resumable", "1.0.0", "Upload-Length", "3",
		"Upload-Metadata", "path " + base64.StdEncoding.EncodeToString([]byte("/"+marker+"/resumed.txt")),
	}
)

const readTool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vfs_read","arguments":{"path":"{path}"}}}`

var fileRows = underFiles([]row{
	{
		route: "POST /import", target: "/import?path=/none", body: "no archive",
		header: []string{"Content-Type", "application/vnd.ipld.car"}, needs: "fs/write", owner: 400, other: 400, elsewhere: 400,
	},
	{route: "GET /files/{id}", target: "/files/{file}", needs: "fs/list", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /files/{id}/content", target: "/files/{file}/content", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "HEAD /files/{id}/content", target: "/files/{file}/content", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /files/{id}/read", target: "/files/{file}/read", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	// This world has no reader of documents, which is what whoever may read is told.
	{route: "GET /files/{id}/document", target: "/files/{file}/document", needs: "fs/read", owner: 400, other: 404, elsewhere: 404},
	{route: "GET /files/{id}/thumbnail", target: "/files/{file}/thumbnail", needs: "fs/read", owner: 400, other: 404, elsewhere: 404},
	{route: "GET /content", target: "/content?path={path}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "HEAD /content", target: "/content?path={path}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /cid/{cid}", target: "/cid/{cid}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "HEAD /cid/{cid}", target: "/cid/{cid}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /stat", target: "/stat?path={path}", needs: "fs/list", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /tree", target: "/tree?path={folder}", needs: "fs/list", owner: 200, other: 200, elsewhere: 200, refusal: `{"nodes":[]}`},
	{route: "GET /files", target: "/files?path={folder}", needs: "fs/list", owner: 200, other: 200, elsewhere: 200, refusal: `"files":[]`},
	{route: "GET /glob", target: "/glob?pattern=**", needs: "fs/list", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /cids", needs: "fs/read", owner: 200, other: 200, elsewhere: 200, cid: 200},
	{route: "GET /search", target: "/search?q=rye", needs: "fs/read", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /grep", target: "/grep?q=rye", needs: "fs/read", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /trash", needs: "fs/list", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /changes", needs: "fs/list", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /audit", needs: "fs/*", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /usage", needs: "fs/list", owner: 200, other: 200, elsewhere: 200},
	{route: "GET /export", target: "/export?path={folder}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "HEAD /export", target: "/export?path={folder}", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /files", target: "/files?path={new}", body: marker, needs: "fs/write", owner: 201, other: 201, elsewhere: 403},
	{route: "PUT /files/{id}", target: "/files/{file}", body: marker, needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "PUT /content", target: "/content?path={new}", body: marker, needs: "fs/write", owner: 201, other: 201, elsewhere: 403},
	{route: "PATCH /files/{id}/edit", target: "/files/{file}/edit", body: `{"oldString":"rye","newString":"oats"}`, needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /move", target: "/move", body: `{"from":"{path}","to":"{new}"}`, needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /copy", body: `{"from":"{folder}","to":"{new}"}`, needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /folders", target: "/folders?path={folder}", needs: "fs/list", owner: 200, other: 200, elsewhere: 200, refusal: `{"folders":[]}`},
	{route: "POST /folders", body: `{"path":"{new}"}`, needs: "fs/write", owner: 201, other: 201, elsewhere: 403},
	{route: "DELETE /folders", target: "/folders?path={folder}", needs: "fs/delete", owner: 200, other: 404, elsewhere: 404},
	{route: "PATCH /files/{id}/public", target: "/files/{file}/public?public=true", needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "PUT /folders/public", target: "/folders/public?path={folder}&public=true", needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "DELETE /content", target: "/content?path={path}", needs: "fs/delete", owner: 200, other: 404, elsewhere: 404},
	{route: "DELETE /files/{id}", target: "/files/{file}", needs: "fs/delete", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /files/{id}/restore", target: "/files/{trashed}/restore", needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /files/{id}/versions", target: "/files/{file}/versions", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "GET /files/{id}/versions/{n}/content", target: "/files/{file}/versions/1/content", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "HEAD /files/{id}/versions/{n}/content", target: "/files/{file}/versions/1/content", needs: "fs/read", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /files/{id}/versions/{n}/restore", target: "/files/{file}/versions/1/restore", needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /batch/move", body: `{"items":[{"id":"{file}","destinationPath":"{new}"}]}`, needs: "fs/write", owner: 200, other: 200, elsewhere: 200, refusal: `"succeeded":0`},
	{route: "POST /batch/delete", body: `{"ids":["{file}"]}`, needs: "fs/delete", owner: 200, other: 200, elsewhere: 200, refusal: `"succeeded":0`},
	{route: "POST /batch/purge", body: `{"ids":["{trashed}"]}`, needs: "fs/delete", owner: 200, other: 200, elsewhere: 200, refusal: `"succeeded":0`},
	{route: "POST /batch/restore", body: `{"ids":["{trashed}"]}`, needs: "fs/write", owner: 200, other: 200, elsewhere: 200, refusal: `"succeeded":0`},
	{route: "POST /shares", body: `{"delegation":"{link}","path":"{path}"}`, needs: "fs/read", owner: 201, other: 403, elsewhere: 404},
	{route: "POST /shares/upload", body: `{"path":"/into","maxBytes":10,"expiresAt":"2100-01-01T00:00:00Z"}`, needs: "fs/write", owner: 201, other: 201, elsewhere: 403},
	{route: "POST /shares/plain", body: `{"path":"{path}"}`, needs: "fs/write", owner: 201, other: 404, elsewhere: 403},
	{route: "GET /shares", needs: "fs/read", owner: 200, other: 200, elsewhere: 200},
	{route: "DELETE /shares/{id}", target: "/shares/{share}", needs: "fs/read", owner: 204, other: 404, elsewhere: 404},
	{route: "POST /upload", header: begin, needs: "fs/write", owner: 201, other: 201, elsewhere: 403},
	{route: "HEAD /upload/{id}", target: "/upload/{upload}", header: tus, needs: "fs/write", owner: 200, other: 404, elsewhere: 404},
	{route: "PATCH /upload/{id}", target: "/upload/{upload}", header: more, body: "abc", needs: "fs/write", owner: 204, other: 404, elsewhere: 404},
	{route: "DELETE /upload/{id}", target: "/upload/{upload}", header: tus, needs: "fs/write", owner: 204, other: 404, elsewhere: 404},
}, []row{
	// A tool answers with 200 and says in the result what was refused.
	{
		route: "POST /mcp", header: rpc, body: readTool, needs: "fs/list", owner: 200, other: 200, elsewhere: 200, cid: 200,
		refusal: `"isError":true`,
	},
	{route: "POST /mcp", header: rpc, body: "no JSON", needs: "fs/list", owner: 400, other: 400, elsewhere: 400, cid: 400},
	{route: "POST /api/knowledge/collections", body: `{"name":"{new}","folder":"{new}","readers":"delegates"}`, needs: "fs/*", owner: 201, other: 201, elsewhere: 403},
	{route: "GET /api/knowledge/collections", needs: "fs/list", owner: 200, other: 200, elsewhere: 200},
	{route: "PATCH /api/knowledge/collections/{id}", target: "/api/knowledge/collections/{collection}", body: `{"readers":"everybody"}`, needs: "fs/*", owner: 200, other: 404, elsewhere: 404},
	{route: "DELETE /api/knowledge/collections/{id}", target: "/api/knowledge/collections/{collection}", needs: "fs/*", owner: 204, other: 404, elsewhere: 404},
	{route: "GET /api/knowledge/collections/{id}/documents", target: "/api/knowledge/collections/{collection}/documents", needs: "fs/list", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /api/knowledge/search", body: `{"query":"who grows rye in {collection}"}`, needs: "fs/read", owner: 200, other: 200, elsewhere: 200, refusal: `"hits":[]`},
	{route: "GET /api/knowledge/questions", target: "/api/knowledge/questions?of={question}", needs: "fs/*", owner: 200, other: 200, elsewhere: 200, refusal: `{"questions":[]}`},
	{route: "POST /api/knowledge/questions/{id}/answer", target: "/api/knowledge/questions/{question}/answer", body: `{"answer":"Nobody."}`, needs: "fs/*", owner: 200, other: 404, elsewhere: 404},
	{route: "POST /api/knowledge/questions/{id}/dismiss", target: "/api/knowledge/questions/{question}/dismiss", needs: "fs/*", owner: 200, other: 404, elsewhere: 404},
	{route: "DELETE /api/knowledge/questions/{id}", target: "/api/knowledge/questions/{question}", needs: "fs/*", owner: 204, other: 404, elsewhere: 404},
	{route: "GET /mcp", header: rpc, needs: "fs/list", owner: 405, other: 405, elsewhere: 405, cid: 405},
	{route: "DELETE /mcp", header: rpc, needs: "fs/list", owner: 405, other: 405, elsewhere: 405, cid: 405},
})

// underFiles puts the rows of the file store below its prefix.
func underFiles(below, beside []row) []row {
	const prefix = "/api/fs"
	all := make([]row, 0, len(below)+len(beside))
	for _, r := range below {
		method, pattern, _ := strings.Cut(r.route, " ")
		r.route = method + " " + prefix + pattern
		if r.target == "" {
			r.target = pattern
		}
		r.target = prefix + r.target
		all = append(all, r)
	}
	return append(all, beside...)
}
