package callhttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBadRequestsAreNamed(t *testing.T) {
	t.Parallel()
	n := calltest.Start(t, calltest.Setup{})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Create(call.Audio, false)
	const sessionEmpty, badType = "sessionId should not be empty", "callType must be one of the following values: audio, video"
	made := "/calls/" + p.Call.CallID
	for _, c := range []struct {
		method, path, body string
		status             int
		says               any
	}{
		{"POST", "/calls", `{}`, 400, []any{sessionEmpty, badType}},
		{"POST", "/calls", `{"sessionId":"s","callType":"smoke"}`, 400, []any{badType}},
		{"POST", "/calls", `{"sessionId":"` + p.Session + `","callType":"audio","record":true}`, 400, "record must be false: no files are kept here"},
		{"POST", "/calls", `{"sessionId":"` + p.Session + `","callType":"audio","record":true,"recordFormat":"mp3"}`, 400, []any{"recordFormat must be one of the following values: ogg, wave"}},
		{"POST", "/calls", `{"sessionId":"` + p.Session + `","callType":"audio","language":"klingon!"}`, 400, []any{"language must be a language tag such as en or pt-BR"}},
		{"POST", "/calls", `{"sessionId":"` + p.Session + `","callType":"audio","agentVoice":"` + strings.Repeat("a", 65) + `"}`, 400, []any{"agentVoice must be the name of a voice, at most 64 characters"}},
		{"POST", "/calls", `{"sessionId":"` + p.Session + `","callType":"audio","agentVoice":"a\nb"}`, 400, []any{"agentVoice must be the name of a voice, at most 64 characters"}},
		{"POST", "/calls", `{"sessionId":"unknown","callType":"audio"}`, 404, "Session not found"},
		{"POST", "/calls", `{"sessionId":"a\u0000b","callType":"audio"}`, 404, "Session not found"},
		{"POST", "/calls", `{"sessionId":"` + strings.Repeat("x", 20<<10) + `"}`, 413, nil},
		{"POST", "/calls", `{"sessionId":"s","callType":"audio","who":1}`, 400, nil},
		{"POST", "/calls", `[]`, 400, nil},
		{"POST", "/calls", `{`, 400, nil},
		{"GET", "/calls?sessionId=unknown", "", 404, "Session not found"},
		{"GET", "/calls/unknown", "", 404, "Call not found"},
		{"GET", "/calls/" + strings.Repeat("x", 300), "", 404, "Call not found"},
		{"PATCH", "/calls/unknown", `{"callStatus":"ended"}`, 404, "Call not found"},
		{"PATCH", made, `{"callStatus":"pending"}`, 400, []any{"callStatus must be one of the following values: active, ended"}},
		{"PATCH", made, `{"callStatus":"ended","callEndedAt":"yesterday"}`, 400, []any{"callEndedAt must be a valid ISO 8601 date string"}},
		{"PATCH", made, `{"callStatus":"ended","reason":"<b>"}`, 400, []any{"reason must be at most 64 small letters and underscores"}},
		{"PATCH", made, `{"callStatus":7}`, 400, nil},
		{"DELETE", made, "", 405, nil},
	} {
		status, data := p.Do(c.method, c.path, c.body)
		var body struct {
			StatusCode int
			Message    any
		}
		if err := json.Unmarshal(data, &body); err != nil || status != c.status || body.StatusCode != c.status {
			t.Errorf("%s %.40s %.80s: %d %s, want %d", c.method, c.path, c.body, status, data, c.status)
			continue
		}
		if diff := cmp.Diff(c.says, body.Message); c.says != nil && diff != "" {
			t.Errorf("%s %.40s %.80s (-want +got):\n%s", c.method, c.path, c.body, diff)
		}
	}
	p.Token = ""
	for _, q := range [][2]string{{"POST", "/calls"}, {"GET", "/calls"}, {"GET", made}, {"PATCH", made}} {
		if status, body := p.Do(q[0], q[1], `{}`); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", q[0], status, body)
		}
	}
}
