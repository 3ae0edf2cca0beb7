package ussdhttp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
)

// TestOnlyListedGatewaysReachTheMenu: on every path of gateways, by the address that
// a believed proxy tells, and nobody else moves a session.
func TestOnlyListedGatewaysReachTheMenu(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, key := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "key")
	for file, text := range map[string]string{
		key:  "a-word-that-both-know",
		list: "gateways: {session: {addresses: [203.0.113.0/24]}, advanta: {secret: {query: key, file: " + key + "}}, hubtel: {addresses: [203.0.113.5]}}",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gate, err := ussdgate.Read(list, append(ussd.Dialects(), "advanta"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{gate: gate, proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	const body = `{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`
	if r := g.do(http.MethodPost, "/api/ussd", "application/json", body, "X-Forwarded-For", "203.0.113.9"); r.status != 200 || r.body != welcome {
		t.Errorf("%+v", r)
	}
	for _, tc := range []struct{ method, path, from string }{
		{http.MethodPost, "/api/ussd", "198.51.100.1"},
		{http.MethodPost, "/api/ussd", "203.0.113.9, 198.51.100.1"},
		{http.MethodPost, "/api/ussd/hubtel", "203.0.113.9"},
		{http.MethodPost, "/api/ussd/nalo", "203.0.113.9"},
		{http.MethodPost, "/api/ussd/africastalking/events", "203.0.113.9"},
		{http.MethodPut, "/api/ussd/infobip/session/1/end", "203.0.113.9"},
		{http.MethodGet, "/api/ussd/advanta?key=wrong&SESSIONID=1&MSISDN=254700000001&USSDCODE=*1%23&INPUT=", "203.0.113.9"},
	} {
		if r := g.do(tc.method, tc.path, "application/json", body, "X-Forwarded-For",
			tc.from); r.status != http.StatusForbidden || strings.Contains(r.body, "END") || strings.Contains(r.body, "Welcome") {
			t.Errorf("%+v: %+v", tc, r)
		}
	}
	if r := g.do(http.MethodGet, "/api/ussd/advanta?key=a-word-that-both-know&SESSIONID=1&MSISDN=254700000001&USSDCODE=*1%23&INPUT=", "", ""); r.status != 200 || r.body != welcome {
		t.Errorf("%+v", r)
	}
	if r := g.get("/operator/ussd/refusals"); !strings.Contains(r.body, `"field":"address"`) ||
		!strings.Contains(r.body, `"field":"secret"`) || !strings.Contains(r.body, `"field":"gateway"`) {
		t.Errorf("%+v", r)
	}
	if r := g.get("/operator/ussd/sessions"); !strings.Contains(r.body, `"count":2`) {
		t.Errorf("%+v", r)
	}
	if strings.Contains(g.log.String(), "both-know") || strings.Contains(g.log.String(), "wrong") {
		t.Error("a secret is in the log")
	}
}

// A signature covers what the gateway says, also where that is in the query of a POST:
// one that was heard once is not good for other words.
func TestSignaturesCoverTheFields(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, key, dialect := filepath.Join(dir, "g.yaml"), filepath.Join(dir, "key"), filepath.Join(dir, "ours.yaml")
	const word = "a-word-that-both-know"
	for file, text := range map[string]string{
		key:     word,
		list:    "gateways: {ours: {signature: {header: X-Signature, algorithm: sha256, encoding: hex, file: " + key + "}}}",
		dialect: "name: ours\nrequest: {method: POST, fields: query, session: s, phone: p, input: i, typed: all}\nanswer: {media: text/plain, continue: \"CON {{text}}\", end: \"END {{text}}\"}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gate, err := ussdgate.Read(list, []string{"ours"})
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, options{gate: gate, files: []string{dialect}})
	sign := func(text string) string {
		h := hmac.New(sha256.New, []byte(word))
		_, _ = h.Write([]byte(text))
		return hex.EncodeToString(h.Sum(nil))
	}
	const query = "s=1&p=254700000001&i="
	for signature, status := range map[string]int{
		sign(query): http.StatusOK, sign(""): http.StatusForbidden,
		sign("s=1&p=254700000002&i="): http.StatusForbidden,
	} {
		if r := g.do(http.MethodPost, "/api/ussd/ours?"+query, "", "", "X-Signature", signature); r.status != status {
			t.Errorf("%d instead of %d: %s", r.status, status, r.body)
		}
	}
}
