package ussdhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func bareMigrations() sqldb.Migrations {
	return sqldb.Migrations{Service: "bare", FS: fstest.MapFS{
		"0001_rows.sql": {Data: []byte("CREATE TABLE bare_rows (id {{text}} NOT NULL PRIMARY KEY, body {{blob}} NOT NULL) {{table}};")},
	}}
}

// child is a server in a process of its own.
type child struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer
}

func startChild(t testing.TB, url string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe, "-test.run=^$")}
	c.cmd.Env = append(os.Environ(), serverEnv+"="+url)
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("server did not start: %v", err)
	}
	c.addr = strings.TrimSpace(line)
	return c
}

// cpu is the processor time of a process so far.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return 0
		}
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// resident is the memory of a process in bytes.
func resident(t testing.TB, pid int) float64 {
	t.Helper()
	statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return float64(pages * os.Getpagesize())
}

// line is one keep-alive connection that sends prepared requests.
type line struct {
	conn net.Conn
	r    *bufio.Reader
	buf  []byte
}

func dialLine(t testing.TB, addr string) *line {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &line{conn: conn, r: bufio.NewReaderSize(conn, 4096)}
}

// post sends a body and returns the answer.
func (l *line) post(path, body string) (string, error) {
	l.buf = fmt.Appendf(l.buf[:0], "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	if _, err := l.conn.Write(l.buf); err != nil {
		return "", err
	}
	length := 0
	for first := true; ; first = false {
		head, err := l.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if first && !strings.HasPrefix(string(head), "HTTP/1.1 200") {
			return "", fmt.Errorf("status %q", head)
		}
		if after, ok := strings.CutPrefix(string(head), "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(after))
		}
		if len(head) == 2 {
			break
		}
	}
	answer, err := l.r.Peek(length)
	if err != nil {
		return "", err
	}
	text := string(answer)
	_, err = l.r.Discard(length)
	return text, err
}

func sessionBody(id string) string {
	return `{"sessionId":"` + id + `","serviceCode":"*2233#","phoneNumber":"+2609712` + fmt.Sprintf("%05d", rand.IntN(100000)) + `","text":""}`
}

// load sends b.N units of work over n connections and reports rates, quantiles
// and what the server's process spent.
func load(b *testing.B, c *child, backends func() time.Duration, n int,
	unit func(l *line, i int64) (requests int, err error),
) {
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = dialLine(b, c.addr)
		if _, err := unit(lines[i], -int64(i)-1); err != nil {
			b.Fatal(err)
		}
	}
	var next, requests atomic.Int64
	took := make([][]time.Duration, n)
	before, beforeDB := cpu(b, c.cmd.Process.Pid), backends()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, l := range lines {
		wg.Go(func() {
			for {
				at := next.Add(1)
				if at > int64(b.N) {
					return
				}
				start := time.Now()
				k, err := unit(l, at)
				if err != nil {
					b.Error(err)
					return
				}
				requests.Add(int64(k))
				took[i] = append(took[i], time.Since(start)/time.Duration(k))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	spent, spentDB := cpu(b, c.cmd.Process.Pid)-before, backends()-beforeDB
	all := slices.Concat(took...)
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	done := float64(requests.Load())
	b.ReportMetric(done/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(ms(spent)/done, "server-cpu-ms/req")
	if spentDB > 0 {
		b.ReportMetric(ms(spentDB)/done, "database-cpu-ms/req")
	}
}

// BenchmarkSession measures the session endpoint over real connections, with
// the server in a process of its own, beside a bare handler that does one
// group-committed write.
func BenchmarkSession(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			url, backends := sqldbtest.SQLiteURL(b), noBackends
			if engine == "postgres" {
				testenv.Need(b, "postgres")
				url = testenv.Postgres(b)
			}
			c := startChild(b, url)
			if engine == "postgres" {
				backends = backendCPU(b, url)
			}
			run := strconv.FormatInt(time.Now().UnixNano(), 36)
			for _, n := range []int{1, 64} {
				b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
					load(b, c, backends, n, func(l *line, _ int64) (int, error) {
						_, err := l.post("/bare", "{}")
						return 1, err
					})
				})
				b.Run(fmt.Sprintf("dial/%d", n), func(b *testing.B) {
					load(b, c, backends, n, func(l *line, i int64) (int, error) {
						return 1, expect(l, sessionBody(fmt.Sprintf("d%s-%d-%d-%d", run, n, b.N, i)))
					})
				})
				b.Run(fmt.Sprintf("dial-then-1/%d", n), func(b *testing.B) {
					load(b, c, backends, n, func(l *line, i int64) (int, error) {
						body := sessionBody(fmt.Sprintf("e%s-%d-%d-%d", run, n, b.N, i))
						if err := expect(l, body); err != nil {
							return 1, err
						}
						return 2, expect(l, strings.Replace(body, `"text":""`, `"text":"1"`, 1))
					})
				})
			}
		})
	}
}

