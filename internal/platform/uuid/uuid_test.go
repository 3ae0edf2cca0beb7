package uuid_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/uuid"
)

func TestForms(t *testing.T) {
	now := func() string { return uuid.Dated(time.Now()) }
	for version, one := range map[string]func() string{"4": uuid.Random, "7": now} {
		form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-` + version + `[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		seen := some(t, form, one)
		if len(seen) != 1000 {
			t.Errorf("version %s: %d of 1000 differ", version, len(seen))
		}
	}
}

func some(t *testing.T, form *regexp.Regexp, one func() string) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for range 1000 {
		id := one()
		if !form.MatchString(id) {
			t.Fatalf("%s is not of the form %s", id, form)
		}
		seen[id] = true
	}
	return seen
}

// What was made later comes later in an index.
func TestDatedAreInTheOrderOfTime(t *testing.T) {
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	before := uuid.Dated(at)
	if !strings.HasPrefix(before, "01a1ee87-3200-") {
		t.Errorf("%s does not begin with the time", before)
	}
	for _, later := range []time.Duration{time.Millisecond, time.Hour, 30 * 365 * 24 * time.Hour} {
		if after := uuid.Dated(at.Add(later)); after <= before {
			t.Errorf("%s was made %s after %s", after, later, before)
		}
	}
}
