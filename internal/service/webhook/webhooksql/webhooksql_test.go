package webhooksql_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksend"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooktest"
)

const alice, bob = "did:example:alice", "did:example:bob"

// world is a service over a store of either engine.
type world struct {
	*webhook.Service
	db    *sqldb.DB
	store *webhooksql.Store
}

func newWorld(t *testing.T, db *sqldb.DB, cfg queue.Config) *world {
	t.Helper()
	store := webhooksql.New(db, cfg)
	s, err := webhook.New(webhook.Deps{
		Store: store, Sender: webhooksend.New(webhooksend.Config{Client: &http.Client{}}), Key: bytes.Repeat([]byte{3}, 32),
		Plain: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Service: s, db: db, store: store}
}

func each(t *testing.T, cfg queue.Config, body func(t *testing.T, w *world)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, newWorld(t, webhooktest.Migrated(t, open(t)), cfg))
	})
}

// run works until the test ends, or stop is called.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	return stop
}

func (w *world) add(t *testing.T, owner, url string, events ...string) (webhook.Endpoint, webhook.Secret) {
	t.Helper()
	e, secret, err := w.Add(t.Context(), owner, webhook.NewEndpoint{URL: url, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return e, secret
}

func (w *world) emit(t *testing.T, owner, kind string, data any) {
	t.Helper()
	if err := w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		return w.store.Emit(ctx, tx, owner, kind, time.Now(), data)
	}); err != nil {
		t.Fatal(err)
	}
}

// until reads Alice's deliveries until they are as wanted.
func (w *world) until(t *testing.T, endpoint string, want func([]webhook.Delivery) bool) []webhook.Delivery {
	t.Helper()
	for {
		list, err := w.Store.Deliveries(t.Context(), alice, endpoint, webhook.DeliveryQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if want(list) {
			return list
		}
	}
}

func inState(s webhook.State, n int) func([]webhook.Delivery) bool {
	return func(list []webhook.Delivery) bool {
		return len(list) == n && !slices.ContainsFunc(list, func(d webhook.Delivery) bool { return d.State != s })
	}
}

func TestEndpointsAreTheirOwners(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		ctx := t.Context()
		e, _ := w.add(t, alice, "https://example.org/hook", "run.*", "file.stored", "run.*")
		if d := cmp.Diff([]string{"file.stored", "run.*"}, e.Events); d != "" {
			t.Error(d)
		}
		mine, err := w.Store.Endpoints(ctx, alice)
		if err != nil || len(mine) != 1 || mine[0].ID != e.ID || mine[0].Status() != "active" {
			t.Errorf("%+v %v", mine, err)
		}
		if theirs, err := w.Store.Endpoints(ctx, bob); err != nil || len(theirs) != 0 {
			t.Errorf("bob sees %+v %v", theirs, err)
		}
		yes := true
		_, rotated := w.Rotate(ctx, bob, e.ID)
		_, tested := w.Test(ctx, bob, e.ID)
		_, changed := w.Change(ctx, bob, e.ID, webhook.Change{Paused: &yes})
		_, logged := w.Store.Deliveries(ctx, bob, e.ID, webhook.DeliveryQuery{Limit: 1})
		_, _, again := w.ReplaySince(ctx, bob, e.ID, webhook.ReplayQuery{Delivered: true})
		for what, err := range map[string]error{
			"rotate": rotated, "test": tested, "change": changed, "log": logged, "replay since": again,
			"delete": w.Store.Delete(ctx, bob, e.ID), "replay": w.Replay(ctx, bob, e.ID, "evt_1"),
			"replay of none": w.Replay(ctx, alice, e.ID, "evt_1"), "another spelling": w.Store.Delete(ctx, alice, strings.ToLower(e.ID)),
		} {
			if !errors.Is(err, webhook.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		text, url := "mine", "https://example.org/other?x=1"
		e, err = w.Change(ctx, alice, e.ID, webhook.Change{
			URL: &url, Description: &text, Events: []string{"*"}, Paused: &yes,
		})
		if err != nil || e.URL != url || e.Description != text || e.Status() != "paused" ||
			!slices.Equal(e.Events, []string{"*"}) {
			t.Errorf("%+v %v", e, err)
		}
		if _, err := w.Test(ctx, alice, e.ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("a paused one was tested: %v", err)
		}
		for range webhook.MaxEndpoints - 1 {
			w.add(t, alice, "https://example.org/", "*")
		}
		if _, _, err := w.Add(ctx, alice,
			webhook.NewEndpoint{URL: "https://example.org/", Events: []string{"*"}}); !fault.Is(err, fault.Conflict) {
			t.Errorf("one too many: %v", err)
		}
		if err := w.Store.Delete(ctx, alice, e.ID); err != nil {
			t.Error(err)
		}
	})
}

// An event belongs to its transaction and to its owner, and arrives signed.
func TestEventsArriveSigned(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		to := webhooktest.NewReceiver(t)
		e, first := w.add(t, alice, to.URL+"/a", "session.*")
		w.add(t, bob, to.URL+"/b", "file.*")
		boom := errors.New("boom")
		if err := w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			return errors.Join(w.store.Emit(ctx, tx, alice, "session.created", time.Now(), nil), boom)
		}); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		w.emit(t, bob, "session.created", nil)  // bob did not choose it
		w.emit(t, alice, "file.stored", nil)    // nor alice that
		w.emit(t, "nobody", "file.stored", nil) // nobody asked
		second, err := w.Rotate(t.Context(), alice, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.emit(t, alice, "session.created", map[string]string{"sessionId": "s1"})
		w.run(t)
		got := <-to.Got
		done := w.until(t, e.ID, inState(webhook.Delivered, 1))
		if len(to.Got) != 0 || done[0].Event != got.Header.Get("Webhook-Id") || done[0].Status != 204 ||
			done[0].Attempts != 1 || done[0].Tried.IsZero() {
			t.Errorf("%+v, and %d more requests", done, len(to.Got))
		}
		var body struct {
			Type, Timestamp string
			Data            map[string]string
		}
		if err := json.Unmarshal(got.Body, &body); err != nil || body.Type != "session.created" ||
			body.Data["sessionId"] != "s1" || body.Timestamp == "" {
			t.Errorf("%s %v", got.Body, err)
		}
		var seconds int64
		if _, err := fmt.Sscan(got.Header.Get("Webhook-Timestamp"), &seconds); err != nil {
			t.Fatal(err)
		}
		want := webhook.Sign([]webhook.Secret{second, first}, done[0].Event, time.Unix(seconds, 0), got.Body)
		if got.Header.Get("Webhook-Signature") != want || strings.Count(want, "v1,") != 2 {
			t.Errorf("signature %q, want %q", got.Header.Get("Webhook-Signature"), want)
		}
	})
}

