package app

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/cid"
)

// briefRoutes do a bounded little: one record, one page, one hop, one profile, or have
// one process work that ends with its request (package apart).
var briefRoutes = []string{
	"DELETE /ai-sdk/chat/{id}/stream",
	"DELETE /api/fs/content",
	"DELETE /api/fs/files/{id}",
	"DELETE /api/fs/shares/{id}",
	"DELETE /api/fs/upload/{id}",
	"DELETE /api/keys/{id}",
	"DELETE /api/knowledge/collections/{id}",
	"DELETE /api/knowledge/questions/{id}",
	"DELETE /api/telephones/{account}",
	"DELETE /api/webhooks/{id}",
	"DELETE /delegation",
	"DELETE /mcp",
	"DELETE /mcp-servers/{name}",
	"DELETE /mcp-servers/{name}/authorization",
	"DELETE /memory",
	"DELETE /memory/{id}",
	"DELETE /operator/documents/{name}",
	"DELETE /operator/invitations/{id}",
	"DELETE /operator/knowledge/collections/{id}/published",
	"DELETE /operator/knowledge/questions/{id}",
	"DELETE /operator/members/{did}",
	"DELETE /operator/people/{did}/block",
	"DELETE /operator/people/{did}/quota",
	"DELETE /operator/operators/{did}",
	"DELETE /operator/ussd/forms/{form}/{submission}",
	"DELETE /sessions/{sessionId}",
	"DELETE /sessions/{sessionId}/messages/{messageId}/feedback",
	"DELETE /teamchat/links/{team}/{user}",
	"DELETE /user-preferences",
	"GET /",
	"GET /api/key-requests",
	"GET /approvals",
	"GET /operator/address",
	"GET /operator/claims",
	"GET /operator/credits",
	"GET /operator/feedback",
	"GET /operator/usage",
	"GET /operator/usage/spenders",
	"GET /operator/usage/credits",
	"GET /operator/ussd/key-requests",
	"GET /usage",
	"GET /sessions/{sessionId}/messages/{messageId}/versions",
	"GET /.well-known/did.json",
	"GET /.well-known/oauth-protected-resource",
	"GET /.well-known/oauth-protected-resource/mcp",
	"GET /api/fs/audit",
	"GET /api/fs/cids",
	"GET /api/fs/files",
	"GET /api/fs/files/{id}",
	"GET /api/fs/files/{id}/document",
	"GET /api/fs/files/{id}/thumbnail",
	"GET /api/fs/files/{id}/versions",
	"GET /api/fs/folders",
	"GET /api/fs/search",
	"GET /api/fs/shares",
	"GET /api/fs/stat",
	"GET /api/fs/trash",
	"GET /api/fs/usage",
	"GET /api/keys",
	"GET /api/knowledge/collections",
	"GET /api/knowledge/collections/{id}/documents",
	"GET /api/knowledge/questions",
	"GET /api/ussd/advanta",
	"GET /api/ussd/bonga",
	"GET /api/ussd/crossgate",
	"GET /api/ussd/debug/{sessionId}",
	"GET /api/ussd/funnel",
	"GET /api/ussd/graph",
	"GET /api/ussd/hollatags",
	"GET /api/ussd/live",
	"GET /api/ussd/locks",
	"GET /api/ussd/sessions",
	"GET /api/ussd/timeline/{sessionId}",
	"GET /api/telephones",
	"GET /api/webhooks",
	"GET /api/webhooks/types",
	"GET /api/webhooks/{id}",
	"GET /api/webhooks/{id}/deliveries",
	"GET /calls",
	"GET /calls/speech",
	"GET /calls/{callId}",
	"GET /claims",
	"GET /claims/cron/dead",
	"GET /console",
	"GET /console/",
	"GET /console/features.json",
	"GET /console/{path...}",
	"GET /credits",
	"GET /debug/profile/allocs",
	"GET /debug/profile/goroutine",
	"GET /debug/profile/heap",
	"GET /delegation",
	"GET /docs",
	"GET /docs-json",
	"GET /docs/",
	"GET /docs/{file}",
	"GET /guides",
	"GET /guides/",
	"GET /guides/{path...}",
	"GET /health",
	"GET /knowledge/collections",
	"GET /knowledge/passages/{collection}/{document}/{number}",
	"GET /knowledge/questions",
	"GET /mcp",
	"GET /mcp-servers",
	"GET /mcp-servers/authorize/{state}",
	"GET /mcp-servers/callback",
	"GET /mcp-servers/client.json",
	"GET /mcp-servers/answer/{issuer}",
	"GET /mcp-servers/client/{issuer}",
	"GET /memory",
	"GET /metrics",
	"GET /models",
	"GET /openings",
	"GET /operator/access",
	"GET /operator/audit",
	"GET /operator/audit/export",
	"GET /operator/backups",
	"GET /operator/logs",
	"GET /operator/retention",
	"GET /operator/people",
	"GET /operator/people/{did}/quota",
	"GET /operator/settings",
	"GET /operator/knowledge/collections",
	"GET /operator/documents",
	"GET /operator/documents/{name}",
	"GET /operator/documents/{name}/versions",
	"GET /operator/documents/{name}/versions/{version}",
	"GET /operator/invitations",
	"GET /operator/knowledge/questions",
	"GET /operator/health",
	"GET /operator/me",
	"GET /operator/members",
	"GET /operator/models",
	"GET /operator/models/single",
	"GET /operator/operators",
	"GET /operator/plugins",
	"GET /operator/speech",
	"GET /operator/ussd/accounts",
	"GET /operator/ussd/acts",
	"GET /operator/ussd/debug/{sessionId}",
	"GET /operator/ussd/days",
	"GET /operator/ussd/figures",
	"GET /operator/ussd/forms",
	"GET /operator/ussd/forms/{form}",
	"GET /operator/ussd/forms/{form}/csv",
	"GET /operator/ussd/funnel",
	"GET /operator/ussd/graph",
	"GET /operator/ussd/live",
	"GET /operator/ussd/locks",
	"GET /operator/ussd/menus",
	"GET /operator/ussd/refusals",
	"GET /operator/ussd/sessions",
	"GET /operator/ussd/timeline/{sessionId}",
	"GET /query/routes",
	"GET /query/status",
	"GET /ready",
	"GET /ready/{part}",
	"GET /sessions",
	"GET /sessions/{sessionId}/messages",
	"GET /sessions/{sessionId}/run",
	"GET /teamchat/dead",
	"GET /teamchat/links",
	"GET /user-preferences",
	"GET /v1/key",
	"GET /v1/models",
	"GET /v1/models/{model}",
	"HEAD /api/fs/cid/{cid}",
	"HEAD /api/fs/content",
	"HEAD /api/fs/files/{id}/content",
	"HEAD /api/fs/files/{id}/versions/{n}/content",
	"HEAD /api/fs/upload/{id}",
	"HEAD /public/id/{id}",
	"GET /ipfs/{cid}/{path...}",
	"HEAD /ipfs/{cid}",
	"HEAD /ipfs/{cid}/{path...}",
	"GET /s/{secret}",
	"HEAD /s/{secret}",
	"HEAD /s/{secret}/{path...}",
	"COPY /dav/{path...}",
	"DELETE /dav/{path...}",
	"HEAD /dav/{path...}",
	"LOCK /dav/{path...}",
	"MKCOL /dav/{path...}",
	"MOVE /dav/{path...}",
	"OPTIONS /dav",
	"OPTIONS /dav/{path...}",
	"PROPFIND /dav",
	"PROPFIND /dav/{path...}",
	"PROPPATCH /dav/{path...}",
	"UNLOCK /dav/{path...}",
	"OPTIONS /api/fs/upload",
	"OPTIONS /api/fs/upload/{id}",
	"PATCH /api/fs/files/{id}/public",
	"PATCH /api/knowledge/collections/{id}",
	"PATCH /api/webhooks/{id}",
	"PATCH /operator/plugins/{name}",
	"PATCH /calls/{callId}",
	"PATCH /user-preferences",
	"POST /api/fs/files/{id}/restore",
	"POST /api/fs/files/{id}/versions/{n}/restore",
	"POST /api/fs/folders",
	"POST /api/fs/shares",
	"POST /api/fs/shares/plain",
	"POST /api/fs/shares/upload",
	"POST /api/key-requests",
	"POST /api/key-requests/{id}/refuse",
	"POST /operator/claims/{id}/retry",
	"POST /operator/ussd/key-requests/{id}/approve",
	"POST /operator/ussd/key-requests/{id}/refuse",
	"POST /operator/ussd/key-requests/{id}/undo",
	"POST /s/{secret}",
	"POST /s/{secret}/{path...}",
	"POST /api/fs/upload",
	"POST /api/invitations/redeem",
	"POST /api/keys",
	"POST /api/keys/offer",
	"POST /api/knowledge/collections",
	"POST /api/knowledge/questions/{id}/answer",
	"POST /api/knowledge/questions/{id}/dismiss",
	"POST /api/knowledge/search",
	"POST /api/revocations",
	"POST /api/revocations/check",
	"POST /api/setup",
	"POST /api/sms/africastalking",
	"POST /api/sms/africastalking/reports",
	"POST /api/sms/twilio",
	"POST /api/sms/twilio/reports",
	"POST /api/telephones",
	"POST /api/telephones/{account}/reset-pin",
	"POST /api/ussd",
	"POST /api/ussd/accounts/{account}/unlock",
	"POST /api/ussd/africastalking",
	"POST /api/ussd/africastalking/events",
	"POST /api/ussd/arkesel",
	"POST /api/ussd/beem",
	"POST /api/ussd/hubtel",
	"POST /api/ussd/infobip/session/{sessionId}/start",
	"POST /api/ussd/nalo",
	"POST /api/ussd/telephones/unlock",
	"POST /api/webhooks",
	"POST /api/webhooks/{id}/deliveries/{event}/replay",
	"POST /api/webhooks/{id}/replay",
	"POST /api/webhooks/{id}/secret",
	"POST /api/webhooks/{id}/test",
	"POST /approvals/{approvalId}",
	"POST /calls",
	"POST /claims/cron/dead/{id}",
	"POST /claims/cron/settle",
	"POST /claims/cron/submit",
	"POST /credits/grants",
	"POST /delegation",
	"POST /knowledge/questions",
	"POST /knowledge/search",
	"POST /mcp-servers",
	"POST /mcp-servers/{name}/authorize",
	"POST /mcp-servers/{name}/confirm",
	"POST /memory",
	"POST /messages/abort",
	"POST /operator/knowledge/questions/{id}/answer",
	"POST /operator/knowledge/questions/{id}/dismiss",
	"POST /operator/backups",
	"POST /operator/backups/{name}/check",
	"POST /operator/backups/{name}/trial",
	"POST /operator/documents/{name}/versions/{version}/restore",
	"POST /operator/invitations",
	"POST /operator/models/try",
	"POST /operator/people/{did}/erase",
	"POST /operator/people/{did}/export",
	"POST /operator/ussd/accounts/search",
	"POST /operator/ussd/accounts/{account}/close",
	"POST /operator/ussd/accounts/{account}/erase",
	"POST /operator/ussd/accounts/{account}/move",
	"POST /operator/ussd/accounts/{account}/reset-pin",
	"POST /operator/ussd/accounts/{account}/reset-pin/sms",
	"POST /operator/ussd/accounts/{account}/unlock",
	"POST /operator/ussd/menu/draft",
	"POST /operator/ussd/menu/try",
	"POST /operator/ussd/telephones/unlock",
	"POST /sessions",
	"POST /sessions/{sessionId}/messages/{messageId}/choose",
	"POST /teamchat/dead/{id}",
	"POST /teamchat/link",
	"POST /teamchat/slack/commands",
	"POST /teamchat/slack/events",
	"PUT /api/ussd/infobip/session/{sessionId}/end",
	"PUT /api/ussd/infobip/session/{sessionId}/response",
	"PUT /operator/knowledge/collections/{id}/published",
	"PUT /operator/documents/{name}",
	"PUT /operator/members/{did}",
	"PUT /operator/models/single",
	"PUT /operator/people/{did}/block",
	"PUT /operator/people/{did}/quota",
	"PUT /operator/operators/{did}",
	"PUT /sessions/{sessionId}/messages/{messageId}/feedback",
	"PUT /user-preferences",
}

