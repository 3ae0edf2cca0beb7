package ussdsmshttp_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmshttp"
)

// box is a store that keeps what comes in.
type box struct {
	ussdsms.Store
	got      []ussdsms.Incoming
	reported []ussdsms.Report
}

func (b *box) Report(_ context.Context, r ussdsms.Report) (ussdsms.Kind, error) {
	b.reported = append(b.reported, r)
	return ussdsms.KindCode, nil
}

func (b *box) Receive(_ context.Context, in ussdsms.Incoming) (bool, error) {
	b.got = append(b.got, in)
	return true, nil
}

type nobody struct{}

func (nobody) Sent(ussdsms.Kind, string, int, ussdsms.Cost, time.Duration) {}
func (nobody) Received()                                                   {}
func (nobody) Reported(ussdsms.Kind, ussdsms.State)                        {}

type door struct {
	*httpserver.Server
	box *box
	log *bytes.Buffer
}

func newDoor(t *testing.T, d ussdsmshttp.Deps) door {
	t.Helper()
	out := door{box: &box{}, log: &bytes.Buffer{}}
	if d.Gateway != "" {
		d.Service = ussdsms.New(ussdsms.Deps{
			Store: out.box, Observer: nobody{}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		})
	}
	var err error
	out.Server, err = httpserver.New(httpserver.Config{
		PublicURL: func() string { return "https://castalia.example/" },
		Logger:    slog.New(slog.NewJSONHandler(out.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Mount(ussdsmshttp.Surface(d)); err != nil {
		t.Fatal(err)
	}
	return out
}

func (d door) post(t *testing.T, target, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func sign(token, address string, form url.Values) string {
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	mac := hmac.New(sha1.New, []byte(token))
	_, _ = io.WriteString(mac, address)
	for _, name := range names {
		_, _ = io.WriteString(mac, name+form.Get(name))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestTwilioProvesItself(t *testing.T) {
	t.Parallel()
	d := newDoor(t, ussdsmshttp.Deps{Gateway: "twilio", Tokens: []string{"12345"}})
	form := url.Values{"MessageSid": {"SM1"}, "From": {"+254700000001"}, "To": {"+15005550006"}, "Body": {"When to plant maize?"}, "NumMedia": {"0"}, "FromCity": {""}}
	const path, address = "/api/sms/twilio", "https://castalia.example/api/sms/twilio"
	status, body := d.post(t, path, form.Encode(), "X-Twilio-Signature", sign("12345", address, form))
	if status != http.StatusOK || !strings.Contains(body, "<Response>") || len(d.box.got) != 1 ||
		d.box.got[0].ID != "twilio:SM1" || d.box.got[0].Text != "When to plant maize?" {
		t.Fatalf("%d %s %+v", status, body, d.box.got)
	}
	good := sign("12345", address, form)
	other := url.Values{"MessageSid": {"SM1"}, "From": {"+254700000002"}, "To": {"+15005550006"}, "Body": {"When to plant maize?"}, "NumMedia": {"0"}, "FromCity": {""}}
	for name, c := range map[string]struct{ target, body, signature string }{
		"no signature":       {path, form.Encode(), ""},
		"another token":      {path, form.Encode(), sign("54321", address, form)},
		"another address":    {path, form.Encode(), sign("12345", "https://evil.example/api/sms/twilio", form)},
		"another query":      {path + "?x=1", form.Encode(), good},
		"another sender":     {path, other.Encode(), good},
		"a field more":       {path, form.Encode() + "&A=1", good},
		"not base64":         {path, form.Encode(), "!" + good},
		"half of it":         {path, form.Encode(), good[:12]},
		"an empty signature": {path, form.Encode(), base64.StdEncoding.EncodeToString(nil)},
	} {
		if status, body := d.post(t, c.target, c.body, "X-Twilio-Signature", c.signature); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	twice := form.Encode() + "&From=%2B254700000009"
	if status, _ := d.post(t, path, twice, "X-Twilio-Signature", good); status != http.StatusBadRequest {
		t.Errorf("a field twice: %d", status)
	}
	if status, _ := d.post(t, path, form.Encode(), "X-Twilio-Signature", good, "Content-Type",
		"application/json"); status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", status)
	}
	if status, _ := d.post(t, "/api/sms/africastalking?secret=", "id=1&from=%2B254700000001&text=x"); status != http.StatusNotFound {
		t.Errorf("the other gateway: %d", status)
	}
	if len(d.box.got) != 1 || strings.Contains(d.log.String(), "25470000000") {
		t.Errorf("%+v\n%s", d.box.got, d.log)
	}
}

// While a credential is changed the gateway may prove itself with either; what is empty
// proves nothing.
func TestEitherCredentialCountsWhileItIsChanged(t *testing.T) {
	t.Parallel()
	at := newDoor(t, ussdsmshttp.Deps{Gateway: "africastalking", Secrets: []string{"a-word-that-both-know", "", "the-word-of-last-year"}})
	tw := newDoor(t, ussdsmshttp.Deps{Gateway: "twilio", Tokens: []string{"12345", "", "54321"}})
	form := url.Values{"MessageSid": {"SM1"}, "MessageStatus": {"delivered"}}
	const path = "/api/sms/twilio/reports"
	for credential, want := range map[string]int{"12345": http.StatusOK, "54321": http.StatusOK, "": http.StatusForbidden, "1234": http.StatusForbidden} {
		signature := sign(credential, "https://castalia.example"+path, form)
		if status, _ := tw.post(t, path, form.Encode(), "X-Twilio-Signature", signature); status != want {
			t.Errorf("token %q: %d", credential, status)
		}
	}
	for credential, want := range map[string]int{
		"a-word-that-both-know": http.StatusOK, "the-word-of-last-year": http.StatusOK, "": http.StatusForbidden, "a-word": http.StatusForbidden,
	} {
		if status, _ := at.post(t, "/api/sms/africastalking/reports?secret="+credential, "id=1&status=Success"); status != want {
			t.Errorf("secret %q: %d", credential, status)
		}
	}
	none := newDoor(t, ussdsmshttp.Deps{Gateway: "africastalking", Secrets: []string{"", ""}})
	if status, _ := none.post(t, "/api/sms/africastalking?secret=", "id=1&from=%2B254700000001&text=x"); status != http.StatusNotFound {
		t.Errorf("without a secret: %d", status)
	}
}

// The example of Twilio's own documentation and libraries.
func TestTwilioExample(t *testing.T) {
	t.Parallel()
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+12349013030"}, "Digits": {"1234"}, "From": {"+12349013030"}, "To": {"+18005551212"}}
	if got := sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "0/KCTR6DLpKmkAf8muzZqo1nDgQ=" {
		t.Error(got)
	}
}

func TestAfricasTalkingKnowsTheSecret(t *testing.T) {
	t.Parallel()
	const path, body = "/api/sms/africastalking", "id=9a1&from=%2B254700000001&to=2233&text=Habari%3F&date=2026-11-17+07%3A00%3A00&linkId="
	d := newDoor(t, ussdsmshttp.Deps{Gateway: "africastalking", Secrets: []string{"a-word-that-both-know"}})
	for _, query := range []string{"", "?secret=", "?secret=a-word", "?secret=a-word-that-both-knoW"} {
		if status, _ := d.post(t, path+query, body); status != http.StatusForbidden {
			t.Errorf("%s: %d", query, status)
		}
	}
	if status, text := d.post(t, path+"?secret=a-word-that-both-know", body); status != http.StatusOK ||
		len(d.box.got) != 1 || d.box.got[0].Text != "Habari?" {
		t.Errorf("%d %s %+v", status, text, d.box.got)
	}
	if log := d.log.String(); strings.Contains(log, "25470000000") || strings.Contains(log, "a-word") ||
		strings.Contains(log, "Habari") {
		t.Error(log)
	}
	// Without a secret nobody could prove anything, and without a gateway nobody is there.
	for name, deps := range map[string]ussdsmshttp.Deps{"no secret": {Gateway: "africastalking"}, "no gateway": {Secrets: []string{"a-word-that-both-know"}}} {
		if status, _ := newDoor(t, deps).post(t, path+"?secret="+strings.Join(deps.Secrets, ""), body); status != http.StatusNotFound {
			t.Errorf("%s: %d", name, status)
		}
	}
}

// Reports come from who proves to be the gateway, and tell of the end alone; nothing else of
// them is kept.
func TestGatewaysReport(t *testing.T) {
	t.Parallel()
	at := newDoor(t, ussdsmshttp.Deps{Gateway: "africastalking", Secrets: []string{"a-word-that-both-know"}})
	const atPath, twPath = "/api/sms/africastalking/reports", "/api/sms/twilio/reports"
	for _, body := range []string{
		"id=ATXid_1&status=Sent&phoneNumber=%2B254700000001", "id=ATXid_1&status=Buffered", "id=ATXid_1&status=Success&phoneNumber=%2B254700000001&networkCode=63902",
		"id=ATXid_2&status=Failed&failureReason=UserIsInactive", "id=ATXid_3&status=AbsentSubscriber&failureReason=call+%2B254700000001+later",
	} {
		if status, text := at.post(t, atPath+"?secret=a-word-that-both-know", body); status != http.StatusOK {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	tw := newDoor(t, ussdsmshttp.Deps{Gateway: "twilio", Tokens: []string{"12345"}})
	for _, form := range []url.Values{
		{"MessageSid": {"SM1"}, "MessageStatus": {"sent"}},
		{"MessageSid": {"SM1"}, "MessageStatus": {"delivered"}, "To": {"+254700000001"}},
		{"MessageSid": {"SM2"}, "MessageStatus": {"undelivered"}, "ErrorCode": {"30003"}},
	} {
		if status, text := tw.post(t, twPath, form.Encode(), "X-Twilio-Signature", sign("12345", "https://castalia.example"+twPath, form)); status != http.StatusOK {
			t.Errorf("%v: %d %s", form, status, text)
		}
	}
	for _, got := range []struct{ is, want []ussdsms.Report }{
		{at.box.reported, []ussdsms.Report{
			{Reference: "ATXid_1", State: ussdsms.Delivered},
			{Reference: "ATXid_2", State: ussdsms.Undelivered, Why: "UserIsInactive"},
			{Reference: "ATXid_3", State: ussdsms.Undelivered},
		}},
		{tw.box.reported, []ussdsms.Report{
			{Reference: "SM1", State: ussdsms.Delivered}, {Reference: "SM2", State: ussdsms.Undelivered, Why: "30003"},
		}},
	} {
		if !slices.Equal(got.is, got.want) {
			t.Errorf("%+v, want %+v", got.is, got.want)
		}
	}
	form := url.Values{"MessageSid": {"SM1"}, "MessageStatus": {"delivered"}}
	for name, try := range map[string]func() (int, string){
		"a wrong secret": func() (int, string) { return at.post(t, atPath+"?secret=a-word", "id=ATXid_1&status=Success") },
		"a wrong signature": func() (int, string) {
			return tw.post(t, twPath, form.Encode(), "X-Twilio-Signature", sign("1", "https://castalia.example"+twPath, form))
		},
		"of another address": func() (int, string) {
			return tw.post(t, twPath, form.Encode(), "X-Twilio-Signature", sign("12345", "https://castalia.example/api/sms/twilio", form))
		},
		"another gateway":      func() (int, string) { return at.post(t, twPath, form.Encode()) },
		"the other gateway":    func() (int, string) { return tw.post(t, atPath+"?secret=", "id=1&status=Success") },
		"no name of a message": func() (int, string) { return at.post(t, atPath+"?secret=a-word-that-both-know", "status=Success") },
	} {
		status, _ := try()
		if !slices.Contains([]int{http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest}, status) {
			t.Errorf("%s: %d", name, status)
		}
	}
	if len(at.box.reported) != 3 || len(tw.box.reported) != 2 || strings.Contains(at.log.String()+tw.log.String(), "25470000000") {
		t.Errorf("%+v %+v\n%s%s", at.box.reported, tw.box.reported, at.log, tw.log)
	}
}