// A receiver that fails is tried again under the same id; one that goes on
// failing is switched off, its owner's other endpoints are told, and what was
// missed can be sent when it is back.
func TestFailingReceivers(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{Attempts: 3, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
		func(t *testing.T, w *world) {
			bad, other := webhooktest.NewReceiver(t), webhooktest.NewReceiver(t)
			bad.Answer(http.StatusInternalServerError, nil)
			e, _ := w.add(t, alice, bad.URL, "run.*")
			w.add(t, alice, other.URL, "webhook.*")
			since := time.Now().Add(-time.Minute)
			w.emit(t, alice, "run.finished", nil)
			w.run(t)
			var ids []string
			for range 3 {
				ids = append(ids, (<-bad.Got).Header.Get("Webhook-Id"))
			}
			if ids = slices.Compact(ids); len(ids) != 1 {
				t.Errorf("one delivery under %v", ids)
			}
			gone := w.until(t, e.ID, inState(webhook.Failed, 1))
			if gone[0].Attempts != 3 || gone[0].Status != 500 || gone[0].Answer != "Internal Server Error" || gone[0].Error == "" {
				t.Errorf("%+v", gone)
			}
			told := <-other.Got
			if !bytes.Contains(told.Body, []byte(webhook.TypeDisabled)) || !bytes.Contains(told.Body, []byte(e.ID)) {
				t.Errorf("the owner was told %s", told.Body)
			}
			now, err := w.Store.Endpoint(t.Context(), alice, e.ID)
			if err != nil || now.Status() != "disabled" || now.Reason == "" {
				t.Fatalf("%+v %v", now, err)
			}
			w.emit(t, alice, "run.failed", nil) // kept for later
			w.until(t, e.ID, func(list []webhook.Delivery) bool { return len(list) == 2 && list[0].State == webhook.Held })
			if _, _, err := w.ReplaySince(t.Context(), alice, e.ID, webhook.ReplayQuery{Since: since}); !fault.Is(err,
				fault.Conflict) {
				t.Errorf("replayed while disabled: %v", err)
			}
			no := false
			if now, err = w.Change(t.Context(), alice, e.ID, webhook.Change{Paused: &no}); err != nil ||
				now.Status() != "active" || now.Reason != "" {
				t.Fatalf("%+v %v", now, err)
			}
			bad.Answer(http.StatusOK, nil)
			if n, _, err := w.ReplaySince(t.Context(), alice, e.ID, webhook.ReplayQuery{Since: since}); n != 2 || err != nil {
				t.Fatalf("%d %v", n, err)
			}
			w.until(t, e.ID, inState(webhook.Delivered, 2))
			if n, _, err := w.ReplaySince(t.Context(), alice, e.ID, webhook.ReplayQuery{Since: since}); n != 0 || err != nil {
				t.Errorf("%d were left, %v", n, err)
			}
			<-bad.Got
			<-bad.Got
			if err := w.Replay(t.Context(), alice, e.ID, ids[0]); err != nil {
				t.Fatal(err)
			}
			if again := <-bad.Got; again.Header.Get("Webhook-Id") != ids[0] {
				t.Errorf("replayed as %s", again.Header.Get("Webhook-Id"))
			}
			bad.Answer(http.StatusGone, nil)
			w.emit(t, alice, "run.failed", nil)
			for now.Status() != "disabled" {
				if now, err = w.Store.Endpoint(t.Context(), alice, e.ID); err != nil {
					t.Fatal(err)
				}
			}
		})
}