// routesTestedElsewhere wait more than they work, or work for others than the
// one who asked; each names the test that says what happens when that one leaves.
var routesTestedElsewhere = map[string]string{
	"GET /socket.io/":  "internal/protocol/socketio/engineio/transport_test.go TestCanceledPollEndsTheSession",
	"POST /socket.io/": "internal/protocol/socketio/engineio/transport_test.go TestCanceledPollEndsTheSession",
	// A turn is a run, which is meant to outlive its reader: it is in the session.
	"POST /messages/{sessionId}":                               "internal/service/oracle/run/tail_test.go TestAReaderLeavesWhenItIsTold",
	"POST /sessions/{sessionId}/messages/{messageId}/versions": "internal/service/oracle/run/tail_test.go TestAReaderLeavesWhenItIsTold",
	"GET /messages/{sessionId}":                                "internal/service/oracle/run/tail_test.go TestAReaderLeavesWhenItIsTold",
	"GET /runs/{runId}":                                        "internal/service/oracle/run/tail_test.go TestAReaderThatLeavesInTheMiddleOfALookIsDone",
	"GET /debug/profile/cpu":                                   "internal/app/cancel_test.go TestAProfileEndsWithItsRequest",
	"GET /debug/profile/trace":                                 "internal/app/cancel_test.go TestAProfileEndsWithItsRequest",
	"GET /api/fs/changes":                                      "internal/app/cancel_test.go TestAFollowerOfChangesLeaves",
	"POST /operator/retention/archive":                         "internal/app/retaining/cold_test.go TestArchivingEndsWithItsRequest",
	"GET /operator/backups/{name}/archive":                     "internal/app/archiving/archiving_test.go TestADownloadEndsWithItsReader",
	// Clients share calls: the last who leaves ends one.
	"GET /{protocol_prefix}/…": "internal/service/query/queryhttp/faults_test.go TestTheLastAskerEndsTheCall",
	// Programs have no other way to stop one than to hang up.
	"POST /v1/responses": "internal/service/oracle/face/openaiface/openaiface_test.go TestHangingUpStopsTheTurn",
	// Pages come back: the turn goes on, and its reader leaves as those of other runs do.
	"POST /ai-sdk/chat":            "internal/service/oracle/face/uistreamface/uistreamface_test.go TestATurnGoesOnWithoutItsPage",
	"GET /ai-sdk/chat/{id}/stream": "internal/service/oracle/face/uistreamface/uistreamface_test.go TestATurnGoesOnWithoutItsPage",
	"POST /ag-ui":                  "internal/service/oracle/face/aguiface/aguiface_test.go TestHangingUpStopsTheTurn",
	"POST /v1/chat/completions":    "internal/service/oracle/face/openaiface/openaiface_test.go TestHangingUpStopsTheTurn",
}

