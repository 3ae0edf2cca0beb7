package mcpface

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// firstWithInput is the first protocol in which a tool asks by its result. Those
// before it ask on the stream of the answer.
const firstWithInput = "2026-07-28"

// How a user is asked for an approval.
const (
	// byWords is not at all: the result says where to approve.
	byWords = iota
	byResult
	byStream
)

// asksHow says how the client can ask. To approve is the person's own: who holds an
// app key is told where that is done.
func (f *Face) asksHow(c call, req *mcp.CallToolRequest) int {
	if !c.who.InPerson() {
		return byWords
	}
	if req.ProtocolVersion() >= firstWithInput {
		can := req.ClientCapabilities()
		if can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil) {
			return byResult
		}
		return byWords
	}
	if c.can("f") && c.out != nil {
		return byStream
	}
	return byWords
}

// describe says what waits, and where it is decided.
func describe(c call, list []oracle.ApprovalBody) string {
	var b strings.Builder
	b.WriteString("The oracle waits for the user's approval before it goes on:\n")
	for _, a := range list {
		_, _ = fmt.Fprintf(&b, "- %s %s (until %s)\n", a.ToolName, shortened(a.Args), a.ExpiresAt)
	}
	return b.String() + "The user approves or denies at " + c.console(list[0].SessionID) + "."
}

func (c call) console(sessionID string) string { return c.base + "/console/chat/" + sessionID }

// maxShown bounds the arguments of a call in a question, in bytes. A call with longer ones is
// decided where it is shown whole: what matters could stand behind the end.
const maxShown = 2 << 10

func shownWhole(a oracle.ApprovalBody) bool { return len(a.Args) <= maxShown }

func shortened(args json.RawMessage) string {
	if len(args) <= maxShown {
		return string(args)
	}
	return strings.ToValidUTF8(string(args[:maxShown]), "") + "…"
}

func waitings(c call, list []oracle.ApprovalBody) []Waiting {
	out := make([]Waiting, 0, len(list))
	for _, a := range list {
		out = append(out, Waiting{
			ID: a.ID, Tool: a.ToolName, Arguments: shortened(a.Args), ExpiresAt: a.ExpiresAt, URL: c.console(a.SessionID),
		})
	}
	return out
}

// decision is the form by which a user answers.
func decision(a oracle.ApprovalBody) *mcp.ElicitParams {
	if q := a.Question; q != nil { // asked on as it was asked, and said by whom
		return &mcp.ElicitParams{
			Mode: "form", Message: fmt.Sprintf("%s asks, for the oracle's call of %s: %s", q.From, a.ToolName, q.Message),
			RequestedSchema: q.Form,
		}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: fmt.Sprintf("The oracle wants to call %s with %s. Allow it?", a.ToolName, shortened(a.Args)),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"decision"},
			"properties": map[string]any{"decision": map[string]any{
				"type": "string", "title": "Decision", "enum": []string{string(oracle.Approve), string(oracle.Deny)},
			}},
		},
	}
}

// question asks by the result of the tool; false says that it cannot show everything.
func question(list []oracle.ApprovalBody) (*mcp.CallToolResult, bool) {
	out := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}
	for _, a := range list {
		if !shownWhole(a) {
			return nil, false
		}
		out.InputRequests[labelled(a)] = decision(a)
	}
	return out, true
}

// resumed goes on with what the user has answered, where a request brings that.
func (f *Face) resumed(ctx context.Context, c call, req *mcp.CallToolRequest) (*face.Answer, error) {
	var list []face.Decided
	for id, r := range req.Params.InputResponses {
		if said, ok := r.(*mcp.ElicitResult); ok {
			list = append(list, decided(id, said.Action, said.Content))
		}
	}
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // it begins something
	}
	return f.deps.Faces.Decide(ctx, c.who, list)
}

// forms begins the names of questions that ask for more than a decision.
const forms = "form:"

// labelled is an approval's name in a question.
func labelled(a oracle.ApprovalBody) string {
	if a.Question != nil {
		return forms + a.ID
	}
	return a.ID
}

// decided reads an answer. Whatever is no approval denies: nothing runs by mistake.
func decided(label, action string, content map[string]any) face.Decided {
	id, form := strings.CutPrefix(label, forms)
	d := face.Decided{ApprovalID: id, Decision: oracle.Deny}
	said, _ := content["decision"].(string)
	switch {
	case action != "accept":
	case form:
		if raw, err := json.Marshal(content); err == nil {
			d.Decision, d.Content = oracle.Approve, raw
		}
	case said == string(oracle.Approve):
		d.Decision = oracle.Approve
	}
	return d
}

// elicited begins the ids of questions that are asked on a stream. What follows is the
// approval's, so that any node takes the answer.
const elicited = "approval:"

// request is a message to the client.
type request struct {
	Version string `json:"jsonrpc"`
	ID      string `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// elicit asks on the stream of the answer, each question once, and what cannot be shown whole not at all.
func (c call) elicit(list []oracle.ApprovalBody, asked map[string]bool) {
	for _, a := range list {
		if asked[a.ID] || !shownWhole(a) {
			continue
		}
		asked[a.ID] = true
		// A client that has left is noticed by its request.
		_ = c.out.send(request{Version: "2.0", ID: elicited + labelled(a), Method: "elicitation/create", Params: decision(a)})
	}
}

// answered takes the answer to a question that was asked on a stream, perhaps by
// another node. It reports whether the message was one.
func (f *Face) answered(ctx context.Context, c call, m message) bool {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return false
	}
	label, ok := strings.CutPrefix(id, elicited)
	if !ok {
		return false
	}
	var said struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	_ = json.Unmarshal(m.Result, &said)           // what cannot be read denies
	if strictjson.Check(m.Result, &said) != nil { // nor does it say one thing to us and another to who looked at it
		said.Action = ""
	}
	answer, err := f.deps.Faces.Decide(ctx, c.who, []face.Decided{decided(label, said.Action, said.Content)})
	if err != nil {
		f.deps.Log.InfoContext(ctx, "an agent's answer to a question was refused", slog.String("event", "mcp.answer_refused"), slog.Any("error", err))
		return true
	}
	answer.Close() // it is read by who asked
	return true
}
