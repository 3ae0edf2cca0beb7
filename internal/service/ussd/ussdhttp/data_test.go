package ussdhttp_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// TestAGatewayThatCallsWithGET walks a session, and repeats itself.
func TestAGatewayThatCallsWithGET(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	for path, names := range map[string][4]string{
		"/api/ussd/advanta":   {"SESSIONID", "MSISDN", "USSDCODE", "INPUT"},
		"/api/ussd/bonga":     {"session_id", "mobile_number", "service_code", "message"},
		"/api/ussd/crossgate": {"session_id", "msisdn", "service_code", "ussd_string"},
	} {
		send := func(method, text string) reply {
			q := url.Values{names[0]: {"233443"}, names[1]: {"254726770792"}, names[2]: {"*415#"}, names[3]: {text}}
			return g.do(method, path+"?"+q.Encode(), "", "")
		}
		if r := send(http.MethodGet, ""); r.status != 200 || r.body != welcome ||
			r.header.Get("Content-Type") != "text/plain; charset=utf-8" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%+v", r)
		}
		if r := send(http.MethodHead, "2"); r.status != 200 {
			t.Errorf("%+v", r)
		}
		for range 2 {
			if r := send(http.MethodGet, "2"); !strings.HasPrefix(r.body, "CON Account menu") {
				t.Errorf("%+v", r)
			}
		}
		for _, text := range []string{"2*2", "2*2*Ann", "2*2*Ann*00", "2*2*Ann*00*70382", "2*2*Ann*00*70382*70382"} {
			send(http.MethodGet, text)
		}
		if r := send(http.MethodGet, "2*2*Ann*00*70382*70382*1"); !strings.HasPrefix(r.body, "CON My account") {
			t.Errorf("%+v", r)
		}
		name := strings.TrimPrefix(path, "/api/ussd/")
		if r := g.get("/operator/ussd/timeline/" + name + ":233443"); r.status != 200 || !strings.Contains(r.body, `"dialect":"`+name+`"`) {
			t.Errorf("%+v", r)
		}
		if r := send(http.MethodPost, ""); r.status != http.StatusMethodNotAllowed {
			t.Errorf("%+v", r)
		}
	}
	if log := g.log.String(); ussdtest.Leak(log, "70382") != "" || strings.Contains(log, "726770792") {
		t.Errorf("the log tells a secret: %s", log)
	}
}

func TestHollatags(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	send := func(operation, text string) string {
		q := url.Values{
			"session_msisdn": {"2347000000000"}, "session_operation": {operation}, "session_msg": {text},
			"session_id": {"5456"}, "session_from": {"*7006#"}, "session_type": {"1"},
		}
		r := g.do(http.MethodGet, "/api/ussd/hollatags?"+q.Encode(), "", "")
		if r.status != 200 {
			t.Errorf("%+v", r)
		}
		clock.Jump(2 * time.Second)
		return r.body
	}
	if got := send("begin", "*7006#"); !strings.HasPrefix(got, `{"session_id":"5456","session_msg":"Welcome`) || !strings.HasSuffix(got, `"session_operation":"continue","session_type":1}`) {
		t.Error(got)
	}
	if got := send("continue", "2"); !strings.Contains(got, "Account menu") {
		t.Error(got)
	}
	if got := send("end", ""); got != `{"session_id":"5456","session_msg":"","session_operation":"end","session_type":4}` {
		t.Error(got)
	}
	if r := g.get("/operator/ussd/debug/hollatags:5456"); !strings.Contains(r.body, `"status":"done"`) {
		t.Errorf("%+v", r)
	}
	if got := send("end", ""); !strings.Contains(got, `"session_operation":"end"`) {
		t.Error(got)
	}
}

