package ussdsmssend_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmssend"
)

// gateway answers one thing and remembers what it was asked.
func gateway(t *testing.T, status int, body string) (*httptest.Server, *http.Request) {
	t.Helper()
	seen := &http.Request{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		*seen = *r
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(web.Close)
	return web, seen
}

func sender(t *testing.T, kind, base, from string) *ussdsmssend.Sender {
	t.Helper()
	s, err := ussdsmssend.New(ussdsmssend.Config{
		Gateway: kind, Base: base, Account: "acc", Key: "key", From: from, Plain: true, Client: http.DefaultClient,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var message = ussdsms.Message{ID: "code/1", Kind: ussdsms.KindCode, Phone: "+254700000001", Text: "Hujambo & karibu"}

func TestAfricasTalkingIsAskedInItsForm(t *testing.T) {
	t.Parallel()
	web, seen := gateway(t, http.StatusCreated, `{"SMSMessageData":{"Message":"Sent to 1/1 Total Cost: KES 0.8000",
		"Recipients":[{"statusCode":101,"number":"+254700000001","status":"Success","cost":"KES 0.8000","messageId":"ATXid_1"}]}}`)
	sent, err := sender(t, ussdsmssend.AfricasTalking, web.URL, "2233").Send(t.Context(), message)
	if err != nil || sent.Reference != "ATXid_1" || sent.Cost != (ussdsms.Cost{Micros: 800_000, Currency: "KES"}) {
		t.Errorf("%+v %v", sent, err)
	}
	if f := seen.Form; seen.URL.Path != "/version1/messaging" || seen.Header.Get("apiKey") != "key" || seen.Header.Get("Idempotency-Key") != "code/1" ||
		f.Get("username") != "acc" || f.Get("to") != message.Phone || f.Get("message") != message.Text || f.Get("from") != "2233" {
		t.Errorf("%s %v %v", seen.URL, seen.Header, f)
	}
}

func TestTwilioIsAskedInItsForm(t *testing.T) {
	t.Parallel()
	web, seen := gateway(t, http.StatusCreated, `{"sid":"SM1","status":"queued","num_segments":"2","price":"-0.0150","price_unit":"USD","error_code":null}`)
	sent, err := sender(t, ussdsmssend.Twilio, web.URL, "+15005550006").Send(t.Context(), message)
	if err != nil ||
		sent != (ussdsms.Sent{Reference: "SM1", Parts: 2, Cost: ussdsms.Cost{Micros: 15_000, Currency: "USD"}}) {
		t.Errorf("%+v %v", sent, err)
	}
	user, token, _ := seen.BasicAuth()
	if f := seen.Form; seen.URL.Path != "/2010-04-01/Accounts/acc/Messages.json" || user != "acc" || token != "key" ||
		f.Get("To") != message.Phone || f.Get("Body") != message.Text || f.Get("From") != "+15005550006" || f.Has("MessagingServiceSid") {
		t.Errorf("%s %v", seen.URL, f)
	}
	web, seen = gateway(t, http.StatusCreated, `{"sid":"SM2","num_segments":"1","price":null}`)
	sent, err = sender(t, ussdsmssend.Twilio, web.URL, "MG1").Send(t.Context(), message)
	if err != nil || sent != (ussdsms.Sent{Reference: "SM2", Parts: 1}) || seen.Form.Get("MessagingServiceSid") != "MG1" ||
		seen.Form.Has("From") {
		t.Errorf("%+v %v %v", sent, err, seen.Form)
	}
}

// Twilio is told where to report, and Africa's Talking, which knows it by itself, is not.
func TestReportsHaveAnAddress(t *testing.T) {
	t.Parallel()
	const address = "https://castalia.example/api/sms/twilio/reports"
	for kind, want := range map[string]string{ussdsmssend.Twilio: address, ussdsmssend.AfricasTalking: ""} {
		web, seen := gateway(t, http.StatusCreated, `{}`)
		s, err := ussdsmssend.New(ussdsmssend.Config{
			Gateway: kind, Base: web.URL, Account: "acc", Key: "key", From: "2233", Plain: true,
			Client: http.DefaultClient, Reports: address,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Send(t.Context(), message) // what it was asked counts
		if got := seen.Form.Get("StatusCallback"); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// What is tried again, what is not, and that nobody is named.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	at := func(code int) string {
		b, _ := json.Marshal(map[string]any{"SMSMessageData": map[string]any{"Recipients": []any{map[string]any{
			"statusCode": code, "number": message.Phone,
		}}}})
		return string(b)
	}
	for _, c := range []struct {
		kind   string
		status int
		body   string
		want   string // sent, again, never
	}{
		{ussdsmssend.AfricasTalking, 201, at(100), "sent"},
		{ussdsmssend.AfricasTalking, 201, at(102), "sent"},
		{ussdsmssend.AfricasTalking, 201, `not JSON`, "sent"},
		{ussdsmssend.AfricasTalking, 201, at(403), "never"},
		{ussdsmssend.AfricasTalking, 201, at(406), "never"},
		{ussdsmssend.AfricasTalking, 201, at(405), "again"},
		{ussdsmssend.AfricasTalking, 201, `{"SMSMessageData":{"Message":"InvalidSenderId","Recipients":[]}}`, "never"},
		{ussdsmssend.AfricasTalking, 401, `The supplied authentication is invalid`, "again"},
		{ussdsmssend.AfricasTalking, 503, ``, "again"},
		{ussdsmssend.Twilio, 400, `{"code":21211,"message":"The 'To' number +254700000001 is not a valid phone number.","status":400}`, "never"},
		{ussdsmssend.Twilio, 429, `{"code":20429}`, "again"},
		{ussdsmssend.Twilio, 500, ``, "again"},
		{ussdsmssend.Twilio, 302, ``, "again"},
		{ussdsmssend.Twilio, 201, ``, "sent"},
	} {
		web, _ := gateway(t, c.status, c.body)
		_, err := sender(t, c.kind, web.URL, "2233").Send(t.Context(), message)
		_, never := errors.AsType[*ussdsms.RefusedError](err)
		got := map[bool]string{true: "sent", false: "again"}[err == nil]
		if never {
			got = "never"
		}
		if got != c.want || err != nil && strings.Contains(err.Error(), "254700") {
			t.Errorf("%s %d %s: %s, %v", c.kind, c.status, c.body, got, err)
		}
	}
}

func TestPrivateGatewaysAndBadSettings(t *testing.T) {
	t.Parallel()
	web, _ := gateway(t, http.StatusCreated, "")
	errPrivate := errors.New("refused")
	dialer := &net.Dialer{Control: func(string, string, syscall.RawConn) error { return errPrivate }}
	guarded := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	s, err := ussdsmssend.New(ussdsmssend.Config{
		Gateway: ussdsmssend.Twilio, Base: web.URL, Account: "a", Key: "k",
		From: "1", Plain: true, Client: guarded, Refused: errPrivate,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), message); err == nil || !strings.Contains(err.Error(), "private") ||
		strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a private address: %v", err)
	}
	good := ussdsmssend.Config{Gateway: ussdsmssend.Twilio, Account: "a", Key: "k", From: "1", Client: http.DefaultClient}
	for name, change := range map[string]func(*ussdsmssend.Config){
		"plain HTTP": func(c *ussdsmssend.Config) { c.Base = "http://sms.example" }, "a user": func(c *ussdsmssend.Config) { c.Base = "https://user@sms.example" },
		"no key": func(c *ussdsmssend.Config) {
			c.Key = ""
		}, "no account": func(c *ussdsmssend.Config) { c.Account = "" }, "no sender": func(c *ussdsmssend.Config) { c.From = "" },
	} {
		cfg := good
		change(&cfg)
		if _, err := ussdsmssend.New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestCosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"KES 0.8000": 800_000, "USD 12": 12_000_000, "UGX 0.000001": 1, "KES 1.": 1_000_000} {
		if c, err := ussdsmssend.ParseCost(text); err != nil || c.Micros != want || c.Currency != text[:3] {
			t.Errorf("%s: %+v %v", text, c, err)
		}
	}
	for _, text := range []string{"", "KES", "KES ", "kes 1", "KES -1", "KES 1.0000000", "KES 1.2.3", "KES 9999999", "KES x", "KES .5"} {
		if c, err := ussdsmssend.ParseCost(text); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(201, `{"sid":"SM1","num_segments":"2"}`)
	f.Add(201, `{"SMSMessageData":{"Recipients":[{"statusCode":101,"cost":"KES 0.8000"}]}}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, read := range []func(int, []byte) (ussdsms.Sent, error){
			ussdsmssend.ReadTwilio,
			ussdsmssend.ReadAfricasTalking,
		} {
			sent, err := read(status, []byte(body))
			if err == nil && status != 200 && status != 201 || sent.Parts < 0 || sent.Parts > 100 || sent.Cost.Micros < 0 ||
				len(sent.Reference) > 100 {
				t.Errorf("%+v %v", sent, err)
			}
		}
	})
}
