package httpserver

import (
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// ErrorWriter writes the answer to a failed request. It is the only place
// where a kind of failure becomes a status and a body.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, err error)

// StatusClientGone is logged and counted when the caller went away before the
// answer; nobody receives it.
const StatusClientGone = 499

// Status is the HTTP status of a kind. Every table uses the same one.
func Status(kind fault.Kind) int {
	switch kind {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.PaymentRequired:
		return http.StatusPaymentRequired
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case fault.Conflict:
		return http.StatusConflict
	case fault.Precondition:
		return http.StatusPreconditionFailed
	case fault.Gone:
		return http.StatusGone
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.UnsupportedMedia:
		return http.StatusUnsupportedMediaType
	case fault.RangeUnsatisfiable:
		return http.StatusRequestedRangeNotSatisfiable
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Unimplemented:
		return http.StatusNotImplemented
	case fault.Canceled:
		return StatusClientGone
	case fault.StorageFull:
		return http.StatusInsufficientStorage
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// KindOf is the kind whose status it is, or the nearest one.
func KindOf(status int) fault.Kind {
	for _, kind := range fault.Kinds() {
		if Status(kind) == status {
			return kind
		}
	}
	switch {
	case status == http.StatusBadGateway:
		return fault.Unavailable
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return fault.Invalid
	}
	return fault.Internal
}

// NestErrors is the table of surfaces that bring none of their own: statusCode, message and, for the kinds
// that carry one in the field, error. A validation failure sets the field "message" to a list of texts.
func NestErrors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	status := Status(e.Kind)
	body := map[string]any{"statusCode": status, "message": e.Message}
	if e.Code == ratelimit.CodeRefused {
		body["message"] = "ThrottlerException: Too Many Requests"
	}
	switch e.Kind {
	case fault.Unauthenticated, fault.TooLarge, fault.RateLimited, fault.Internal:
		// These bodies have two members in the field; clients compare them.
	case fault.Canceled:
		body["error"] = "Client Closed Request"
	default:
		body["error"] = http.StatusText(status)
	}
	WriteFault(w, e, body)
}

// WriteFault sends a table's body for an error with the error's own fields, which
// win over the table's: that is how a validation failure lists its texts.
func WriteFault(w http.ResponseWriter, e *fault.Error, body map[string]any) {
	status := Status(e.Kind)
	maps.Copy(body, e.Fields)
	h := w.Header()
	h.Set(fault.Header, e.Word())
	SetRetryAfter(h, e)
	if status == http.StatusUnauthorized && h.Get("Www-Authenticate") == "" {
		h.Set("Www-Authenticate", "Bearer")
	}
	h.Del("Etag")
	h.Del("Content-Encoding")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h["Content-Type"] = jsonContentType
	// The client may be gone; there is nobody left to tell.
	_ = WriteJSON(w, status, body)
}

// SetRetryAfter sets Retry-After, in whole seconds and at least one, when the
// error says when to come back.
func SetRetryAfter(h http.Header, e *fault.Error) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.RetryAfter.Seconds())))))
	}
}
