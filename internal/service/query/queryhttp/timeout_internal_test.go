package queryhttp

import (
	"testing"
	"time"
)

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"50m": 50 * time.Millisecond, "2S": 2 * time.Second, "99999999n": 99999999, "1H": time.Hour,
		"": 0, "S": 0, "5": 0, "-1S": 0, "1x": 0, "123456789S": 0,
		"5124096H": 0, // in nanoseconds it does not fit, and what is left of it is half an hour
	} {
		if got := grpcTimeout(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
