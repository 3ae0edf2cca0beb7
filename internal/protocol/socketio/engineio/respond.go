package engineio

import (
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"time"
)

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func htmlEscape(s string) string { return html.EscapeString(s) }

// writeText answers a poll.
func writeText(w http.ResponseWriter, timeout time.Duration, body []byte) {
	write(w, timeout, http.StatusOK, "text/plain; charset=UTF-8", body)
}

// writeError answers with an error in the form that Engine.IO clients know.
func writeError(w http.ResponseWriter, status int, c code, text string) {
	body, _ := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{int(c), text}) // always marshals
	write(w, 0, status, "application/json", body)
}

func write(w http.ResponseWriter, timeout time.Duration, status int, media string, body []byte) {
	control := http.NewResponseController(w)
	if timeout > 0 {
		// A held poll has outlived the server's own deadline. Writers that cannot
		// set one are bounded by whoever wrapped them.
		_ = control.SetWriteDeadline(time.Now().Add(timeout))
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
	if timeout > 0 {
		// The deadline must not outlive this answer: the connection serves others.
		_ = control.Flush()
		_ = control.SetWriteDeadline(time.Time{})
	}
}
