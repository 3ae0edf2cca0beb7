package ussdhttp_test

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// randomBody is a body that a broken or hostile client might send: bytes, or a
// good request with some of them changed.
func randomBody(r *rand.Rand) (media, body string) {
	media = []string{"application/json", "application/json", "application/x-www-form-urlencoded", "text/plain", ""}[r.IntN(5)]
	b := []byte(`{"sessionId":"r1","serviceCode":"*2233#","phoneNumber":"+260971230001","text":"2*1*70382"}`)
	if media == "application/x-www-form-urlencoded" {
		b = []byte("sessionId=r2&serviceCode=*2233%23&phoneNumber=%2B260971230001&text=1*2**")
	}
	if r.IntN(2) == 0 {
		b = make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return media, string(b)
	}
	for range r.IntN(4) {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	if r.IntN(3) == 0 {
		b = b[:r.IntN(len(b)+1)]
	}
	return media, string(b)
}

// BenchmarkRandomBodies sends random bodies: each is answered with CON or END
// and status 200. Run it with -benchtime 10000000x for the full measure.
func BenchmarkRandomBodies(b *testing.B) {
	g := newGateway(b, options{level: slog.LevelError + 1})
	r := rand.New(rand.NewPCG(1, 2))
	cons := 0
	for b.Loop() {
		media, body := randomBody(r)
		reply := g.do(http.MethodPost, "/api/ussd", media, body)
		if reply.status != http.StatusOK || !strings.HasPrefix(reply.body, "CON ") && !strings.HasPrefix(reply.body, "END ") {
			b.Fatalf("%q %q: %d %q", media, body, reply.status, reply.body)
		}
		if reply.body[0] == 'C' {
			cons++
		}
	}
	b.ReportMetric(float64(cons)/float64(b.N), "con/op")
}
