package ussdhttp

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The body says what the header says: who comes back earlier is refused again.
func TestTheBodyAndTheHeaderNameTheSameWait(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]int{
		time.Millisecond: 1, 400 * time.Millisecond: 1, time.Second: 1,
		1400 * time.Millisecond: 2, time.Minute: 60,
	} {
		w := httptest.NewRecorder()
		(&api{log: slog.New(slog.DiscardHandler)}).writeError(w,
			httptest.NewRequest(http.MethodGet, "/api/ussd/sessions", nil), fault.New(fault.RateLimited, "Too many requests").WithRetryAfter(wait))
		var body struct{ RetryAfter int }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusTooManyRequests {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if got := w.Header().Get("Retry-After"); got != strconv.Itoa(want) || body.RetryAfter != want {
			t.Errorf("%v: header %s, body %d, want %d", wait, got, body.RetryAfter, want)
		}
	}
}
