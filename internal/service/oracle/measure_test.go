package oracle_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

func TestBeyondAMeasure(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 18, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		name             string
		measure          oracle.Measure
		messages, micros int64
		want             string
	}{
		{"no measure", oracle.Measure{}, 1 << 40, 1 << 40, ""},
		{"the last message", oracle.Measure{Messages: 3}, 3, 1 << 40, ""},
		{"one more", oracle.Measure{Messages: 3}, 4, 0, "You may send 3 messages a day here. You can go on after 2026-11-17T00:00:00Z."},
		{"nearly spent", oracle.Measure{CostMicros: 250_000}, 9, 249_999, ""},
		{"spent", oracle.Measure{CostMicros: 250_000}, 9, 250_000, "Your answers may cost 0.25 US dollars a day here, and that is spent, or set aside for answers under way. You can go on after 2026-11-17T00:00:00Z."},
		{"overspent", oracle.Measure{CostMicros: 2_000_000}, 9, 1 << 40, "Your answers may cost 2.00 US dollars a day here, and that is spent, or set aside for answers under way. You can go on after 2026-11-17T00:00:00Z."},
	} {
		err := c.measure.Exceeded(c.messages, c.micros, now)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !fault.Is(err, fault.RateLimited) || fault.From(err).Message != c.want ||
			fault.From(err).RetryAfter != 5*time.Hour+30*time.Minute {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	m := oracle.Measures{User: oracle.Measure{Messages: 1}, Telephone: oracle.Measure{Messages: 2}}
	if m.Of("did:key:z6Mk").Messages != 1 || m.Of("did:ussd:number:x").Messages != 2 {
		t.Error("people are measured by the wrong measure")
	}
	m.Own = func(_ string, usual oracle.Measure) oracle.Measure { usual.Messages += 5; return usual }
	if m.Of("did:key:z6Mk").Messages != 6 || m.Of("did:ussd:number:x").Messages != 2 {
		t.Error("a measure of somebody's own does not hold")
	}
	m.Usual = func() (user, telephone oracle.Measure) {
		return oracle.Measure{Messages: 3}, oracle.Measure{Messages: 4}
	}
	if m.Of("did:key:z6Mk").Messages != 8 || m.Of("did:ussd:number:x").Messages != 4 {
		t.Error("measures that changed while the program runs do not hold")
	}
}
