package ussdhttp_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// TestARefusalIsExplained to who connects a gateway: the log names the field and
// the rule at its usual level, and nothing of what was sent.
func TestARefusalIsExplained(t *testing.T) {
	t.Parallel()
	const secret = "2*1*70382"
	good := func(change map[string]any) string {
		body := map[string]any{"sessionId": "s1", "serviceCode": "*2233#", "phoneNumber": alice, "text": secret}
		for name, value := range change {
			if body[name] = value; value == nil {
				delete(body, name)
			}
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tc := range []struct{ path, media, body, field, rule string }{
		{"", "application/json", good(map[string]any{"phoneNumber": "0971230001"}), "phoneNumber", "E.164"},
		{"", "application/json", good(map[string]any{"serviceCode": "2233"}), "serviceCode", "between * and #"},
		{"", "application/json", good(map[string]any{"sessionId": strings.Repeat("x", 101)}), "sessionId", "1 to 100"},
		{"", "application/json", good(map[string]any{"text": strings.Repeat("7", 183)}), "text", "at most 182"},
		{"/africastalking", "application/json", good(map[string]any{"text": strings.Repeat("7", 2001)}), "text", "at most 2000"},
		{"", "application/json", good(map[string]any{"text": nil}), "text", "is required exactly once"},
		{"", "application/json", good(map[string]any{"text": 70382}), "text", "must be of type string"},
		{"", "application/json", good(map[string]any{"Text": secret}), "body", "exact name"},
		{"", "application/json", "{", "body", "JSON object"},
		{"", "text/plain", good(nil), "Content-Type", "JSON or a form"},
		{"", "application/x-www-form-urlencoded", "sessionId=s1&text=1&text=2&serviceCode=*1%23&phoneNumber=%2B260971230001", "text", "once"},
		{"/hubtel", "application/json", `{"Type":"Response","Mobile":"97x","SessionId":"s","Message":"70382"}`, "phoneNumber", "E.164"},
		{"/hubtel", "application/json", `{"Type":"Response","Sequence":"1","Message":"70382"}`, "Sequence", "must be of type int"},
		{"/arkesel", "application/json", `{"newSession":"true","userData":"70382"}`, "newSession", "must be of type bool"},
		{"/africastalking/events", "application/x-www-form-urlencoded", "sessionId=s1", "phoneNumber", "session that is over"},
	} {
		g := newGateway(t, options{level: slog.LevelInfo})
		r := g.do(http.MethodPost, "/api/ussd"+tc.path, tc.media, tc.body)
		if r.status != http.StatusOK {
			t.Errorf("%s %s: %+v", tc.path, tc.body, r)
		}
		found := ""
		for line := range strings.Lines(g.log.String()) {
			if strings.Contains(line, `"msg":"ussd request refused"`) {
				found = line
			}
			if ussdtest.Leak(line, "70382") != "" || strings.Contains(line, "971230001") {
				t.Errorf("the log tells a secret: %s", line)
			}
		}
		dialect := strings.TrimSuffix(strings.TrimPrefix(tc.path, "/"), "/events")
		list := g.do(http.MethodGet, "/operator/ussd/refusals", "", "", "Authorization", "Bearer "+operator)
		var told struct {
			Days     int
			Refusals []ussdcount.Refusal
		}
		if err := json.Unmarshal([]byte(list.body), &told); err != nil || told.Days != 7 || len(told.Refusals) != 1 ||
			told.Refusals[0].Count != 1 ||
			told.Refusals[0].Dialect != dialect || told.Refusals[0].Field != tc.field ||
			!strings.Contains(told.Refusals[0].Rule, tc.rule) ||
			ussdtest.Leak(list.body, "70382") != "" || strings.Contains(list.body, "971230001") {
			t.Errorf("%s %s: the operator reads %s", tc.path, tc.body, list.body)
		}
		if !strings.Contains(found, `"level":"INFO"`) || !strings.Contains(found, `"field":"`+tc.field+`"`) ||
			!strings.Contains(found, tc.rule) {
			t.Errorf("%s %s is explained by %q", tc.path, tc.body, found)
		}
	}
	// Somebody else's session.
	g := newGateway(t, options{level: slog.LevelInfo})
	g.send("s1", alice, "")
	if got := g.send("s1", bob, "1"); got != invalid || !strings.Contains(g.log.String(), "the one that began the session") {
		t.Errorf("%q: %s", got, g.log.String())
	}
}

// TestANoticeThatCannotBeRead is answered with an end of its dialect all the same.
func TestANoticeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	const infobip = "{\"shouldClose\":true,\"ussdMenu\":\"Invalid input. Please try again.\",\"responseExitCode\":200,\"responseMessage\":\"\"}"
	for _, tc := range []struct{ method, path, media, body, want string }{
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "application/json", "{\"exitCode\":\"600\"}", infobip},
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "application/json", "[", infobip},
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "application/x-www-form-urlencoded", "reason=x", infobip},
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "text/plain", "{}", infobip},
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "application/json", "{\"reason\":\"" + strings.Repeat("x", 20000) + "\"}", infobip},
		{http.MethodPost, "/api/ussd/africastalking/events", "application/json", "{}", invalid},
		{http.MethodPost, "/api/ussd/africastalking/events", "application/x-www-form-urlencoded", "sessionId=s1", invalid},
		{http.MethodPost, "/api/ussd/africastalking/events", "application/x-www-form-urlencoded", "%zz", invalid},
		{http.MethodPost, "/api/ussd/africastalking/events", "application/x-www-form-urlencoded", strings.Repeat("x", 20000), invalid},
	} {
		r := g.do(tc.method, tc.path, tc.media, tc.body)
		if r.status != http.StatusOK || strings.TrimSpace(r.body) != tc.want {
			t.Errorf("%s %.60s: %d %s", tc.path, tc.body, r.status, r.body)
		}
	}
}
