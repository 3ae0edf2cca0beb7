package webhook_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/webhook"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://Example.ORG/Hook?a=b": "https://example.org/Hook?a=b", "https://example.org:8443": "https://example.org:8443",
		"http://example.org/": "", "ftp://example.org/": "", "https://": "", "https:example.org": "", "": "", "example.org/hook": "",
		"https://user@example.org/": "", "https://user:pw@example.org/": "", "https://example.org/#x": "", "https://example.org/#": "",
		"https://exämple.org/": "", "https://example.org/\x00": "", "https://a b/": "", "https://example.org/" + strings.Repeat("x", 2048): "",
		"//example.org/": "", "https://example.org:x/": "", "javascript:alert(1)": "",
	} {
		u, err := webhook.ParseURL(text, false)
		switch {
		case want == "" && !fault.Is(err, fault.Invalid):
			t.Errorf("%.60q was taken: %v", text, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
	if _, err := webhook.ParseURL("http://127.0.0.1:99/x", true); err != nil {
		t.Error(err)
	}
}

func TestChosenEvents(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{
		nil,
		{""},
		{"run"},
		{"run."},
		{"r*"},
		{"nothing.*"},
		{"run.finished "},
		{"**"},
		{"Run.finished"},
		make([]string, 33),
	} {
		if _, err := webhook.ParseEvents(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q were taken: %v", bad, err)
		}
	}
	for name, want := range map[string]bool{"run.finished": true, "run.failed": true, "session.titled": true, "session.created": false, "runs.x": false} {
		if webhook.Chosen([]string{"run.*", "session.titled"}, name) != want {
			t.Errorf("%s: want %t", name, want)
		}
	}
	for _, one := range webhook.Types() {
		if got, err := webhook.ParseEvents([]string{one.Name}); err != nil || !webhook.Chosen(got, one.Name) ||
			!webhook.Chosen([]string{"*"}, one.Name) {
			t.Errorf("%s: %v %v", one.Name, got, err)
		}
	}
	if _, err := webhook.NewEvent("did:x", "nothing.happened", time.Now(), nil); err == nil {
		t.Error("an unknown event was made")
	}
}

type nowhere struct{ webhook.Sender }

func (nowhere) CheckHost(context.Context, string) error { return errors.New("not there") }

func TestPrivateHostsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s, err := webhook.New(webhook.Deps{Sender: nowhere{}, Key: []byte("key")})
	if err != nil {
		t.Fatal(err)
	}
	address := "https://example.org/"
	if _, _, err := s.Add(t.Context(), "did:x", webhook.NewEndpoint{URL: address, Events: []string{"*"}}); !fault.Is(err,
		fault.Invalid) {
		t.Errorf("made: %v", err)
	}
	if _, err := s.Change(t.Context(), "did:x", "ep_1", webhook.Change{URL: &address}); !fault.Is(err, fault.Invalid) {
		t.Errorf("changed: %v", err)
	}
	if _, err := webhook.New(webhook.Deps{}); err == nil {
		t.Error("there is no key to seal with")
	}
}

func TestIDsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	e, err := webhook.NewEvent("did:x", webhook.TypeTest, time.Now(), nil)
	if err != nil || !webhook.PlausibleID(webhook.EventPrefix, e.ID) {
		t.Fatalf("%q %v", e.ID, err)
	}
	for _, other := range []string{
		strings.ToLower(e.ID), e.ID + "=", e.ID[1:], " " + e.ID, e.ID + "\x00",
		strings.Replace(e.ID, "evt_", "ep_", 1), "", "evt_",
	} {
		if webhook.PlausibleID(webhook.EventPrefix, other) {
			t.Errorf("%q is an id too", other)
		}
	}
}

// The reference page has a row for every event, with its data.
func TestTheReferenceListsEveryEvent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range webhook.Types() {
		data := "`" + strings.ReplaceAll(one.Data, ", ", "`, `") + "`"
		if row := "| `" + one.Name + "` | " + one.Doc + " | " + data + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/webhooks.md has no row\n%s", row)
		}
	}
}
