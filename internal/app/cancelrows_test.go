package app

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
)

// briefRoutes do a bounded little: one record, one page, one hop, one profile.
var briefRoutes = []string{
	"DELETE /api/fs/content",
	"DELETE /api/fs/files/{id}",
	"DELETE /api/fs/shares/{id}",
	"DELETE /api/fs/upload/{id}",
	"DELETE /api/keys/{id}",
	"DELETE /delegation",
	"DELETE /mcp",
	"DELETE /mcp-servers/{name}",
	"DELETE /memory",
	"DELETE /memory/{id}",
	"DELETE /operator/documents/{name}",
	"DELETE /operator/invitations/{id}",
	"DELETE /operator/members/{did}",
	"DELETE /sessions/{sessionId}",
	"DELETE /teamchat/links/{team}/{user}",
	"DELETE /user-preferences",
	"GET /",
	"GET /approvals",
	"GET /.well-known/did.json",
	"GET /.well-known/oauth-protected-resource",
	"GET /.well-known/oauth-protected-resource/mcp",
	"GET /api/fs/audit",
	"GET /api/fs/cids",
	"GET /api/fs/files",
	"GET /api/fs/files/{id}",
	"GET /api/fs/files/{id}/versions",
	"GET /api/fs/shares",
	"GET /api/fs/stat",
	"GET /api/fs/trash",
	"GET /api/fs/usage",
	"GET /api/keys",
	"GET /api/ussd/debug/{sessionId}",
	"GET /api/ussd/funnel",
	"GET /api/ussd/graph",
	"GET /api/ussd/live",
	"GET /api/ussd/locks",
	"GET /api/ussd/sessions",
	"GET /api/ussd/timeline/{sessionId}",
	"GET /calls",
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
	"GET /health",
	"GET /mcp",
	"GET /mcp-servers",
	"GET /memory",
	"GET /metrics",
	"GET /models",
	"GET /openings",
	"GET /operator/access",
	"GET /operator/documents",
	"GET /operator/documents/{name}",
	"GET /operator/documents/{name}/versions",
	"GET /operator/documents/{name}/versions/{version}",
	"GET /operator/invitations",
	"GET /operator/members",
	"GET /operator/models",
	"GET /operator/plugins",
	"GET /operator/ussd/debug/{sessionId}",
	"GET /operator/ussd/funnel",
	"GET /operator/ussd/graph",
	"GET /operator/ussd/live",
	"GET /operator/ussd/locks",
	"GET /operator/ussd/refusals",
	"GET /operator/ussd/sessions",
	"GET /operator/ussd/timeline/{sessionId}",
	"GET /query/routes",
	"GET /query/status",
	"GET /ready",
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
	"OPTIONS /api/fs/upload",
	"OPTIONS /api/fs/upload/{id}",
	"PATCH /api/fs/files/{id}/public",
	"PATCH /calls/{callId}",
	"PATCH /user-preferences",
	"POST /api/fs/files/{id}/restore",
	"POST /api/fs/files/{id}/versions/{n}/restore",
	"POST /api/fs/shares",
	"POST /api/fs/upload",
	"POST /api/invitations/redeem",
	"POST /api/keys",
	"POST /api/keys/offer",
	"POST /api/revocations",
	"POST /api/revocations/check",
	"POST /api/ussd",
	"POST /api/ussd/accounts/{account}/unlock",
	"POST /api/ussd/africastalking",
	"POST /api/ussd/africastalking/events",
	"POST /api/ussd/arkesel",
	"POST /api/ussd/hubtel",
	"POST /api/ussd/infobip/session/{sessionId}/start",
	"POST /api/ussd/nalo",
	"POST /api/ussd/telephones/unlock",
	"POST /approvals/{approvalId}",
	"POST /calls",
	"POST /claims/cron/dead/{id}",
	"POST /claims/cron/settle",
	"POST /claims/cron/submit",
	"POST /credits/grants",
	"POST /delegation",
	"POST /mcp-servers",
	"POST /memory",
	"POST /messages/abort",
	"POST /operator/documents/{name}/versions/{version}/restore",
	"POST /operator/invitations",
	"POST /operator/ussd/accounts/{account}/unlock",
	"POST /operator/ussd/telephones/unlock",
	"POST /sessions",
	"POST /teamchat/dead/{id}",
	"POST /teamchat/link",
	"POST /teamchat/slack/commands",
	"POST /teamchat/slack/events",
	"PUT /api/ussd/infobip/session/{sessionId}/end",
	"PUT /api/ussd/infobip/session/{sessionId}/response",
	"PUT /operator/documents/{name}",
	"PUT /operator/members/{did}",
	"PUT /user-preferences",
}

