package filestoremcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// isBatch reports whether a request's body is a JSON-RPC batch, by its first
// byte, and leaves the body whole. The SDK would decode all of a batch, twice, before
// it looks at the protocol's version, and take it from whoever does not name one.
func isBatch(r *http.Request) bool {
	if r.Method != http.MethodPost || r.Body == nil {
		return false
	}
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	for {
		c, err := body.ReadByte()
		switch {
		case err != nil:
			return false // the SDK meets the same end
		case c == ' ', c == '\t', c == '\r', c == '\n':
			continue
		}
		_ = body.UnreadByte() // it was just read
		return c == '['
	}
}

// refusal is JSON-RPC's answer to a request that is none, or that is for what is not there.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null where it is not known
	Error   jsonrpc.Error   `json:"error"`
}

const textBatch = "batches are not supported: MCP has none since 2025-06-18; send each message in a request of its own"

func refuseRequest(w http.ResponseWriter, why string) error {
	return httpserver.WriteJSON(w, http.StatusBadRequest,
		refusal{Version: "2.0", Error: jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}})
}

// unfit says why the SDK must not see a request, or returns the text of a short one; it leaves the
// body whole. The SDK decodes all of it several times over, into values that are many times as
// large as what was sent; and it takes the last of two members, where what stands between it
// and the client may have judged the first.
func unfit(r *http.Request) (text []byte, why string) {
	if r.Method != http.MethodPost || r.Body == nil {
		return nil, ""
	}
	text, err := io.ReadAll(r.Body)
	if err != nil { // the SDK meets the same end
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), brokenReader{err}))
		return nil, ""
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err := strictjson.Count(text, httpserver.MaxValues(r.Context())); err != nil {
		return nil, "the request has " + err.Error()
	}
	if err := strictjson.Check(text, nil); err != nil {
		return nil, err.Error()
	}
	if len(text) > keptRequest {
		return nil, ""
	}
	return text, ""
}

// keptRequest bounds the text of a request that is kept until it is answered.
const keptRequest = 4 << 10

// notHandled begins what the SDK says of a method that is none of MCP's, to clients of the
// protocols before 2026-07-28: as an error of HTTP, which they take for a lost connection.
const notHandled = "JSON RPC not handled:"

// answerUnknown answers a request for such a method as JSON-RPC has it; what it returns is what
// else went wrong.
func answerUnknown(w http.ResponseWriter, text []byte, err error) error {
	if err == nil || !strings.HasPrefix(fault.From(err).Message, notHandled) {
		return err
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(text, &m) != nil {
		return err
	}
	if len(m.ID) == 0 { // nobody waits for an answer to a notification
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	return httpserver.WriteJSON(w, http.StatusOK, refusal{Version: "2.0", ID: m.ID, Error: jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + strconv.Quote(m.Method),
	}})
}

// brokenReader is the end of a body that could not be read to its end.
type brokenReader struct{ err error }

// Read implements io.Reader.
func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// endWithRequest ends the work of a method with the HTTP request that asked for
// it. To clients of protocols before 2026-07-28 the SDK lets it go on, for a session
// in which the answer might be fetched later; requests here have none.
func endWithRequest(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		extra := req.GetExtra()
		if extra == nil || extra.TokenInfo == nil {
			return next(ctx, method, req)
		}
		request, ok := extra.TokenInfo.Extra[extraRequest].(context.Context)
		if !ok {
			return next(ctx, method, req)
		}
		return next(requestContext{request, ctx}, method, req) //nolint:contextcheck // it is the request's own
	}
}

// requestContext ends with an HTTP request, and also has the SDK's values.
type requestContext struct {
	context.Context                 //nolint:containedctx // it is one
	sdk             context.Context //nolint:containedctx // for its values
}

func (c requestContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.sdk.Value(key)
}
