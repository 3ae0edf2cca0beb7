package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// Truncated is the failure of a stream that ended too early.
func (c *Client) Truncated() *model.Error {
	return &model.Error{Kind: model.Network, Provider: c.cfg.Provider, Detail: "the stream ended early"}
}

// refused classifies an answer that is not 200.
func (c *Client) refused(resp *http.Response, body []byte) *model.Error {
	e := c.failure(resp.StatusCode, body)
	if e.Detail == "" && resp.StatusCode == http.StatusRequestEntityTooLarge {
		e.Kind = model.TooLong
	}
	return e
}

// Failure classifies an error that an endpoint reports inside its stream: the
// object that it sent, or the value of its "error".
func (c *Client) Failure(raw json.RawMessage) *model.Error {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &in) != nil || len(in.Error) == 0 || string(in.Error) == "null" {
		raw, _ = json.Marshal(map[string]json.RawMessage{"error": raw}) // raw was read as JSON
	}
	return c.failure(0, raw)
}

func (c *Client) failure(status int, body []byte) *model.Error {
	said := readFailure(body)
	if status == 0 {
		status = said.status
	}
	e := &model.Error{Provider: c.cfg.Provider, Status: status, Detail: said.detail}
	e.Kind = kindOf(status, said.code, said.detail+" "+said.raw)
	if e.Kind == model.TooLong {
		e.Window = windowIn(strings.ToLower(said.detail + " " + said.raw))
	}
	return e
}

func kindOf(status int, code, detail string) model.Kind {
	all := strings.ToLower(code + " " + detail)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(all, w) {
				return true
			}
		}
		return false
	}
	switch {
	case overflows(status, all):
		return model.TooLong
	case filtered(status, all):
		return model.Filter
	case has("insufficient_quota", "billing", "credit balance") || status == http.StatusPaymentRequired:
		return model.Billing
	case has("overloaded") || status == 529:
		return model.Server
	case status == http.StatusTooManyRequests || has("rate_limit", "rate limit", "tokens per minute"):
		return model.RateLimit
	case status == http.StatusUnauthorized || status == http.StatusForbidden || has("authentication", "permission_error", "invalid_api_key"):
		return model.Auth
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout || has("timeout_error"):
		return model.Timeout
	case status >= 500 || status == http.StatusConflict || has("server_error", "api_error"):
		return model.Server
	}
	return model.Unknown
}

// filtered reports whether a refusal is a filter's: the prompt is at fault, and
// neither the account nor the server.
func filtered(status int, text string) bool {
	if status != http.StatusBadRequest && status != http.StatusForbidden && status != http.StatusUnprocessableEntity &&
		status != 0 {
		return false
	}
	for _, words := range []string{
		"content_filter", "content management policy", "responsibleaipolicyviolation", "content_policy_violation", "flagged as potentially",
		"output blocked by content filtering", "prohibited_content", "data_inspection_failed", "requires moderation",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// said is what an error body says.
type said struct {
	detail, code string
	// raw is what stands behind the message, and is not shown.
	raw    string
	status int
}

// maxPlain bounds how much of a body without structure is kept, in bytes.
const maxPlain = 500

// readFailure finds the message and the code in an error body: {"error": {..}},
// {"error": "text"}, {"message": ..}, {"detail": ..}, each also in a list. Pages
// of proxies are of no use to anybody.
func readFailure(body []byte) said {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini
		body = list[0]
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		if text := string(body); text != "" && !strings.HasPrefix(text, "<") {
			return said{detail: strings.ToValidUTF8(text[:min(len(text), maxPlain)], "")}
		}
		return said{}
	}
	var inner struct {
		Message  string `json:"message"`
		Type     string `json:"type"`
		Code     any    `json:"code"`
		Status   string `json:"status"`
		NCtx     int    `json:"n_ctx"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Error, &inner) == nil && (inner.Message != "" || inner.Type != "") {
		out := said{
			detail: inner.Message, code: fmt.Sprint(inner.Type, " ", inner.Code, " ", inner.Status),
			raw: textOf(inner.Metadata.Raw),
		}
		if inner.NCtx > 0 { // llama.cpp
			out.raw += fmt.Sprintf(" n_ctx: %d", inner.NCtx)
		}
		if n, ok := inner.Code.(float64); ok && n >= 400 && n < 600 {
			out.status = int(n)
		}
		return out
	}
	out := said{code: fmt.Sprint(e.Type, " ", e.Code)}
	for _, text := range []string{textOf(e.Error), textOf(e.Message), textOf(e.Detail)} {
		if text != "" {
			out.detail = text
			break
		}
	}
	return out
}

// textOf is a value that may be a text, or a list of what is wrong where.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil || string(raw) == "null" {
		return text
	}
	return string(raw[:min(len(raw), maxPlain)])
}

// classify turns any error into a *model.Error.
func (c *Client) classify(ctx context.Context, err error) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	e := &model.Error{Kind: model.Network, Provider: c.cfg.Provider, Cause: err}
	switch {
	case errors.Is(err, errSilent), errors.Is(err, context.DeadlineExceeded):
		e.Kind = model.Timeout
	case ctx.Err() != nil:
		e.Kind = model.Unknown
	case errors.Is(err, sse.ErrTooLarge):
		e.Kind = model.Server
	}
	return e
}