// A receiver that asks for a pause gets it, also where our own schedule is shorter; one that
// asks for a very long one is tried again within the hour, and one that asks for none, or
// for nonsense, by our schedule.
func TestReceiversAskForAPause(t *testing.T) {
	t.Parallel()
	const own = time.Minute // a half to one and a half of it
	each(t, queue.Config{Backoff: own, MaxBackoff: 2 * own}, func(t *testing.T, w *world) {
		w.run(t)
		for _, c := range []struct {
			asked    string
			from, to time.Duration
		}{
			{"600", 10 * time.Minute, 10 * time.Minute},
			{"1", own / 2, 2 * own},
			{"", own / 2, 2 * own},
			{"soon", own / 2, 2 * own},
			{"-5", own / 2, 2 * own},
			{"1000000000", time.Hour, time.Hour},
			{time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat), time.Hour, time.Hour},
		} {
			busy := webhooktest.NewReceiver(t)
			busy.Answer(http.StatusServiceUnavailable, nil)
			busy.AskFor(c.asked)
			e, _ := w.add(t, alice, busy.URL, "run.*")
			w.emit(t, alice, "run.finished", nil)
			list := w.until(t, e.ID, func(list []webhook.Delivery) bool { return len(list) == 1 && list[0].Attempts == 1 })
			if d := list[0].Next.Sub(list[0].Tried); list[0].State != webhook.Waiting || d < c.from || d > c.to {
				t.Errorf("asked for %q: %s, tried again after %s, want %s to %s", c.asked, list[0].State, d, c.from, c.to)
			}
			if err := w.Store.Delete(t.Context(), alice, e.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A node that stops in the middle of a delivery, or loses it, is followed by
// another one with the same id; nothing is noted by the one that lost it.
func TestAnotherNodeTakesOver(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{Lease: 300 * time.Millisecond}, func(t *testing.T, w *world) {
		to := webhooktest.NewReceiver(t)
		e, _ := w.add(t, alice, to.URL, "*")
		w.emit(t, alice, "run.finished", nil)
		lost := queue.New(w.db, queue.Config{Name: "webhook", Lease: 300 * time.Millisecond})
		var taken []queue.Item
		for len(taken) == 0 {
			var err error
			if taken, err = lost.Take(t.Context(), 1, nil); err != nil { // and this node dies
				t.Fatal(err)
			}
		}
		stop := newWorld(t, w.db, queue.Config{Lease: 300 * time.Millisecond}).run(t)
		first := <-to.Got
		w.until(t, e.ID, inState(webhook.Delivered, 1))
		stop()
		if err := lost.Finish(t.Context(), taken[0], nil); !errors.Is(err, queue.ErrLost) {
			t.Errorf("the dead node finished: %v", err)
		}
		if first.Header.Get("Webhook-Id") == "" || len(to.Got) != 0 {
			t.Errorf("%v, and %d more", first.Header, len(to.Got))
		}
	})
}

// Secrets are not in the database, and what is old is forgotten.
func TestSecretsAndAge(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		e, secret := w.add(t, alice, "https://example.org/", "*")
		plain, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret.Reveal(), webhook.SecretPrefix))
		if err != nil || len(plain) != 32 || fmt.Sprintf("%v %#v", secret, secret) == "" ||
			strings.Contains(fmt.Sprintf("%v %+v %#v", secret, secret, secret), secret.Reveal()) {
			t.Fatalf("%v %v", secret, err)
		}
		var sealed []byte
		if err := w.db.Read().QueryRowContext(t.Context(), `SELECT sealed FROM webhook_secrets WHERE endpoint = $1`,
			e.ID).Scan(&sealed); err != nil || bytes.Contains(sealed, plain) {
			t.Errorf("the secret is kept as %x, %v", sealed, err)
		}
		for range 4 {
			if _, err := w.Rotate(t.Context(), alice, e.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Rotate(t.Context(), alice, e.ID); !fault.Is(err, fault.Conflict) {
			t.Errorf("a sixth secret: %v", err)
		}
		for range 3 {
			w.emit(t, alice, "run.finished", nil)
		}
		if more, err := w.Store.Prune(t.Context(), time.Now().Add(-time.Hour), 2); more || err != nil {
			t.Errorf("%t %v", more, err)
		}
		for more := true; more; {
			if more, err = w.Store.Prune(t.Context(), time.Now().Add(time.Hour), 2); err != nil {
				t.Fatal(err)
			}
		}
		w.until(t, e.ID, inState(webhook.Delivered, 0))
		if err := w.Store.Delete(t.Context(), alice, e.ID); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"webhook_secrets", "webhook_events", "webhook_deliveries", "webhook_health"} {
			var n int
			if err := w.db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s has %d rows, %v", table, n, err)
			}
		}
	})
}