// longRow is a request that takes many units of work.
type longRow struct {
	route, name string
	// make prepares what the request is about, anew each time.
	make  func(*testing.T, *world) request
	least int64 // units of the whole work; less proves nothing
	tidy  int64 // units that may follow the end, where they are more than usual
}

// Alice's things for long requests.
const (
	manyFiles = 40
	bigLines  = 40_000
)

var bigText = strings.Repeat(strings.Repeat("a", 99)+"\n", bigLines) + "rye\n"

// big stores a large text file.
func (w *world) big(t *testing.T) (made struct{ ID, Path, CID string }) {
	t.Helper()
	w.alices(t, request{
		method: http.MethodPost, target: fmt.Sprintf("/api/fs/files?path=/big/%d.txt", w.made.Add(1)), body: bigText,
		header: []string{"Content-Type", "text/plain"},
	}, &made)
	return made
}

// many stores small text files in a folder of their own.
func (w *world) many(t *testing.T) (folder string, ids []string) {
	t.Helper()
	folder = fmt.Sprintf("/many/%d", w.made.Add(1))
	for i := range manyFiles {
		var made madeFile
		w.alices(t, request{
			method: http.MethodPost, target: fmt.Sprintf("/api/fs/files?path=%s/%d.txt", folder, i),
			body: fmt.Sprintf("rye %d\n", i), header: []string{"Content-Type", "text/plain"},
		}, &made)
		ids = append(ids, made.ID)
	}
	return folder, ids
}

