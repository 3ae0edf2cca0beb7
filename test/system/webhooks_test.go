package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooktest"
)

// heard is what a receiver was told: the ids under which it heard of each session.
type heard struct {
	sync.Mutex
	ids   map[string]map[string]bool
	times int
}

func (h *heard) take(d webhooktest.Delivery) error {
	var body struct {
		Type string
		Data struct{ SessionID string }
	}
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return err
	}
	h.Lock()
	defer h.Unlock()
	h.times++
	if h.ids[body.Data.SessionID] == nil {
		h.ids[body.Data.SessionID] = map[string]bool{}
	}
	h.ids[body.Data.SessionID][d.Header.Get("Webhook-Id")] = true
	return nil
}

// Every session is told of, whenever all nodes are killed: right after they said
// that it is made, or while the receiver has the event and they wait for its
// answer. What comes twice has one id.
func TestWebhooksSurviveKills(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		to := webhooktest.NewReceiver(t)
		alice := newChatter(t, w, identitytest.NewActor("webhooks"))
		made := alice.do(t, w.Node(0), http.MethodPost, "/api/webhooks", `{"url":"`+to.URL+`","events":["session.created"]}`)
		var hook struct{ ID string }
		if made.JSON(t, &hook); made.Status != http.StatusCreated {
			t.Fatalf("%d %s", made.Status, made.Body)
		}
		kill := func() {
			for _, n := range w.Nodes {
				n.Kill()
			}
		}
		revive := func() {
			for _, n := range w.Nodes {
				n.Start()
			}
			for _, n := range w.Nodes {
				n.WaitReady()
			}
		}
		got := heard{ids: map[string]map[string]bool{}}
		var sessions []string
		create := func(node int) {
			var s struct{ SessionID string }
			alice.do(t, w.Node(node), http.MethodPost, "/sessions", "{}").JSON(t, &s)
			sessions = append(sessions, s.SessionID)
		}
		// All is lost between the receiver's reading and its answer.
		killed := make(chan struct{})
		to.Answer(http.StatusNoContent, sync.OnceFunc(func() { kill(); close(killed) }))
		create(0)
		if err := got.take(<-to.Got); err != nil {
			t.Fatal(err)
		}
		<-killed
		revive()
		if err := got.take(<-to.Got); err != nil { // the same again
			t.Fatal(err)
		}
		// All is lost right after the answer.
		for i := range 3 {
			create(i)
			kill()
			revive()
		}
		Eventually(t, "every session is told of", func() error {
			for len(to.Got) > 0 {
				if err := got.take(<-to.Got); err != nil {
					return err
				}
			}
			if len(got.ids) < len(sessions) {
				return fmt.Errorf("told of %d of %d", len(got.ids), len(sessions))
			}
			var log struct {
				Deliveries []struct{ State string }
			}
			alice.do(t, w.Node(1), http.MethodGet, "/api/webhooks/"+hook.ID+"/deliveries?state=delivered", "").JSON(t, &log)
			if len(log.Deliveries) != len(sessions) {
				return fmt.Errorf("%d of %d are noted", len(log.Deliveries), len(sessions))
			}
			return nil
		})
		for _, s := range sessions {
			if len(got.ids[s]) != 1 {
				t.Errorf("session %s was told of under %v", s, got.ids[s])
			}
		}
		if got.times <= len(sessions) {
			t.Errorf("%d deliveries of %d events: none came twice", got.times, len(sessions))
		}
	}, "WEBHOOKS_ALLOW_PRIVATE=true")
}
