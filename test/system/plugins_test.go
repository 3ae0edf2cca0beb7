package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

const entityDID = "did:ixo:entity:system"

// serviceDID is the audience of tokens.
func serviceDID(t *testing.T, n *Node) string {
	t.Helper()
	var document struct{ ID string }
	n.Get(t, "/.well-known/did.json").JSON(t, &document)
	return document.ID
}

// TestPlugins holds what the shipped plugins promise against the program, each
// step on another node than the one before.
func TestPlugins(t *testing.T) {
	t.Parallel()
	model, team := newPuppet(t), newTeam(t)
	// Another deployment's file store is the MCP server.
	vault := Start(t, Embedded).Node(0)
	librarian := identitytest.NewActor("librarian")
	key := identitytest.Files(t, librarian, serviceDID(t, vault), "fs/*", identitytest.TTL(3600e9))
	env := append(model.env(),
		"ORACLE_ENTITY_DID="+entityDID, "MCP_SERVERS=vault="+vault.URL+"/mcp", "MCP_BEARERS=vault="+key, "MCP_PRIVATE=true",
		"UCAN_PROTECTED_MCP_SERVERS=vault", "UCAN_ROOT_ISSUERS="+librarian.DID, "MCP_USER_PRIVATE=true",
		"SLACK_SIGNING_SECRET="+teamSecret, "SLACK_BOT_TOKEN=xoxb-test", "TEAMCHAT_SECRET="+teamSecret, "SLACK_API_URL="+team.server.URL+"/api")
	Each(t, func(t *testing.T, w *World) {
		for _, part := range []struct {
			name string
			test func(*testing.T, *World)
		}{
			{"files", filesPlugin},
			{"query", queryPlugin},
			{"memory", memoryPlugin},
			{"preferences", func(t *testing.T, w *World) { preferencesPlugin(t, w, model) }},
			{"components", componentsPlugin},
			{"components of the page's own tools", pageComponents},
			{"protected MCP tool", protectedTool},
			{"own MCP server", func(t *testing.T, w *World) { ownServer(t, w, vault.URL, key) }},
			{"MCP server that wants an authorization", authorizedServer},
			{"team chat", func(t *testing.T, w *World) { teamPlugin(t, w, team) }},
		} {
			t.Run(part.name, func(t *testing.T) { part.test(t, w) })
		}
	}, env...)
}

// The user's files inside exactly the granted scope, and who did it for whom.
func filesPlugin(t *testing.T, w *World) {
	who := identitytest.NewActor("plugin-files" + string(w.Shape))
	c, did := newChatter(t, w, who), serviceDID(t, w.Node(0))
	if _, said := c.use(t, w.Node(0), "files", "vfs_access", `{}`); !strings.Contains(said, "POST /delegation") {
		t.Errorf("without a grant: %s", said)
	}
	grant, _ := json.Marshal(map[string]string{"raw": identitytest.Delegation(t, who, did,
		identitytest.Can("fs/*", who.Home("/notes")))})
	if r := c.do(t, w.Node(1), http.MethodPost, "/delegation", string(grant)); r.Status != http.StatusOK {
		t.Fatalf("grant: %d %s", r.Status, r.Body)
	}
	c.use(t, w.Node(2), "files", "vfs_write", `{"path":"/notes/a.txt","content":"a heron"}`)
	if _, said := c.use(t, w.Node(0), "files", "vfs_read", `{"path":"/notes/a.txt"}`); !strings.Contains(said, "a heron") {
		t.Errorf("read: %s", said)
	}
	if _, said := c.use(t, w.Node(1), "files", "vfs_write", `{"path":"/secret/b.txt","content":"an owl"}`); strings.Contains(said, "version") {
		t.Errorf("outside the grant: %s", said)
	}
	var audit struct {
		Entries []struct{ Op, Path, Invoker, Actor string }
	}
	w.Node(2).Do(t, Call{Method: http.MethodGet, Path: "/api/fs/audit", Header: http.Header{
		"Authorization": {"Bearer " + identitytest.Files(t, who, did, "fs/*")},
	}}).JSON(t, &audit)
	if len(audit.Entries) != 1 || audit.Entries[0].Path != "/notes/a.txt" || audit.Entries[0].Invoker != did ||
		audit.Entries[0].Actor != who.DID {
		t.Errorf("audit: %+v", audit)
	}
}

