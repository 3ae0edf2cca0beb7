package filestoremcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/toolschema"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// tool describes a tool: what it needs and how careful a client should be.
type tool struct {
	name, title, description string
	need                     filestore.Ability
	readOnly, destructive    bool
	idempotent               bool
	byCID                    bool // offered to tokens for CIDs
}

// add registers a tool when the token can use it. run returns the text for the
// model and small facts for programs.
func add[In, Out any](s *mcp.Server, shown filestore.Ability, cidsOnly bool, t tool,
	run func(ctx context.Context, a filestore.Access, in In) (string, Out, error),
) {
	if shown&t.need != t.need || cidsOnly && !t.byCID {
		return
	}
	closed := false
	mcp.AddTool(s, &mcp.Tool{
		InputSchema: toolschema.Of[In](), OutputSchema: toolschema.Of[Out](), Name: t.name, Title: t.title,
		Description: t.description,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.readOnly, DestructiveHint: &t.destructive,
			IdempotentHint: t.idempotent || t.readOnly, OpenWorldHint: &closed,
		},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out
		a, err := accessFrom(req.Extra.TokenInfo)
		if err != nil {
			return nil, none, err
		}
		if q, ok := any(in).(interface{ question() string }); ok {
			if ask, err := confirmed(req, q.question()); ask != nil || err != nil {
				return ask, none, err
			}
		}
		base, _ := req.Extra.TokenInfo.Extra[extraBase].(string)
		text, out, err := run(context.WithValue(ctx, baseKey{}, base), a, in)
		if err != nil {
			return nil, none, t.judge(a, in, err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, out, nil
	})
}

// baseKey is where tools find the address under which the client knows us.
type baseKey struct{}

// publicURL is the address of a public file.
func publicURL(ctx context.Context, f filestore.File) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base + "/public/id/" + f.PublicID
}

func accessFrom(info *auth.TokenInfo) (filestore.Access, error) {
	if info == nil {
		return filestore.Access{}, errors.New("no token")
	}
	a, ok := info.Extra[extraAccess].(filestore.Access)
	if !ok {
		return filestore.Access{}, errors.New("no token")
	}
	return a, nil
}

// finders names the tools with which a token can look for files.
func finders(a filestore.Access) string {
	if a.Scoped {
		return "vfs_list_cids"
	}
	return "vfs_list or vfs_glob" // whoever may do anything else may list
}

// advise turns a failure into a text that lets an agent go on by itself, with the
// tools that its token has.
func advise(a filestore.Access, err error) error {
	e := fault.From(err)
	cid, version := e.Fields["cid"], e.Fields["version"]
	at := ""
	if cid != nil {
		at = fmt.Sprintf(" The current CID is %v (version %v).", cid, version)
	}
	switch e.Kind {
	case fault.NotFound:
		return fmt.Errorf("%s. It does not exist, or lies outside this token's reach: look with %s", e.Message, finders(a))
	case fault.Forbidden:
		return fmt.Errorf("%s. This token does not allow it: tell the user, do not retry", e.Message)
	case fault.Precondition:
		return fmt.Errorf("%s.%s Read the file again, redo your change on it, and pass the new ifCid", e.Message, at)
	case fault.Conflict:
		return fmt.Errorf("%s.%s", e.Message, at)
	case fault.UnsupportedMedia:
		return fmt.Errorf("%s (%v, %v bytes): it cannot be read as lines", e.Message, e.Fields["mimeType"], e.Fields["size"])
	case fault.Internal, fault.Unavailable, fault.Timeout:
		return fmt.Errorf("%s The failure is the server's: try again in a moment", e.Message)
	default:
		return errors.New(e.Message)
	}
}

// FileFacts are what a program wants to know of a file.
type FileFacts struct {
	Path    string `json:"path"`
	CID     string `json:"cid"`
	Version int64  `json:"version"`
	Size    int64  `json:"size"`
}

func facts(f filestore.File) FileFacts { return FileFacts{f.Path, f.CID, f.Version, f.Size} }

// condition is what a change may ask of the current state.
type condition struct {
	IfCID     string `json:"ifCid,omitempty" jsonschema:"change only if this is still the file's CID"`
	IfVersion int64  `json:"ifVersion,omitempty" jsonschema:"change only if this is still the file's version"`
}

func (c condition) of() filestore.Condition {
	out := filestore.Condition{Version: c.IfVersion}
	if c.IfCID != "" {
		out.Match = []string{c.IfCID}
	}
	return out
}

func (h *handler) addTools(s *mcp.Server, shown filestore.Ability, cidsOnly bool) {
	h.addFindTools(s, shown, cidsOnly)
	h.addReadTools(s, shown, cidsOnly)
	h.addWriteTools(s, shown, cidsOnly)
}
