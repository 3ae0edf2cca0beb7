package cli_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/webhook/webhooktest"
)

func TestWebhooksFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, filepath.Join(dir, "data"), "WEBHOOKS_ALLOW_PRIVATE=true")
	key := filepath.Join(dir, "me.key")
	mustRun(t, "key", "new", "--out", key)
	hook := func(args ...string) string {
		return mustRun(t, append(append([]string{"webhook"}, args...), "--server", addressIn(t, s.out.String()), "--key", key)...)
	}
	to := webhooktest.NewReceiver(t)
	id, secret, ok := strings.Cut(hook("add", to.URL, "session.*", "webhook.test", "--note", "mine"), "\n")
	if !ok || !strings.HasPrefix(id, "ep_") || !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("%q %q", id, secret)
	}
	if list := hook("ls"); !strings.Contains(list, id) || !strings.Contains(list, "active") ||
		!strings.Contains(list, "mine") || strings.Contains(list, "whsec_") {
		t.Error(list)
	}
	if told := hook("test", id); !strings.Contains(told, "it answered 204") {
		t.Error(told)
	}
	event := (<-to.Got).Header.Get("Webhook-Id")
	if log := hook("log", id); !strings.Contains(log, event) || !strings.Contains(log, "delivered") {
		t.Error(log)
	}
	hook("replay", id, event)
	if again := (<-to.Got).Header.Get("Webhook-Id"); again != event {
		t.Error(again)
	}
	if said := hook("replay", id, "--since", "1h", "--delivered"); said != "1 event queued" {
		t.Error(said)
	}
	if again := hook("rotate", id); !strings.HasPrefix(again, "whsec_") || again == secret {
		t.Error(again)
	}
	if said := hook("pause", id); said != id+" is paused" {
		t.Error(said)
	}
	if said := hook("resume", id); said != id+" is active" {
		t.Error(said)
	}
	to.Answer(http.StatusTeapot, nil)
	if _, errs, code := castalia(t, "webhook", "test", id, "--server", addressIn(t, s.out.String()), "--key",
		key); code == 0 || !strings.Contains(errs, "it answered 418") {
		t.Error(errs)
	}
	hook("rm", id)
	if list := hook("ls"); list != "" {
		t.Error(list)
	}
	for _, args := range [][]string{{"webhook"}, {"webhook", "add", "x"}, {"webhook", "dance"}, {"webhook", "replay", id}} {
		if _, errs, code := castalia(t, append(args, "--key", key, "--server", addressIn(t, s.out.String()))...); code != 2 {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}
