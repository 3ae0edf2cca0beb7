package app

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func TestAClockIsWrongInTestsOnly(t *testing.T) {
	t.Parallel()
	if _, err := clock(config.Server{ClockOffset: 60, Environment: "production"}); err == nil {
		t.Error("a production node took a wrong clock")
	}
	now, err := clock(config.Server{ClockOffset: -3600, Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(now()); ago < time.Hour || ago > time.Hour+time.Minute {
		t.Errorf("the clock is wrong by %v, want an hour", ago)
	}
}
