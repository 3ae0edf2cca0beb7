package bytesize_test

import (
	"math"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/bytesize"
)

func TestSizesForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 9 << 20: "9.0 MiB",
		1 << 30: "1.0 GiB", 5 << 40: "5.0 TiB", math.MaxInt64: "8388608.0 TiB",
	} {
		if got := bytesize.Text(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