// BenchmarkBesideBare says how many times the processor time of a bare handler with one
// group-committed write a dial takes, and a dial with one input; on PostgreSQL that of the
// database counts too. The three take turns and the middle ratio counts: what else the machine
// does meets all of them.
func BenchmarkBesideBare(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		besideBare(b, startChild(b, sqldbtest.SQLiteURL(b)), noBackends, 8000)
	})
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		besideBare(b, startChild(b, url), backendCPU(b, url), 3000)
	})
}

func noBackends() time.Duration { return 0 }

func besideBare(b *testing.B, c *child, backends func() time.Duration, requests int) {
	b.Helper()
	const rounds, connections = 9, 64
	lines := make([]*line, connections)
	for i := range lines {
		lines[i] = dialLine(b, c.addr)
	}
	run, made := strconv.FormatInt(time.Now().UnixNano(), 36), atomic.Int64{}
	// spent is what so many requests cost the server, of a unit that is one of them or two.
	spent := func(each int, unit func(l *line) error) float64 {
		before := cpu(b, c.cmd.Process.Pid) + backends()
		var left atomic.Int64
		left.Store(int64(requests / each))
		var wg sync.WaitGroup
		for _, l := range lines {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if err := unit(l); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return float64(cpu(b, c.cmd.Process.Pid) + backends() - before)
	}
	body := func() string { return sessionBody(fmt.Sprintf("b%s-%d", run, made.Add(1))) }
	var dials, hops []float64
	for b.Loop() {
		for range rounds {
			bare := spent(1, func(l *line) error {
				_, err := l.post("/bare", "{}")
				return err
			})
			dials = append(dials, spent(1, func(l *line) error { return expect(l, body()) })/bare)
			hops = append(hops, spent(2, func(l *line) error {
				first := body()
				if err := expect(l, first); err != nil {
					return err
				}
				return expect(l, strings.Replace(first, `"text":""`, `"text":"1"`, 1))
			})/bare)
		}
	}
	slices.Sort(dials)
	slices.Sort(hops)
	b.ReportMetric(dials[len(dials)/2], "dial-x-bare")
	b.ReportMetric(hops[len(hops)/2], "hop-x-bare")
}

func expect(l *line, body string) error {
	answer, err := l.post("/api/ussd", body)
	if err == nil && !strings.HasPrefix(answer, "CON ") {
		return fmt.Errorf("answer %q", answer)
	}
	return err
}

// backendCPU returns a function that sums the processor time of the database's
// processes that serve the URL's database.
func backendCPU(b *testing.B, url string) func() time.Duration {
	b.Helper()
	db := sqldbtest.Open(b, url, sqldb.Options{})
	return func() time.Duration {
		rows, err := db.Read().QueryContext(b.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database()`)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		var sum time.Duration
		for rows.Next() {
			var pid int
			if err := rows.Scan(&pid); err != nil {
				b.Fatal(err)
			}
			sum += cpu(b, pid)
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		return sum
	}
}

// BenchmarkLiveSessions opens 100,000 sessions and reports what each of them
// costs in the process's memory.
func BenchmarkLiveSessions(b *testing.B) {
	const sessions = 100_000
	for b.Loop() {
		c := startChild(b, sqldbtest.SQLiteURL(b))
		lines := make([]*line, 32)
		for i := range lines {
			lines[i] = dialLine(b, c.addr)
			if err := expect(lines[i], sessionBody(fmt.Sprintf("warm%d", i))); err != nil {
				b.Fatal(err)
			}
		}
		before := resident(b, c.cmd.Process.Pid)
		var next atomic.Int64
		var wg sync.WaitGroup
		for _, l := range lines {
			wg.Go(func() {
				for i := next.Add(1); i <= sessions; i = next.Add(1) {
					if err := expect(l, sessionBody(fmt.Sprintf("live%d", i))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		grown := resident(b, c.cmd.Process.Pid) - before
		b.ReportMetric(grown/sessions, "bytes/session")
		b.ReportMetric(grown/(1<<20), "MB-for-100k")
	}
}
