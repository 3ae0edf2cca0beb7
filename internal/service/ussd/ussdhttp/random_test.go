package ussdhttp_test

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// changed is a body that a broken or hostile client might send: a good one with
// some of its bytes changed or cut off, or bytes that never were one.
func changed(r *rand.Rand, body string) string {
	b := []byte(body)
	if len(b) == 0 || r.IntN(4) == 0 {
		b = make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	for range 1 + r.IntN(4) {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	if r.IntN(3) == 0 {
		b = b[:r.IntN(len(b)+1)]
	}
	return string(b)
}

// perInput is how many bodies each input of FuzzSession stands for: starting an
// input costs the fuzzer more than a request costs the gateway.
const perInput = 64

// FuzzSession sends anything, and changes of it: the answer is CON or END with
// status 200. 160,000 inputs (-fuzztime 160000x) are ten million bodies.
func FuzzSession(f *testing.F) {
	f.Add("application/json", `{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`, uint64(1))
	f.Add("application/json", `{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":"2*2*Ann*00*70382*70382**"}`, uint64(2))
	f.Add("application/x-www-form-urlencoded", `sessionId=a&serviceCode=%2A1%23&phoneNumber=%2B123&text=1%2A%2A`, uint64(3))
	f.Add("text/plain", "\x00\xff", uint64(4))
	f.Add("", `{"sessionId":"\ud800"}`, uint64(5))
	shared := newGateway(f, options{level: slog.LevelError + 1})
	f.Fuzz(func(t *testing.T, media, body string, seed uint64) {
		g := *shared
		g.t = t
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range perInput {
			sent := body
			if i > 0 {
				sent = changed(r, body)
			}
			reply := g.do(http.MethodPost, "/api/ussd", media, sent)
			if reply.status != http.StatusOK || !strings.HasPrefix(reply.body, "CON ") && !strings.HasPrefix(reply.body, "END ") {
				t.Fatalf("%q %q: %d %q", media, sent, reply.status, reply.body)
			}
		}
	})
}