// TestBeem walks a session as integrators of its hub show it: what the gateway sends goes
// back, the response of the first request is a 0 that nobody typed.
func TestBeem(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	send := func(command, response string) (out struct {
		MSISDN, Operator, Command string
		Session                   string `json:"session_id"`
		Payload                   struct {
			Number  json.RawMessage `json:"request_id"`
			Request string
		}
	},
	) {
		t.Helper()
		r := g.do(http.MethodPost, "/api/ussd/beem", "application/json", `{"command":"`+command+`","msisdn":"255712345678","session_id":"4574","operator":"vodacom","payload":{"request_id":3,"response":`+response+`}}`)
		if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 ||
			!strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
			t.Errorf("%+v %v", r, err)
		}
		if out.MSISDN != "255712345678" || out.Operator != "vodacom" || out.Session != "4574" || string(out.Payload.Number) != "3" {
			t.Errorf("%s does not repeat what was sent", r.body)
		}
		clock.Jump(2 * time.Second)
		return out
	}
	if got := send("initiate", "0"); got.Command != "continue" || !strings.HasPrefix(got.Payload.Request, "Welcome") {
		t.Errorf("%+v", got)
	}
	for _, response := range []string{"2", `"0"`, `"2"`} { // a number or a text
		if got := send("continue", response); got.Command != "continue" || strings.Contains(got.Payload.Request, "Account menu") != (response != `"0"`) {
			t.Errorf("%s: %+v", response, got)
		}
	}
	if got := send("terminate", "0"); got.Command != "terminate" {
		t.Errorf("%+v", got)
	}
	if r := g.get("/operator/ussd/debug/beem:4574"); !strings.Contains(r.body, `"status":"done"`) {
		t.Errorf("%+v", r)
	}
}

const ownDialect = `name: own
request: {method: POST, fields: json, session: id, phone: user.number, code: code, input: said, typed: all, over: {field: kind, is: [gone]}}
answer:
  media: application/json
  continue: '{"go": true, "say": "{{text}}", "trace": "{{request.trace}}"}'
  end: '{"go": false, "say": "{{text}}", "trace": "{{request.trace}}"}'
`

const ownXML = `name: ownxml
request: {method: POST, fields: form, session: id, phone: number, input: said, typed: newest}
answer: {media: text/xml, continue: '<r more="1">{{text}}</r>', end: '<r more="0">{{text}}</r>'}
`

func ownDialects(t testing.TB) []string {
	t.Helper()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "own.yaml"), filepath.Join(dir, "xml.yaml")}
	for i, text := range []string{ownDialect, ownXML} {
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestADialectOfOnesOwn(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{files: ownDialects(t), limit: 30})
	send := func(said string) string {
		body, err := json.Marshal(map[string]any{
			"id": 7, "user": map[string]string{"number": "+255700000001"}, "code": "*149#", "said": said, "trace": 12,
		})
		if err != nil {
			t.Fatal(err)
		}
		return g.do(http.MethodPost, "/api/ussd/own", "application/json", string(body)).body
	}
	if got := send(""); !strings.HasPrefix(got, `{"go":true,"say":"Welcome`) || !strings.HasSuffix(got, `"trace":12}`) {
		t.Error(got)
	}
	if got := send("*"); !strings.HasPrefix(got, `{"go":false,"say":"`) {
		t.Error(got)
	}
	const sorry = `{"go":false,"say":"Invalid input. Please try again.","trace":"%s"}`
	for body, trace := range map[string]string{
		`{"trace":"x"}`: "x", "[]": "", "": "",
		`{"a":"` + strings.Repeat("x", 20<<10) + `"}`: "",
	} {
		if r := g.do(http.MethodPost, "/api/ussd/own", "application/json", body); r.status != 200 ||
			r.body != strings.Replace(sorry, "%s", trace, 1) {
			t.Errorf("%.40s: %+v", body, r)
		}
	}
	if r := g.do(http.MethodPost, "/api/ussd/ownxml", "application/x-www-form-urlencoded", "id=1&number=255700000001&said=x"); r.status != 200 || !strings.HasPrefix(r.body, `<r more="1">Welcome`) {
		t.Errorf("%+v", r)
	}
	// The limit is told in the dialect's own way too.
	for range 40 {
		send("")
	}
	if r := g.do(http.MethodPost, "/api/ussd/own", "application/json", "{}"); r.status != http.StatusTooManyRequests ||
		!strings.HasPrefix(r.body, `{"go":false,"say":"Service temporarily`) || r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
}
