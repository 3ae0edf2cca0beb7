package openaiface

import (
	"fmt"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
)

// ErrorBody is how OpenAI's API says that something failed.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is its only member.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// fieldParam is the field of a fault that names the member of a request.
const fieldParam = "param"

// invalid is a refusal of one member of a request.
func invalid(param, format string, args ...any) error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...)).WithField(fieldParam, param)
}

func noModel(name string) error {
	if len(name) > 100 {
		name = name[:100]
	}
	return fault.Wrap(fault.NotFound, fmt.Sprintf("The model %q does not exist here.", name), face.ErrNoModel).
		WithCode(face.ErrNoModel.Code).WithField(fieldParam, "model")
}

// quota are the refusals that more money or another day end, and trying again
// does not.
var quota = map[string]bool{oracle.CodeMessages: true, oracle.CodeCost: true}

// errorOf puts a fault into OpenAI's words, with its status.
func errorOf(e *fault.Error) (status int, body ErrorBody) {
	status = httpserver.Status(e.Kind)
	out := Error{Message: e.Message, Type: "invalid_request_error"}
	code := e.Code
	switch {
	case e.Kind == fault.PaymentRequired || quota[e.Code]:
		out.Type, code = "insufficient_quota", "insufficient_quota"
	case e.Kind == fault.RateLimited:
		out.Type, code = "rate_limit_error", "rate_limit_exceeded"
	case e.Kind == fault.Unauthenticated:
		out.Type, code = "authentication_error", "invalid_api_key"
	case e.Kind == fault.Forbidden:
		out.Type = "permission_error"
	case status >= http.StatusInternalServerError:
		out.Type = "server_error"
	}
	if code != "" {
		out.Code = &code
	}
	if param, ok := e.Fields[fieldParam].(string); ok {
		out.Param = &param
	}
	return status, ErrorBody{out}
}

// codeOf is the code of a response that failed in its course. Those that OpenAI's API has not are
// the server's failures.
func codeOf(e Error) string {
	if e.Type == "insufficient_quota" || e.Type == "rate_limit_error" {
		return *e.Code
	}
	return "server_error"
}

// headerRetry tells an SDK whether to try again.
const headerRetry = "X-Should-Retry"

// Errors writes failures as OpenAI does: see httpserver.Surface.
func Errors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	status, body := errorOf(e)
	h := w.Header()
	facehttp.SetErrorHeaders(h, e)
	if body.Error.Type == "insufficient_quota" { // the SDKs try again after a 429, unless told
		h.Set(headerRetry, "false")
		h.Del("Retry-After")
	}
	_ = httpserver.WriteJSON(w, status, body) // the client may be gone
}
