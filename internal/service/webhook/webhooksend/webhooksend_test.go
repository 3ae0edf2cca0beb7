package webhooksend_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksend"
)

var errRefused = errors.New("refused")

// guarded is a client that connects nowhere.
func guarded() *http.Client {
	dialer := &net.Dialer{Control: func(string, string, syscall.RawConn) error { return errRefused }}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

func TestWhatReceiversSeeAndSay(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/long":
			_, _ = w.Write([]byte(strings.Repeat("x", 600)))
		default:
			if r.Method != http.MethodPost || r.Header.Get("Webhook-Id") != "evt_1" || !strings.HasPrefix(r.Header.Get("User-Agent"), "Castalia-Webhooks/") {
				t.Errorf("%s %v", r.Method, r.Header)
			}
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte("no\x00 \xffé\n"))
		}
	}))
	defer web.Close()
	s := webhooksend.New(webhooksend.Config{Client: web.Client()})
	send := func(url string) (webhook.Answer, error) {
		return s.Send(t.Context(), webhook.Request{URL: url, Header: map[string]string{"Webhook-Id": "evt_1"}, Body: []byte("{}")})
	}
	if a, err := send(web.URL + "/ok"); err != nil || a.Status != http.StatusTeapot || a.First != "no é\n" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := send(web.URL + "/away"); err != nil || a.Status != http.StatusFound {
		t.Errorf("a redirect: %+v %v", a, err)
	}
	if a, err := send(web.URL + "/long"); err != nil || len(a.First) != 512 {
		t.Errorf("a long answer: %d bytes, %v", len(a.First), err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	for url, want := range map[string]string{
		secure.URL: "the host's certificate is not good", "http://" + closed(t) + "/": "no connection",
	} {
		if _, err := send(url); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// closed is an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// A private address is refused at the connection, whatever its name said before,
// and when an endpoint is made.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	public, private := netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("10.0.0.1")
	s := webhooksend.New(webhooksend.Config{
		Client: guarded(), Refused: errRefused, Public: func(a netip.Addr) bool { return a == public },
		LookUp: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "error" {
				return nil, errors.New("no such host")
			}
			return map[string][]netip.Addr{"good": {public}, "bad": {private}, "mixed": {public, private}, "none": nil}[host], nil
		},
	})
	// One answer, or an owner could ask which names our network knows.
	const want = "the host cannot be reached on the public internet"
	for _, url := range []string{"http://127.0.0.1:9/", "http://nobody.invalid/"} {
		if _, err := s.Send(t.Context(), webhook.Request{URL: url}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := s.CheckHost(t.Context(), "good"); err != nil {
		t.Errorf("good: %v", err)
	}
	for _, host := range []string{"bad", "mixed", "none", "error"} {
		if err := s.CheckHost(t.Context(), host); err == nil || err.Error() != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}