// Look-ups of the chain; the researcher is a sub-agent, and pages hear of it.
func queryPlugin(t *testing.T, w *World) {
	c := newChatter(t, w, identitytest.NewActor("plugin-query"+string(w.Shape)))
	if _, said := c.use(t, w.Node(0), "query", "get_token_params", `{}`); !strings.Contains(said, "params") {
		t.Errorf("parameters: %s", said)
	}
	frames, said := c.use(t, w.Node(1), "query", "call_chain_researcher", `{"task":"count the tokens"}`)
	if !slices.Contains(events(frames), "router.update") || !strings.Contains(said, "count the tokens") {
		t.Errorf("researcher: %v %s", events(frames), said)
	}
}

// What is remembered is found in another session, exported and erased.
func memoryPlugin(t *testing.T, w *World) {
	who := identitytest.NewActor("plugin-memory" + string(w.Shape))
	c := newChatter(t, w, who)
	c.use(t, w.Node(0), "memory", "remember", `{"text":"The user keeps bees in Nakuru."}`)
	if r := c.do(t, w.Node(1), http.MethodPost, "/memory", `{"text":"The user's daughter is called Wanjiru."}`); r.Status != http.StatusCreated {
		t.Errorf("POST /memory: %d %s", r.Status, r.Body)
	}
	later := newChatter(t, w, who)
	if _, said := later.use(t, w.Node(2), "memory", "recall", `{"query":"bees"}`); !strings.Contains(said, "Nakuru") ||
		strings.Contains(said, "Wanjiru") {
		t.Errorf("recall: %s", said)
	}
	if r := newChatter(t, w, identitytest.NewActor("stranger")).do(t, w.Node(0), http.MethodGet, "/memory",
		""); strings.Contains(string(r.Body), "Nakuru") {
		t.Errorf("somebody else reads %s", r.Body)
	}
	var all struct{ Memories []struct{ ID, Text string } }
	c.do(t, w.Node(0), http.MethodGet, "/memory", "").JSON(t, &all)
	if len(all.Memories) != 2 {
		t.Errorf("export: %+v", all)
	}
	if r := c.do(t, w.Node(1), http.MethodDelete, "/memory", ""); r.Status != http.StatusOK {
		t.Errorf("erase: %d %s", r.Status, r.Body)
	}
	c.do(t, w.Node(2), http.MethodGet, "/memory", "").JSON(t, &all)
	if len(all.Memories) != 0 {
		t.Errorf("after erasing: %+v", all)
	}
}

// Preferences are null at first, and shape the prompt.
func preferencesPlugin(t *testing.T, w *World, model *puppet) {
	c := newChatter(t, w, identitytest.NewActor("plugin-preferences"+string(w.Shape)))
	if r := c.do(t, w.Node(0), http.MethodGet, "/user-preferences", ""); string(r.Body) != "null" {
		t.Errorf("at first: %s", r.Body)
	}
	name := "Delphi-" + string(w.Shape)
	if r := c.do(t, w.Node(1), http.MethodPut, "/user-preferences", fmt.Sprintf(`{"agentName":%q,"formality":"academic"}`, name)); r.Status != http.StatusOK {
		t.Fatalf("set: %d %s", r.Status, r.Body)
	}
	c.say(t, w.Node(2), "hello").rest(t)
	if !model.heard(name) {
		t.Error("the prompt does not know the agent's name")
	}
}

