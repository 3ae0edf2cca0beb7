package turn

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

func TestReadsOutlastAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("read: %w", fault.New(fault.Unavailable, "The database is not available."))
	gone := fault.New(fault.NotFound, "Session not found")
	for name, c := range map[string]struct {
		failure error
		lasts   time.Duration
		want    error
	}{
		"five seconds": {away, 5 * time.Second, nil},
		"for good":     {away, time.Hour, away},
		"not there":    {gone, time.Millisecond, gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(c.lasts)
				_, err := patiently(t.Context(), func() (int, error) {
					if time.Now().Before(back) {
						return 0, c.failure
					}
					return 1, nil
				})
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := patiently(ended, func() (int, error) { return 0, away }); !errors.Is(err, away) {
					t.Errorf("after its end: %v", err)
				}
			})
		})
	}
}