// owners is a request of Alice for her files.
func (w *world) owners(method, target, body string, header ...string) request {
	return request{
		method: method, target: target, body: body,
	}.with(append(headers(identity.Files, w.tokens["alice files"]), header...)...)
}

func quoted(ids []string) string { return `"` + strings.Join(ids, `","`) + `"` }

// reading is a row of a route that reads a big file.
func reading(route, target string) longRow {
	method, _, _ := strings.Cut(route, " ")
	return longRow{route: route, least: 50, make: func(t *testing.T, w *world) request {
		f := w.big(t)
		return w.owners(method, strings.NewReplacer("{id}", f.ID, "{path}", f.Path, "{cid}", f.CID).Replace(target), "")
	}}
}

// writing is a row of a route that stores a big body.
func writing(route, target string, header ...string) longRow {
	method, _, _ := strings.Cut(route, " ")
	return longRow{route: route, least: 50, make: func(t *testing.T, w *world) request {
		to := strings.ReplaceAll(target, "{new}", fmt.Sprintf("/new/%d", w.made.Add(1)))
		if strings.Contains(to, "{id}") {
			to = strings.ReplaceAll(to, "{id}", w.file(t).ID)
		}
		return w.owners(method, to, bigText, header...)
	}}
}

// batch is a row of a route that changes many files.
func batch(route, body string, trashed bool) longRow {
	return longRow{route: route, least: 2 * manyFiles, make: func(t *testing.T, w *world) request {
		_, ids := w.many(t)
		if trashed {
			w.alices(t, request{method: http.MethodPost, target: "/api/fs/batch/delete", body: `{"ids":[` + quoted(ids) + `]}`}, nil)
		}
		if strings.Contains(body, "{items}") {
			items := make([]string, len(ids))
			for i, id := range ids {
				items[i] = fmt.Sprintf(`{"id":"%s","destinationPath":"/moved/%d.txt"}`, id, w.made.Add(1))
			}
			return w.owners("POST", strings.TrimPrefix(route, "POST "),
				strings.ReplaceAll(body, "{items}", strings.Join(items, ",")), "Content-Type", "application/json")
		}
		return w.owners("POST", strings.TrimPrefix(route, "POST "), strings.ReplaceAll(body, "{ids}", quoted(ids)),
			"Content-Type", "application/json")
	}}
}