// A component is told to pages, streamed, and in the transcript of any node.
func componentsPlugin(t *testing.T, w *World) {
	c := newChatter(t, w, identitytest.NewActor("plugin-components"+string(w.Shape)))
	page := c.open(t, w.Node(1))
	frames, _ := c.use(t, w.Node(0), "agui", "show_component", `{"name":"Chart","args":{"bars":[1,2]}}`, `,"metadata":{"uiComponents":["Chart"]}`)
	if !slices.Contains(events(frames), "render_component") {
		t.Errorf("frames: %v", events(frames))
	}
	into := make(chan seen, 64)
	go watch(page, into)
	for e := range into {
		if e.name == "render_component" {
			if e.arg["componentName"] != "Chart" || e.arg["eventName"] != "render_component" {
				t.Errorf("the page saw %v", e.arg)
			}
			break
		}
	}
	if r := c.do(t, w.Node(2), http.MethodGet, "/messages/"+c.session, ""); !strings.Contains(string(r.Body), `"component":{"name":"Chart","args":{"bars":[1,2]}}`) {
		t.Errorf("transcript: %s", r.Body)
	}
}

// pageComponents: a browser tool and an AG-UI action of one page return a
// component; every page of the session draws it, whichever node it is at.
func pageComponents(t *testing.T, w *World) {
	for _, kind := range []struct{ field, call, result string }{
		{"tools", "browser_tool_call", "tool_result"},
		{"agActions", "action_call", "action_call_result"},
	} {
		c := newChatter(t, w, identitytest.NewActor("plugin-page-"+kind.field+string(w.Shape)))
		into := make(chan seen, 64)
		pages := []*socketiotest.Client{c.open(t, w.Node(1)), c.open(t, w.Node(2))}
		for _, page := range pages {
			go watch(page, into)
		}
		frames := make(chan []frame, 1)
		go func() {
			got, _ := c.use(t, w.Node(0), "portal", "draw", `{"of":"rain"}`,
				fmt.Sprintf(`,%q:[{"name":"draw","description":"Draws","schema":{"type":"object","properties":{"of":{"type":"string"}}}}]`, kind.field))
			frames <- got
		}()
		for drawn := map[*socketiotest.Client]bool{}; len(drawn) < len(pages); {
			switch e := <-into; e.name {
			case kind.call:
				e.page.Emit(kind.result, map[string]any{
					"toolCallId": e.arg["toolCallId"], "sessionId": c.session,
					"result": map[string]any{
						"component": map[string]any{"name": "Chart", "args": map[string]any{"bars": []int{3, 4}}}, "said": "drawn",
					},
				})
			case "render_component":
				if e.arg["componentName"] != "Chart" || e.arg["sessionId"] != c.session || e.arg["eventId"] == nil {
					t.Errorf("%s: a page saw %v", kind.field, e.arg)
				}
				drawn[e.page] = true
			}
		}
		if got := events(<-frames); !slices.Contains(got, "render_component") {
			t.Errorf("%s: frames %v", kind.field, got)
		}
		if r := c.do(t, w.Node(2), http.MethodGet, "/messages/"+c.session, ""); !strings.Contains(string(r.Body), `"component":{"name":"Chart","args":{"bars":[3,4]}}`) {
			t.Errorf("%s: transcript %s", kind.field, r.Body)
		}
	}
}

// A protected tool takes a call only with the user's own invocation, once.
func protectedTool(t *testing.T, w *World) {
	who := identitytest.NewActor("plugin-mcp" + string(w.Shape))
	c := newChatter(t, w, who)
	if _, said := c.use(t, w.Node(0), "mcp-vault", "vault__vfs_list", `{}`); !strings.Contains(said, "protected") {
		t.Errorf("without an invocation: %s", said)
	}
	tool := identitytest.Can("mcp/call", "ixo:oracle:"+entityDID+":mcp/vault/vfs_list")
	invocation := func(root identitytest.Actor) string {
		token := identitytest.Invocation(t, who, serviceDID(t, w.Node(0)), tool,
			identitytest.Proof(identitytest.Delegation(t, root, who.DID, tool)))
		return fmt.Sprintf(`,"mcpInvocations":{"vault__vfs_list":%q}`, token)
	}
	// UCAN_ROOT_ISSUERS names the librarian.
	with := invocation(identitytest.NewActor("librarian"))
	if _, said := c.use(t, w.Node(1), "mcp-vault", "vault__vfs_list", `{}`, with); strings.Contains(said, "refused") ||
		strings.Contains(said, "protected") {
		t.Errorf("with one: %s", said)
	}
	if _, said := c.use(t, w.Node(2), "mcp-vault", "vault__vfs_list", `{"path":"/"}`, with); !strings.Contains(said, "refused") {
		t.Errorf("with a used one: %s", said)
	}
	with = invocation(identitytest.NewActor("stranger"))
	if _, said := c.use(t, w.Node(0), "mcp-vault", "vault__vfs_list", `{}`, with); !strings.Contains(said, "refused") {
		t.Errorf("by a stranger: %s", said)
	}
}

