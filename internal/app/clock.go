package app

import (
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
)

// clock is the clock of this node's services. Tests of faults make it wrong;
// leases go by the database's clock, whatever this one says.
func clock(s config.Server) (func() time.Time, error) {
	if s.ClockOffset == 0 {
		return time.Now, nil
	}
	if s.Environment != "test" {
		return nil, errors.New("TEST_CLOCK_OFFSET_SECONDS: only for tests, with CASTALIA_ENV=test")
	}
	offset := time.Duration(s.ClockOffset) * time.Second
	return func() time.Time { return time.Now().Add(offset) }, nil
}
