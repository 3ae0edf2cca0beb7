package credits

import (
	"testing"

	"github.com/castalia-org/castalia/plugin"
)

func TestPrice(t *testing.T) {
	t.Parallel()
	p := New(Config{Markup: 160, Fallback: 750_000})
	for _, c := range []struct {
		use  plugin.Usage
		want int64
	}{
		{plugin.Usage{}, 0},
		{plugin.Usage{CostMicros: 1}, 1},
		{plugin.Usage{CostMicros: 10_000}, 16},
		{plugin.Usage{CostMicros: 10_001}, 17},
		{plugin.Usage{CostMicros: 1_000_000}, 1600},
		{plugin.Usage{InputTokens: 600_000, OutputTokens: 400_000, CachedTokens: 300_000}, 1200},
		{plugin.Usage{InputTokens: 1}, 1},
		{plugin.Usage{CostMicros: -5, InputTokens: -5}, 0},
		{plugin.Usage{CostMicros: 1 << 62}, 1_600_000_000},
		{plugin.Usage{InputTokens: 1 << 62}, 1_200_000},
	} {
		if got := p.price(c.use); got != c.want {
			t.Errorf("%+v costs %d, want %d", c.use, got, c.want)
		}
	}
}