// A user's own server serves that user.
func ownServer(t *testing.T, w *World, address, token string) {
	who := identitytest.NewActor("plugin-own" + string(w.Shape))
	c := newChatter(t, w, who)
	body, _ := json.Marshal(map[string]string{"name": "mine", "url": address + "/mcp", "token": token})
	if r := c.do(t, w.Node(0), http.MethodPost, "/mcp-servers", string(body)); r.Status != http.StatusCreated ||
		strings.Contains(string(r.Body), token) {
		t.Fatalf("add: %d %s", r.Status, r.Body)
	}
	path := "/own-" + string(w.Shape) + ".txt"
	c.use(t, w.Node(1), "mcp-mine", "mine__vfs_write", fmt.Sprintf(`{"path":%q,"content":"mine"}`, path))
	if _, said := c.use(t, w.Node(2), "mcp-mine", "mine__vfs_read", fmt.Sprintf(`{"path":%q}`, path)); !strings.Contains(said, "mine") {
		t.Errorf("read: %s", said)
	}
	other := newChatter(t, w, identitytest.NewActor("plugin-other"+string(w.Shape)))
	if _, said := other.use(t, w.Node(0), "mcp-mine", "mine__vfs_read", fmt.Sprintf(`{"path":%q}`, path)); !strings.Contains(said, "not offered") {
		t.Errorf("somebody else: %s", said)
	}
	if r := c.do(t, w.Node(1), http.MethodDelete, "/mcp-servers/mine", ""); r.Status != http.StatusOK {
		t.Errorf("remove: %d %s", r.Status, r.Body)
	}
}

// A user authorizes at a server of his own, each step on another node, and the
// token is renewed wherever it is found to be over.
func authorizedServer(t *testing.T, w *World) {
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	c := newChatter(t, w, identitytest.NewActor("plugin-oauth"+string(w.Shape)))
	body, _ := json.Marshal(map[string]string{"name": "notes", "url": server.URL + "/mcp"})
	var added struct {
		State         string
		Authorization struct{ URL string }
	}
	c.do(t, w.Node(0), http.MethodPost, "/mcp-servers", string(body)).JSON(t, &added)
	if added.State != "authorization" {
		t.Fatalf("added: %+v", added)
	}
	elsewhere := func(address string, n *Node) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return n.URL + u.RequestURI()
	}
	back := mcptest.Agree(t, elsewhere(added.Authorization.URL, w.Node(1)))
	code := mcptest.Code(t, elsewhere(back, w.Node(2)))
	if r := c.do(t, w.Node(1), http.MethodPost, "/mcp-servers/notes/confirm", fmt.Sprintf(`{"code":%q}`, code)); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	for i := range 3 {
		if _, said := c.use(t, w.Node(i), "mcp-notes", "notes__echo", fmt.Sprintf(`{"text":"node %d"}`, i)); !strings.Contains(said, fmt.Sprintf("you said node %d", i)) {
			t.Errorf("node %d: %s", i, said)
		}
		a.Spoil(false)
	}
	a.Locked(func() {
		if a.Renewed == 0 || a.Reused != 0 {
			t.Errorf("renewed %d times, reused %d times", a.Renewed, a.Reused)
		}
	})
	var gone struct{ Revoked bool }
	c.do(t, w.Node(0), http.MethodDelete, "/mcp-servers/notes", "").JSON(t, &gone)
	if !gone.Revoked {
		t.Error("the tokens were not revoked")
	}
}
