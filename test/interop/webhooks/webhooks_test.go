package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksend"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooktest"
)

// The receiver of the guide takes what we send, under the old and the new secret
// alike, and nothing that was changed.
func TestTheLibraryTakesOurs(t *testing.T) {
	t.Parallel()
	db := webhooktest.Migrated(t, sqldbtest.SQLite(t))
	store := webhooksql.New(db, queue.Config{})
	svc, err := webhook.New(webhook.Deps{
		Store: store, Sender: webhooksend.New(webhooksend.Config{Client: &http.Client{}}), Key: bytes.Repeat([]byte{9}, 32),
		Plain: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	to := webhooktest.NewReceiver(t)
	e, old, err := svc.Add(t.Context(), "did:x:a", webhook.NewEndpoint{URL: to.URL, Events: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := svc.Rotate(t.Context(), "did:x:a", e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		return store.Emit(ctx, tx, "did:x:a", "run.finished", time.Now(), map[string]string{"runId": "r1"})
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	working.Go(func() { _ = svc.Run(ctx) })
	sent := <-to.Got
	for name, secret := range map[string]webhook.Secret{"old": old, "new": renewed} {
		var got []string
		handler, err := Receiver(secret.Reveal(), func(id string, body []byte) {
			var event struct {
				Type string
				Data struct{ RunID string }
			}
			if err := json.Unmarshal(body, &event); err != nil {
				t.Error(err)
			}
			got = append(got, event.Type+" "+event.Data.RunID)
		})
		if err != nil {
			t.Fatal(err)
		}
		deliver := func(body []byte, change func(http.Header)) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
			r.Header = sent.Header.Clone()
			if change != nil {
				change(r.Header)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		for range 2 { // the same delivery again
			if code := deliver(sent.Body, nil); code != http.StatusNoContent {
				t.Errorf("%s secret: %d", name, code)
			}
		}
		for what, code := range map[string]int{
			"another body": deliver(append([]byte(" "), sent.Body...), nil),
			"another id":   deliver(sent.Body, func(h http.Header) { h.Set("webhook-id", "evt_AAAAAAAAAAAAAAAAAAAAAAAAAA") }),
			"an old time":  deliver(sent.Body, func(h http.Header) { h.Set("webhook-timestamp", "1700000000") }),
			"no signature": deliver(sent.Body, func(h http.Header) { h.Del("webhook-signature") }),
		} {
			if code != http.StatusBadRequest {
				t.Errorf("%s secret, %s: %d", name, what, code)
			}
		}
		if len(got) != 1 || got[0] != "run.finished r1" {
			t.Errorf("handled %v", got)
		}
	}
}

// The guide shows this receiver, word for word.
func TestTheGuideShowsTheReceiver(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("receiver.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../docs/guides/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(source), "func Receiver(")
	if function == "" || !strings.Contains(string(guide), "func Receiver("+function+"```") {
		t.Error("docs/guides/webhooks.md shows another receiver than receiver.go")
	}
}
