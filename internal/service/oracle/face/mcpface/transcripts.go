package mcpface

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// The addresses of transcripts.
const (
	sessions = "oracle://sessions/"
	template = sessions + "{sessionId}{?before}"
)

// Bounds of transcripts: sessions on a page of the list, turns on one of a session, and
// values of a completion.
const (
	sessionPage   = 50
	turnPage      = 20
	maxCompletion = 100
	// maxTranscript is how many bytes of a page are told: no model reads more.
	maxTranscript = 4 << 20
)

func (f *Face) addTranscripts(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "session", Title: "Conversation", URITemplate: template, MIMEType: "text/markdown",
		Description: "A conversation of the user's with the oracle: its last turns, or those before a message.",
	}, f.readTranscript)
}

// ListResources pages through the user's sessions, last changed first.
func (f *Face) ListResources(ctx context.Context, after string) ([]*mcp.Resource, string, error) {
	c, ok := callOf(ctx)
	offset, err := strconv.Atoi("0" + after)
	if !ok || err != nil {
		return nil, "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad cursor"}
	}
	list, total, err := f.deps.Service.Sessions(ctx, c.who.DID, sessionPage, offset)
	if err != nil {
		return nil, "", f.tellable(ctx, err)
	}
	out := make([]*mcp.Resource, 0, len(list))
	for _, s := range list {
		out = append(out, &mcp.Resource{
			URI: sessions + url.PathEscape(s.ID), Name: s.ID, Title: s.Title, MIMEType: "text/markdown",
			Description: fmt.Sprintf("%d messages, the last one %s", s.Messages, oracle.Timestamp(s.UpdatedAt)),
		})
	}
	if end := offset + len(list); int64(end) < total && len(list) > 0 {
		return out, strconv.Itoa(end), nil
	}
	return out, "", nil
}

func (f *Face) readTranscript(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c, ok := callOf(ctx)
	u, err := url.Parse(req.Params.URI)
	if !ok || err != nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	id := strings.TrimPrefix(u.Path, "/")
	leave, err := f.readings.Take(ctx, c.who.DID)
	if err != nil {
		return nil, err
	}
	defer leave()
	page, err := f.deps.Service.Page(ctx, c.who.DID, id, oracle.PageQuery{Limit: turnPage, Before: u.Query().Get("before")})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, f.tellable(ctx, err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: req.Params.URI, MIMEType: "text/markdown", Text: transcript(id, page),
	}}}, nil
}

// transcript is a page of a session as people and models read it.
func transcript(id string, page oracle.Page) string {
	var b strings.Builder
	if page.HasOlder && len(page.Messages) > 0 {
		_, _ = fmt.Fprintf(&b, "(Earlier turns: %s%s?before=%s)\n\n", sessions, url.PathEscape(id), url.QueryEscape(page.Messages[0].ID))
	}
	for _, m := range page.Messages {
		who := "User"
		if m.Role == oracle.AI {
			who = "Oracle"
		}
		_, _ = fmt.Fprintf(&b, "## %s, %s\n\n", who, oracle.Timestamp(m.CreatedAt))
		for _, t := range m.ToolCalls {
			_, _ = fmt.Fprintf(&b, "(used %s: %s)\n\n", t.Name, t.Status)
		}
		if m.Content != "" {
			b.WriteString(m.Content + "\n\n")
		}
		if b.Len() > maxTranscript {
			return strings.ToValidUTF8(b.String()[:maxTranscript], "") + "\n\n(What follows is left out: it is too long.)\n"
		}
	}
	return b.String()
}

// complete finds the user's sessions by the beginning of their id or by words of
// their title.
func (f *Face) complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	out := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	c, ok := callOf(ctx)
	if !ok || p == nil || p.Ref == nil || p.Ref.URI != template || p.Argument.Name != "sessionId" {
		return out, nil
	}
	list, total, err := f.deps.Service.Sessions(ctx, c.who.DID, maxCompletion, 0)
	if err != nil {
		return nil, f.tellable(ctx, err)
	}
	for _, s := range list {
		if strings.HasPrefix(s.ID, p.Argument.Value) ||
			strings.Contains(strings.ToLower(s.Title), strings.ToLower(p.Argument.Value)) {
			out.Completion.Values = append(out.Completion.Values, s.ID)
		}
	}
	out.Completion.HasMore = total > int64(len(list))
	return out, nil
}
