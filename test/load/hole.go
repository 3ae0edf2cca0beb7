package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
)

// hole is an address that takes every connection and every byte, and never answers:
// the program that a menu asks, and the gateway of text messages. It opens in the
// middle of the run, so that what others wait before and beside it stands in one table.
type hole struct {
	listener net.Listener
	taken    atomic.Int64 // connections
	open     atomic.Bool  // whether callers fall into it

	mu    sync.Mutex
	conns []net.Conn
}

const (
	holeCode   = "*666#"
	holeSecret = "a-word-that-both-know"
	// besideHole ends the names of steps that were meant to start while callers fell into the hole.
	besideHole = " beside the hole"
	holeMenu   = `
---
name: Hole
codes: ["*666#"]
languages: [en]
start: crop
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {crop: {max: 12}, price: {max: 8}}
screens:
  crop: {text: {en: "Crop?"}, exit: true, input: {var: crop, kind: name, max: 12, errors: {invalid: {en: Letters.}}, next: ask}}
  price: {end: true, text: {en: "{{crop}} is {{price}}."}}
  none: {end: true, text: {en: "No price."}}
  bye: {end: true, text: {en: Goodbye}}
actions:
  ask: {run: callWebhook, webhook: price, on: {ok: price, refused: none, promised: none, failed: none}}
webhooks:
  price: {endpoint: ENDPOINT, send: [crop], take: [price], once: true}
`
)

// dig makes a hole and tells the settings of a deployment that falls into it.
func dig(ctx context.Context, s *settings) (*hole, error) {
	if len(s.urls) > 0 {
		return nil, errors.New("-hole needs servers that the run starts itself")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hole{listener: listener}
	go h.swallow()
	s.env = append(s.env,
		"WEBHOOKS_ALLOW_PRIVATE=true", "SMS_GATEWAY=africastalking", "SMS_URL="+h.url(), "SMS_ALLOW_PRIVATE=true",
		"SMS_ACCOUNT=load", "SMS_KEY=of-a-load-test", "SMS_FROM=2233", "SMS_SECRET="+holeSecret, "SMS_DAY_PARTS=1000000",
	)
	return h, nil
}

func (h *hole) url() string { return "http://" + h.listener.Addr().String() + "/" }

func (h *hole) swallow() {
	for {
		c, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.taken.Add(1)
		h.mu.Lock()
		h.conns = append(h.conns, c)
		h.mu.Unlock()
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
}

func (h *hole) close() {
	_ = h.listener.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		_ = c.Close()
	}
}

// beside names a step by whether callers fall into the hole.
func (h *hole) beside(step string) string {
	if h == nil || !h.open.Load() || strings.HasPrefix(step, "hole.") {
		return step
	}
	return step + besideHole
}

// publish gives every node a menu whose program is the hole, beside the built-in one.
func (h *hole) publish(ctx context.Context, w *world) error {
	var hook struct{ ID string }
	body, err := json.Marshal(map[string]any{"url": h.url(), "events": []string{"menu.called"}})
	if err != nil {
		return err
	}
	if _, err := w.get(ctx, request{
		method: http.MethodPost, path: "/api/webhooks", body: body, media: "application/json", oracle: w.people[0],
	}, &hook); err != nil {
		return err
	}
	menu := string(ussd.DefaultMenuSource()) + strings.ReplaceAll(holeMenu, "ENDPOINT", hook.ID)
	if body, err = json.Marshal(map[string]string{"text": menu}); err != nil {
		return err
	}
	if _, err := w.get(ctx, request{
		method: http.MethodPut, path: "/operator/documents/menu", body: body, media: "application/json", match: `"0"`,
	}, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for node := range w.urls {
		for n := 0; ; n++ {
			session, phone := fmt.Sprintf("hole-%d-%d", node, n), fmt.Sprintf("+2549%09d", node)
			if w.hop(ctx, node, holeCode, session, phone, "", "CON Crop?") == nil {
				if err := w.hop(ctx, node, holeCode, session, phone, "*", "END Goodbye"); err != nil {
					return err
				}
				break
			}
			w.calls.unknown.Add(1) // the built-in menu answered, and waits
			select {
			case <-ctx.Done():
				return fmt.Errorf("node %d does not serve the menu: %w", node, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// fall lets callers in, from the middle of the run to its end: each asks the program
// that never answers, and sends a text message whose answer goes to the gateway that
// does not.
func (w *world) fall(ctx context.Context, start time.Time) {
	if w.hole == nil {
		return
	}
	begin := w.s.warmup + w.s.duration/2
	opens := time.AfterFunc(time.Until(start.Add(begin)), func() { w.hole.open.Store(true) })
	defer opens.Stop()
	var wait sync.WaitGroup
	defer wait.Wait()
	for a := range plan(w.s.hole, w.s.duration-w.s.duration/2, mix{names: []string{"hole"}, weights: []float64{1}}, w.s.seed) {
		j := &journey{w: w, a: a, r: a.rng(), due: start.Add(begin + a.at), node: a.n}
		if !j.wait(ctx) {
			return
		}
		wait.Go(func() { j.fall(ctx) })
	}
}

func (j *journey) fall(ctx context.Context) {
	session, phone := fmt.Sprintf("fall-%d", j.a.n), fmt.Sprintf("+2548%09d", j.a.n)
	ok := j.step(ctx, "hole.message", func(ctx context.Context) error { return j.w.text(ctx, j.node, session, phone) }) &&
		j.step(ctx, "hole.dial", func(ctx context.Context) error {
			return j.w.hop(ctx, j.node, holeCode, session, phone, "", "CON Crop?")
		}) &&
		j.step(ctx, "hole.ask", func(ctx context.Context) error {
			return j.w.hop(ctx, j.node, holeCode, session, phone, "maize", "END No price.")
		})
	if !ok {
		j.w.calls.unknown.Add(1)
	}
}

// text hands a node a text message, as the gateway does.
func (w *world) text(ctx context.Context, node int, id, phone string) error {
	form := url.Values{"id": {id}, "from": {phone}, "to": {"2233"}, "text": {"What is Castalia?"}}
	_, err := w.get(ctx, request{
		method: http.MethodPost, path: "/api/sms/africastalking?secret=" + holeSecret, node: node,
		body: []byte(form.Encode()), media: "application/x-www-form-urlencoded",
	}, nil)
	return err
}
