package webhooksql_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/queue"
)

// Of an endpoint the newest deliveries are kept, and the events that others are told stay.
func TestCrowdsOfDeliveriesArePruned(t *testing.T) {
	t.Parallel()
	each(t, queue.Config{}, func(t *testing.T, w *world) {
		all, _ := w.add(t, alice, "https://example.org/", "*")
		few, _ := w.add(t, alice, "https://example.org/", "run.failed")
		other, _ := w.add(t, bob, "https://example.org/", "*")
		w.emit(t, alice, "run.failed", nil)
		for range 9 {
			w.emit(t, alice, "run.finished", nil)
		}
		w.emit(t, bob, "run.finished", nil)
		// What came in the same moment goes together, so that each needs a moment of its own.
		if _, err := w.db.WriteOne(t.Context(), `UPDATE webhook_deliveries SET created_ms = (SELECT COUNT(*) FROM webhook_deliveries o
			WHERE o.event <= webhook_deliveries.event AND o.endpoint = webhook_deliveries.endpoint)`); err != nil {
			t.Fatal(err)
		}
		for more, err := true, error(nil); more; {
			if more, err = w.store.PruneCrowds(t.Context(), 4, 2); err != nil {
				t.Fatal(err)
			}
		}
		count := func(query string, args ...any) (n int) {
			t.Helper()
			if err := w.db.Read().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for id, want := range map[string]int{all.ID: 4, few.ID: 1, other.ID: 1} {
			if got := count(`SELECT COUNT(*) FROM webhook_deliveries WHERE endpoint = $1`, id); got != want {
				t.Errorf("%d deliveries, not %d", got, want)
			}
		}
		if lost := count(`SELECT COUNT(*) FROM webhook_deliveries d WHERE NOT EXISTS (SELECT 1 FROM webhook_events v WHERE v.id = d.event)`); lost != 0 {
			t.Errorf("%d deliveries have lost what they deliver", lost)
		}
		if idle := count(`SELECT COUNT(*) FROM webhook_events v WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event = v.id)`); idle != 0 {
			t.Errorf("%d events are kept for nobody", idle)
		}
	})
}