// inFolder is a row of a route about a folder with many files.
func inFolder(route, target, body string, least int64) longRow {
	method, _, _ := strings.Cut(route, " ")
	return longRow{route: route, least: least, make: func(t *testing.T, w *world) request {
		folder, _ := w.many(t)
		put := strings.NewReplacer("{folder}", folder, "{new}", fmt.Sprintf("/else/%d", w.made.Add(1)))
		r := w.owners(method, put.Replace(target), put.Replace(body))
		if body != "" {
			r = r.with("Content-Type", "application/json")
		}
		return r
	}}
}

// byTool is a row of a tool of /mcp, which learns of the end by a goroutine of the
// SDK's: on a crowded machine that comes some units later.
func byTool(tool string, least int64, args func(t *testing.T, w *world) map[string]any) longRow {
	return longRow{route: "POST /mcp", name: tool, least: least, tidy: 15, make: func(t *testing.T, w *world) request {
		return w.owners("POST", "/mcp", rpcCall(tool, args(t, w)), append([]string{"Content-Type", "application/json"}, rpc...)...)
	}}
}

func bigPath(t *testing.T, w *world) map[string]any { return map[string]any{"path": w.big(t).Path} }

var longRows = []longRow{
	reading("GET /api/fs/files/{id}/content", "/api/fs/files/{id}/content"),
	reading("GET /dav/{path...}", "/dav{path}"),
	reading("GET /ipfs/{cid}", "/ipfs/{cid}?format=car"),
	reading("GET /api/fs/content", "/api/fs/content?path={path}"),
	reading("GET /api/fs/cid/{cid}", "/api/fs/cid/{cid}"),
	reading("GET /api/fs/files/{id}/versions/{n}/content", "/api/fs/files/{id}/versions/1/content"),
	reading("GET /api/fs/files/{id}/read", "/api/fs/files/{id}/read"),
	reading("GET /api/fs/grep", "/api/fs/grep?q=rye&path={path}"),
	{route: "GET /public/id/{id}", least: 50, make: func(t *testing.T, w *world) request {
		var made struct{ PublicURL string }
		w.alices(t, request{method: http.MethodPatch, target: "/api/fs/files/" + w.big(t).ID + "/public?public=true"}, &made)
		return request{method: http.MethodGet, target: "/public/id/" + path.Base(made.PublicURL)}
	}},
	{route: "GET /s/{secret}/{path...}", least: 50, make: func(t *testing.T, w *world) request {
		var made struct{ URL string }
		w.alices(t, request{method: http.MethodPost, target: "/api/fs/shares/plain", body: `{"path":"` + w.big(t).Path + `"}`}, &made)
		return request{method: http.MethodGet, target: made.URL[strings.Index(made.URL, "/s/"):]}
	}},
	{route: "PUT /s/{secret}/{path...}", least: 50, make: func(t *testing.T, w *world) request {
		var made struct{ URL string }
		w.alices(t, request{method: http.MethodPost, target: "/api/fs/shares/upload", body: `{"path":"/new","maxBytes":100000000000,"expiresAt":"2100-01-01T00:00:00Z"}`}, &made)
		return request{method: http.MethodPut, target: made.URL[strings.Index(made.URL, "/s/"):] + "f", body: bigText}
	}},
	inFolder("GET /api/fs/grep", "/api/fs/grep?q=oats&path={folder}", "", manyFiles),
	inFolder("GET /api/fs/export", "/api/fs/export?path={folder}", "", manyFiles),
	inFolder("HEAD /api/fs/export", "/api/fs/export?path={folder}", "", 1),
	inFolder("GET /api/fs/glob", "/api/fs/glob?pattern={folder}/**", "", 1),
	inFolder("GET /api/fs/tree", "/api/fs/tree?path={folder}", "", 1),
	inFolder("PUT /api/fs/folders/public", "/api/fs/folders/public?path={folder}&public=true", "", 2*manyFiles),
	// These are one transaction, so that there is little to end.
	inFolder("POST /api/fs/move", "/api/fs/move", `{"from":"{folder}","to":"{new}"}`, 1),
	inFolder("POST /api/fs/copy", "/api/fs/copy", `{"from":"{folder}","to":"{new}"}`, 1),
	inFolder("DELETE /api/fs/folders", "/api/fs/folders?path={folder}", "", 1),
	batch("POST /api/fs/batch/move", `{"items":[{items}]}`, false),
	batch("POST /api/fs/batch/delete", `{"ids":[{ids}]}`, false),
	batch("POST /api/fs/batch/purge", `{"ids":[{ids}]}`, true),
	batch("POST /api/fs/batch/restore", `{"ids":[{ids}]}`, true),
	{route: "POST /api/fs/import", least: 1, make: func(_ *testing.T, w *world) request {
		id := string(cid.New(cid.Raw, sha256.Sum256([]byte(bigText))).Bytes())
		body := car.Append(nil, car.Archive{Roots: []string{id}, Blocks: []car.Block{{CID: id, Data: bigText}}})
		return w.owners("POST", fmt.Sprintf("/api/fs/import?path=/new/%d", w.made.Add(1)), string(body), "Content-Type", "application/vnd.ipld.car")
	}},
	writing("POST /api/fs/files", "/api/fs/files?path={new}", "Content-Type", "text/plain"),
	writing("PUT /api/fs/content", "/api/fs/content?path={new}", "Content-Type", "text/plain"),
	{route: "PUT /dav/{path...}", least: 50, make: func(t *testing.T, w *world) request {
		return w.owners("PUT", fmt.Sprintf("/dav/dav%d", w.made.Add(1)), bigText, "Content-Type", "text/plain")
	}},
	writing("PUT /api/fs/files/{id}", "/api/fs/files/{id}", "Content-Type", "text/plain"),
	// What was received is kept, so that the client can go on after it.
	{route: "PATCH /api/fs/upload/{id}", least: 50, tidy: 15, make: func(t *testing.T, w *world) request {
		where := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "/up/%d", w.made.Add(1)))
		got := w.alices(t, request{method: http.MethodPost, target: "/api/fs/upload", header: []string{
			"Tus-Resumable", "1.0.0", "Upload-Length", fmt.Sprint(len(bigText)), "Upload-Metadata", "path " + where,
		}}, nil)
		return w.owners("PATCH", "/api/fs/upload/"+path.Base(got.Header().Get("Location")), bigText, more...)
	}},
	{route: "PATCH /api/fs/files/{id}/edit", least: 50, make: func(t *testing.T, w *world) request {
		return w.owners("PATCH", "/api/fs/files/"+w.big(t).ID+"/edit", `{"oldString":"rye","newString":"oats"}`, "Content-Type", "application/json")
	}},
	byTool("vfs_read", 50, bigPath),
	byTool("vfs_grep", 50, func(t *testing.T, w *world) map[string]any {
		return map[string]any{"path": w.big(t).Path, "q": "r[y]e", "regex": true}
	}),
	byTool("vfs_diff", 50, func(t *testing.T, w *world) map[string]any {
		f := w.big(t)
		w.alices(t, request{
			method: http.MethodPut, target: "/api/fs/files/" + f.ID, body: bigText + "oats\n",
			header: []string{"Content-Type", "text/plain"},
		}, nil)
		return map[string]any{"path": f.Path}
	}),
	byTool("vfs_glob", 1, func(t *testing.T, w *world) map[string]any {
		folder, _ := w.many(t)
		return map[string]any{"pattern": folder + "/**"}
	}),
	byTool("vfs_list", 1, func(t *testing.T, w *world) map[string]any {
		folder, _ := w.many(t)
		return map[string]any{"path": folder}
	}),
	byTool("vfs_edit", 50, func(t *testing.T, w *world) map[string]any {
		return map[string]any{"path": w.big(t).Path, "oldString": "rye", "newString": "oats"}
	}),
	byTool("vfs_append", 50, func(t *testing.T, w *world) map[string]any {
		return map[string]any{"path": w.big(t).Path, "content": "more"}
	}),
	byTool("vfs_move", 1, func(t *testing.T, w *world) map[string]any {
		folder, _ := w.many(t)
		return map[string]any{"from": folder, "to": fmt.Sprintf("/else/%d", w.made.Add(1))}
	}),
	byTool("vfs_delete", 2*manyFiles, func(t *testing.T, w *world) map[string]any {
		folder, ids := w.many(t)
		paths := make([]string, len(ids))
		for i := range ids {
			paths[i] = fmt.Sprintf("%s/%d.txt", folder, i)
		}
		return map[string]any{"paths": paths}
	}),
	byTool("vfs_write", 5, func(_ *testing.T, w *world) map[string]any {
		return map[string]any{"path": fmt.Sprintf("/new/%d", w.made.Add(1)), "content": bigText[:2<<20]}
	}),
}
