package credits_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
)

// BenchmarkGate measures a request with the gate, beside the same request on a
// node without it, in turns. Medians are compared: what else the machine does
// hits either side now and then.
func BenchmarkGate(b *testing.B) {
	gated, bare := start(b, sqldbtest.SQLite(b), registry.On), start(b, sqldbtest.SQLite(b), registry.Off)
	if status := grant(b, gated, identitytest.Alice.DID, 1000, "bench"); status != http.StatusOK {
		b.Fatalf("grant: %d", status)
	}
	with, without := gated.As(b, identitytest.Alice), bare.As(b, identitytest.Alice)
	one := func(c *oracletest.Client) time.Duration {
		began := time.Now()
		if r := c.Do("GET", "/sessions", nil); r.Status != http.StatusOK {
			b.Fatalf("list: %d %s", r.Status, r.Body)
		}
		return time.Since(began)
	}
	one(with)
	one(without)
	var x, y []time.Duration
	for b.Loop() {
		x = append(x, one(with))
		y = append(y, one(without))
	}
	b.ReportMetric(float64(median(x))/float64(median(y)), "gated/bare")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