// What is left of a webhook that was deleted goes, that of others stays, and a day
// later nothing tells of it.
func TestWhatIsLeftOfADeletedWebhookGoes(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		gone, _ := w.add(t, alice, "https://example.org/", "*")
		kept, _ := w.add(t, alice, "https://example.org/", "*")
		for range 3 {
			w.emit(t, alice, "run.finished", nil)
		}
		if err := w.Store.Delete(t.Context(), alice, gone.ID); err != nil {
			t.Fatal(err)
		}
		rows := func(table, endpoint string) (n int) {
			t.Helper()
			if err := w.db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table+` WHERE endpoint = $1`, endpoint).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		prune := func(before time.Time) {
			t.Helper()
			for more, err := true, error(nil); more; {
				if more, err = w.Store.Prune(t.Context(), before, 2); err != nil {
					t.Fatal(err)
				}
			}
		}
		prune(time.Now().Add(-time.Hour))
		if a, b := rows("webhook_deliveries", gone.ID), rows("webhook_deliveries", kept.ID); a != 0 || b != 3 {
			t.Errorf("%d deliveries of the one that is gone, %d of the other", a, b)
		}
		if rows("webhook_deleted", gone.ID) != 1 {
			t.Error("what comes late would stay")
		}
		if _, err := w.db.WriteOne(t.Context(), `UPDATE webhook_deleted SET at_ms = at_ms - 86400001`); err != nil {
			t.Fatal(err)
		}
		prune(time.Now().Add(-time.Hour))
		if rows("webhook_deleted", gone.ID) != 0 {
			t.Error("it is remembered for ever")
		}
	})
}