// routesTestedElsewhere wait more than they work, or work for others than the
// one who asked; each names the test that says what happens when that one leaves.
var routesTestedElsewhere = map[string]string{
	"GET /socket.io/":  "internal/protocol/socketio/engineio/transport_test.go TestCanceledPollEndsTheSession",
	"POST /socket.io/": "internal/protocol/socketio/engineio/transport_test.go TestCanceledPollEndsTheSession",
	// A turn is a run, which is meant to outlive its reader: it is in the session.
	"POST /messages/{sessionId}": "internal/service/oracle/run/tail_test.go TestAReaderLeavesWhenItIsTold",
	"GET /messages/{sessionId}":  "internal/service/oracle/run/tail_test.go TestAReaderLeavesWhenItIsTold",
	"GET /runs/{runId}":          "internal/service/oracle/run/tail_test.go TestAReaderThatLeavesInTheMiddleOfALookIsDone",
	"GET /debug/profile/cpu":     "internal/app/cancel_test.go TestAProfileEndsWithItsRequest",
	"GET /debug/profile/trace":   "internal/app/cancel_test.go TestAProfileEndsWithItsRequest",
	"GET /api/fs/changes":        "internal/app/cancel_test.go TestAFollowerOfChangesLeaves",
	// Clients share calls: the last who leaves ends one.
	"GET /{protocol_prefix}/…": "internal/service/query/queryhttp/faults_test.go TestTheLastAskerEndsTheCall",
	// Programs have no other way to stop one than to hang up.
	"POST /v1/responses":        "internal/service/oracle/face/openaiface/openaiface_test.go TestHangingUpStopsTheTurn",
	"POST /v1/chat/completions": "internal/service/oracle/face/openaiface/openaiface_test.go TestHangingUpStopsTheTurn",
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
		method: http.MethodPost, target: fmt.Sprintf("/api/fs/files?path=/big/%d.txt", w.made.Add(1)), body: bigText, header: []string{"Content-Type", "text/plain"},
	}, &made)
	return made
}

// indexed is a large text file that a search finds.
func (w *world) indexed(t *testing.T) string {
	t.Helper()
	f := w.big(t)
	files, err := newFiles(t.Context(), w.res, w.opt, 0) // the program's own has no indexer without workers
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = files.IndexOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return f.Path
}

// many stores small text files in a folder of their own.
func (w *world) many(t *testing.T) (folder string, ids []string) {
	t.Helper()
	folder = fmt.Sprintf("/many/%d", w.made.Add(1))
	for i := range manyFiles {
		var made madeFile
		w.alices(t, request{
			method: http.MethodPost, target: fmt.Sprintf("/api/fs/files?path=%s/%d.txt", folder, i), body: fmt.Sprintf("rye %d\n", i), header: []string{"Content-Type", "text/plain"},
		}, &made)
		ids = append(ids, made.ID)
	}
	return folder, ids
}

// owners is a request of Alice for her files.
func (w *world) owners(method, target, body string, header ...string) request {
	return request{method: method, target: target, body: body}.with(append(headers(identity.Files, w.tokens["alice files"]), header...)...)
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
			return w.owners("POST", strings.TrimPrefix(route, "POST "), strings.ReplaceAll(body, "{items}", strings.Join(items, ",")), "Content-Type", "application/json")
		}
		return w.owners("POST", strings.TrimPrefix(route, "POST "), strings.ReplaceAll(body, "{ids}", quoted(ids)), "Content-Type", "application/json")
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

// byTool is a row of a tool of /mcp.
func byTool(tool string, least int64, args func(t *testing.T, w *world) map[string]any) longRow {
	return longRow{route: "POST /mcp", name: tool, least: least, make: func(t *testing.T, w *world) request {
		return w.owners("POST", "/mcp", rpcCall(tool, args(t, w)), append([]string{"Content-Type", "application/json"}, rpc...)...)
	}}
}

func bigPath(t *testing.T, w *world) map[string]any { return map[string]any{"path": w.big(t).Path} }

var longRows = []longRow{
	reading("GET /api/fs/files/{id}/content", "/api/fs/files/{id}/content"),
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
	{route: "GET /api/fs/search", least: 50, make: func(t *testing.T, w *world) request {
		return w.owners("GET", "/api/fs/search?q=rye&path="+w.indexed(t), "")
	}},
	inFolder("GET /api/fs/grep", "/api/fs/grep?q=oats&path={folder}", "", manyFiles),
	inFolder("GET /api/fs/export", "/api/fs/export?path={folder}", "", manyFiles),
	inFolder("HEAD /api/fs/export", "/api/fs/export?path={folder}", "", 1),
	inFolder("GET /api/fs/glob", "/api/fs/glob?pattern={folder}/**", "", 1),
	inFolder("GET /api/fs/tree", "/api/fs/tree?path={folder}", "", 1),
	inFolder("PUT /api/fs/folders/public", "/api/fs/folders/public?path={folder}&public=true", "", 2*manyFiles),
	inFolder("POST /api/fs/move", "/api/fs/move", `{"from":"{folder}","to":"{new}"}`, 2*manyFiles),
	batch("POST /api/fs/batch/move", `{"items":[{items}]}`, false),
	batch("POST /api/fs/batch/delete", `{"ids":[{ids}]}`, false),
	batch("POST /api/fs/batch/purge", `{"ids":[{ids}]}`, true),
	batch("POST /api/fs/batch/restore", `{"ids":[{ids}]}`, true),
	writing("POST /api/fs/files", "/api/fs/files?path={new}", "Content-Type", "text/plain"),
	writing("PUT /api/fs/content", "/api/fs/content?path={new}", "Content-Type", "text/plain"),
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
		w.alices(t, request{method: http.MethodPut, target: "/api/fs/files/" + f.ID, body: bigText + "oats\n", header: []string{"Content-Type", "text/plain"}}, nil)
		return map[string]any{"path": f.Path}
	}),
	byTool("vfs_search", 50, func(t *testing.T, w *world) map[string]any {
		return map[string]any{"path": w.indexed(t), "q": "rye"}
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
	byTool("vfs_move", 2*manyFiles, func(t *testing.T, w *world) map[string]any {
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
