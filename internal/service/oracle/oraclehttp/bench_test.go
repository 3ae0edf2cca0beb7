package oraclehttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const concurrent = 64

// pool is a client that keeps its connections.
func pool() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * concurrent}}
}

// quantiles returns the middle and the 99th of a hundred.
func quantiles(all []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}

// hammer runs n requests, 64 at a time, and returns how long each took.
func hammer(n int, one func(worker int) time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for w := range concurrent {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				all[i] = one(w)
			}
		})
	}
	workers.Wait()
	return all
}

// BenchmarkFirstFrame measures the time from POST to the first frame with a
// model that answers at once, beside a bare handler with one group-committed
// write. Both run 64 at a time on SQLite, in turns.
func BenchmarkFirstFrame(b *testing.B) {
	client := pool()
	bareDB := sqldbtest.SQLite(b)
	if err := bareDB.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT)`)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := bareDB.Write(r.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO bare (body) VALUES ($1)`, string(body))
			return err
		}); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "ok\n")
	}))
	defer bare.Close()
	n := oracletest.Start(b, scripted.Sequence(scripted.Text("ok")))
	token := identitytest.Invocation(b, identitytest.Alice, identitytest.Oracle.DID)
	alice := n.As(b, identitytest.Alice)
	sessions := make([]string, concurrent)
	renew := func() { // or a growing history would be measured
		for i := range sessions {
			sessions[i] = alice.Session()
		}
	}
	renew()
	ask := func(url string) time.Duration {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(`{"message":"hi","stream":true}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Auth-Type", "ucan")
		began := time.Now()
		resp, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return 0
		}
		defer func() { _ = resp.Body.Close() }()
		in := bufio.NewReader(resp.Body)
		_, _ = in.ReadString('\n')
		took := time.Since(began)
		_, _ = io.Copy(io.Discard, in)
		return took
	}
	var ours, theirs []time.Duration
	const round = 640
	hammer(round, func(w int) time.Duration { return ask(n.URL + "/messages/" + sessions[w]) }) // warm up
	b.ResetTimer()
	for b.Loop() {
		renew()
		theirs = append(theirs, hammer(round, func(int) time.Duration { return ask(bare.URL) })...)
		ours = append(ours, hammer(round, func(w int) time.Duration { return ask(n.URL + "/messages/" + sessions[w]) })...)
	}
	b.StopTimer()
	o50, o99 := quantiles(ours)
	t50, t99 := quantiles(theirs)
	b.ReportMetric(float64(o50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(o99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(t50.Microseconds()), "bare-p50-µs")
	b.ReportMetric(float64(t99.Microseconds()), "bare-p99-µs")
	b.ReportMetric(float64(o50)/float64(t50), "p50-ratio")
	b.ReportMetric(float64(o99)/float64(t99), "p99-ratio")
}

// BenchmarkTokens measures how many token frames a second go through one node:
// model to log to SSE reader, 16 runs at a time.
func BenchmarkTokens(b *testing.B) {
	const words, runs = 2000, 16
	reply := scripted.Reply{Chunks: slices.Repeat([]plugin.Chunk{{Text: "word "}}, words)}
	n := oracletest.Start(b, scripted.Sequence(reply))
	alice := n.As(b, identitytest.Alice)
	var sessions []string
	for range runs {
		sessions = append(sessions, alice.Session())
	}
	began := time.Now()
	frames := 0
	for b.Loop() {
		var all sync.WaitGroup
		for _, s := range sessions {
			all.Go(func() { alice.Say(s, "go") })
		}
		all.Wait()
		frames += words * runs
	}
	b.ReportMetric(float64(frames)/time.Since(began).Seconds(), "frames/s")
}

// BenchmarkOpenStreams measures the memory of open streams that wait, beside
// streams of a bare net/http handler.
func BenchmarkOpenStreams(b *testing.B) {
	const streams = 5000
	hold := make(chan struct{})
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event: x\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer bare.Close()
	n := oracletest.Start(b, scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "x"}}, Wait: hold}))
	alice := n.As(b, identitytest.Alice)
	session := alice.Session()
	resp, err := alice.Open(b.Context(), "POST", "/messages/"+session, map[string]any{"message": "x", "stream": true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	token := identitytest.Invocation(b, identitytest.Alice, identitytest.Oracle.DID)
	head := "Host: x\r\nAuthorization: Bearer " + token + "\r\nX-Auth-Type: ucan\r\n\r\n"
	perStream := func(addr, path string) float64 {
		before := heap()
		var lines []net.Conn
		for range streams {
			c, err := net.Dial("tcp", strings.TrimPrefix(addr, "http://"))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\n"+head)
			one := make([]byte, 1)
			_, _ = c.Read(one)
			lines = append(lines, c)
		}
		used := heap() - before
		for _, c := range lines {
			_ = c.Close()
		}
		return float64(used) / streams / 1024
	}
	for b.Loop() {
		theirs := perStream(bare.URL, "/")
		ours := perStream(n.URL, "/runs/"+resp.Header.Get("X-Run-Id"))
		b.ReportMetric(ours, "KiB/stream")
		b.ReportMetric(theirs, "bare-KiB/stream")
		b.ReportMetric(ours/theirs, "ratio")
	}
	close(hold)
}

// heap is the memory in use after a collection, stacks included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
