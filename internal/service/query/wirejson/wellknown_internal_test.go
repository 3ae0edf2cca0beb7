package wirejson

import (
	"testing"
	"time"
)

// TestAppendDateTime compares with package time over the whole range.
func TestAppendDateTime(t *testing.T) {
	t.Parallel()
	const step = 86399*37 + 1
	for seconds := int64(minTimestamp); seconds <= maxTimestamp; seconds += step {
		want := time.Unix(seconds, 0).UTC().Format("2006-01-02T15:04:05")
		if got := string(appendDateTime(nil, seconds)); got != want {
			t.Fatalf("%d is %s, want %s", seconds, got, want)
		}
	}
	for _, seconds := range []int64{minTimestamp, maxTimestamp, 951782400, 951868799, 951868800, -1, 0, 4107542400} {
		want := time.Unix(seconds, 0).UTC().Format("2006-01-02T15:04:05")
		if got := string(appendDateTime(nil, seconds)); got != want {
			t.Errorf("%d is %s, want %s", seconds, got, want)
		}
	}
}
