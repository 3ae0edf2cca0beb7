package busmem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	t.Parallel()
	bustest.Contract(t, func(t *testing.T) (a, b bus.Bus) {
		t.Helper()
		both := busmem.New()
		t.Cleanup(func() { _ = both.Close() })
		return both, both
	})
}