func TestPagesOfTheLog(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		e, _ := w.add(t, alice, "https://example.org/", "*")
		for range 5 {
			w.emit(t, alice, "run.finished", nil)
		}
		var seen []string
		for before := ""; ; {
			page, err := w.Store.Deliveries(t.Context(), alice, e.ID,
				webhook.DeliveryQuery{State: webhook.Waiting, Before: before, Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				seen, before = append(seen, d.Event), d.Event
			}
		}
		if slices.Sort(seen); len(slices.Compact(seen)) != 5 {
			t.Errorf("paged through %v", seen)
		}
		for range webhook.MaxReplay - 4 {
			w.emit(t, alice, "run.failed", nil)
		}
		n, next, err := w.ReplaySince(t.Context(), alice, e.ID, webhook.ReplayQuery{})
		if err != nil || n != webhook.MaxReplay || next == "" {
			t.Fatalf("the first page: %d %q %v", n, next, err)
		}
		if n, next, err = w.ReplaySince(t.Context(), alice, e.ID, webhook.ReplayQuery{After: next}); err != nil || n != 1 ||
			next != "" {
			t.Errorf("the last page: %d %q %v", n, next, err)
		}
	})
}

const callID = "evt_CCCCCCCCCCCCCCCCCCCCCCCCCC"

// A call is signed as deliveries are, its answer comes back, and one that was not
// answered is sent again under its id.
func TestCalls(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{Backoff: time.Millisecond}, func(t *testing.T, w *world) {
		to := webhooktest.NewReceiver(t)
		e, secret := w.add(t, alice, to.URL, "menu.called")
		deaf, _ := w.add(t, alice, to.URL, "form.*")
		for _, id := range []string{"", "ep_x", deaf.ID, "ep_AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
			if _, err := w.Call(t.Context(), id, callID, time.Now(), nil); !errors.Is(err, webhook.ErrClosed) {
				t.Errorf("%s: %v", id, err)
			}
		}
		to.Answer(http.StatusOK, nil)
		c, err := w.Call(t.Context(), e.ID, callID, time.Now(), map[string]string{"a": "b"})
		if err != nil || !c.Result.Delivered || string(c.Body) != "OK" {
			t.Fatalf("%+v %v", c, err)
		}
		got := <-to.Got
		stamp, err := strconv.ParseInt(got.Header.Get(webhook.HeaderTimestamp), 10, 64)
		if err != nil || got.Header.Get(webhook.HeaderID) != callID || !strings.Contains(string(got.Body), `"type":"menu.called"`) ||
			got.Header.Get(webhook.HeaderSignature) != webhook.Sign([]webhook.Secret{secret}, callID, time.Unix(stamp, 0),
				got.Body) {
			t.Errorf("%v %s", got.Header, got.Body)
		}
		to.Answer(http.StatusServiceUnavailable, nil)
		c, err = w.Call(t.Context(), e.ID, callID, time.Now(), map[string]string{"a": "b"})
		if err != nil || c.Result.Delivered || c.Result.Status != http.StatusServiceUnavailable {
			t.Fatalf("%+v %v", c, err)
		}
		<-to.Got
		if err := w.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			return w.store.KeepCall(ctx, tx, c, true)
		}); err != nil {
			t.Fatal(err)
		}
		to.Answer(http.StatusNoContent, nil)
		w.run(t)
		if again := <-to.Got; again.Header.Get(webhook.HeaderID) != callID || !bytes.Equal(again.Body, got.Body) &&
			!strings.Contains(string(again.Body), `{"a":"b"}`) {
			t.Errorf("%v %s", again.Header, again.Body)
		}
		list := w.until(t, e.ID, inState(webhook.Delivered, 1))
		if list[0].Attempts != 2 {
			t.Errorf("%+v", list)
		}
	})
}

// Whoever hangs has so many places, and a call for which there is none is not made.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		w := newWorld(t, webhooktest.Migrated(t, open(t)), queue.Config{})
		hang, answers := webhooktest.NewReceiver(t), webhooktest.NewReceiver(t)
		let := make(chan struct{})
		hang.Answer(http.StatusOK, func() { <-let })
		slow, _ := w.add(t, alice, hang.URL, "menu.called")
		quick, _ := w.add(t, alice, answers.URL, "menu.called")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() { _, _ = w.Call(ctx, slow.ID, callID, time.Now(), nil) })
		}
		for range 32 {
			<-hang.Got
		}
		if c, err := w.Call(t.Context(), slow.ID, callID, time.Now(), nil); err != nil || c.Result.Status != 0 ||
			c.Result.Error != "too many calls wait for its answer" {
			t.Errorf("%+v %v", c, err)
		}
		if c, err := w.Call(t.Context(), quick.ID, callID, time.Now(), nil); err != nil || !c.Result.Delivered {
			t.Errorf("%+v %v", c, err)
		}
		cancel()
		close(let)
		all.Wait()
	})
}
