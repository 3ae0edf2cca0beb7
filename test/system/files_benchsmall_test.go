package system_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"                 //nolint:depguard // signs addresses of the peer
	"github.com/minio/minio-go/v7/pkg/credentials" //nolint:depguard // as above

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// small is one server of small files in a round: where a file is, and what its requests
// carry.
type small struct {
	address    func(method, name string) string
	token      string
	put, fetch spent
}

// BenchmarkSmallFilesByHTTP writes and reads files of 4 KiB with 64 clients through HTTP:
// the real program by its own route and by WebDAV, versitygw, and a plain server that
// writes a file and syncs it, in turns. Requests are signed and written down before the
// clock runs, and answers are read by as little as they need (smallClient): the clients
// have the servers' cores.
// versitygw is run as it comes: it syncs nothing, and ends each connection.
func BenchmarkSmallFilesByHTTP(b *testing.B) {
	b.Setenv("CASTALIA_BINARY", plainBinary(b))
	node := system.Start(b, system.Embedded, "LOG_LEVEL=warn", "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0").Node(0)
	who, err := did.NewSigner()
	if err != nil {
		b.Fatal(err)
	}
	token, err := files(b, node, who).Token(b.Context(), 10*time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	plain := httptest.NewServer(plainServer(b.TempDir()))
	b.Cleanup(plain.Close)
	servers := map[string]*small{
		"castalia": {
			address: func(_, name string) string { return node.URL + "/api/fs/content?path=/" + name },
			token:   token,
		},
		"webdav": {
			address: func(_, name string) string { return node.URL + "/dav/dav-" + name },
			token:   token,
		},
		"versitygw": {address: presigned(b)},
		"plain":     {address: func(_, name string) string { return plain.URL + "/" + name }},
	}
	data := randomBytes(4<<10, 7)
	const n = 3000
	round := 0
	for b.Loop() {
		round++
		for _, s := range servers {
			name := func(i int) string { return fmt.Sprintf("r%d-%d", round, i) }
			s.all(b, node.PID(), &s.put, s.requests(b, http.MethodPut, n, name, data), nil)
			s.all(b, node.PID(), &s.fetch, s.requests(b, http.MethodGet, n, name, nil), data)
		}
	}
	per := func(d time.Duration) float64 { return float64(n*b.N) / d.Seconds() }
	for name, s := range servers {
		b.ReportMetric(per(s.put.wall), name+"-puts/s")
		b.ReportMetric(per(s.fetch.wall), name+"-gets/s")
	}
	ours := servers["castalia"]
	dav := servers["webdav"]
	for what, s := range map[string]spent{
		"put": ours.put, "get": ours.fetch, "webdav-put": dav.put, "webdav-get": dav.fetch,
	} {
		b.ReportMetric(float64(s.server.Microseconds())/float64(n*b.N), what+"-server-cpu-µs")
		b.ReportMetric(float64(s.client.Microseconds())/float64(n*b.N), what+"-client-cpu-µs")
	}
	for name, s := range servers {
		switch s {
		case ours:
		case dav:
			b.ReportMetric(float64(ours.put.wall)/float64(s.put.wall), "webdav-put-x-own")
			b.ReportMetric(float64(ours.fetch.wall)/float64(s.fetch.wall), "webdav-get-x-own")
		default:
			b.ReportMetric(float64(s.put.wall)/float64(ours.put.wall), "put-x-"+name)
			b.ReportMetric(float64(s.fetch.wall)/float64(ours.fetch.wall), "get-x-"+name)
		}
	}
}

// smallRequest is a request as it goes over the line, and where to.
type smallRequest struct {
	host string
	text []byte
}

// requests writes n requests down.
func (s *small) requests(b *testing.B, method string, n int, name func(i int) string, body []byte) []smallRequest {
	b.Helper()
	all := make([]smallRequest, n)
	for i := range all {
		r, err := http.NewRequestWithContext(b.Context(), method, s.address(method, name(i)), bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if s.token != "" {
			r.Header.Set("Authorization", "Bearer "+s.token)
		}
		var text bytes.Buffer
		if err := r.Write(&text); err != nil {
			b.Fatal(err)
		}
		all[i] = smallRequest{r.URL.Host, text.Bytes()}
	}
	return all
}

// all sends requests by 64 clients and adds what that took.
func (s *small) all(b *testing.B, pid int, took *spent, requests []smallRequest, want []byte) {
	b.Helper()
	var next atomic.Int64
	took.on(b, pid, func() {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				c := smallClient{}
				defer c.close()
				for i := next.Add(1); i <= int64(len(requests)); i = next.Add(1) {
					if err := c.send(b, requests[i-1], want); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// smallClient has one connection. net/http's client costs three times as much, which all
// servers would have less of the cores.
type smallClient struct {
	conn net.Conn
	read *bufio.Reader
}

func (c *smallClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
	c.conn = nil
}

func (c *smallClient) send(b *testing.B, r smallRequest, want []byte) error {
	b.Helper()
	if c.conn == nil {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", r.host)
		if err != nil {
			return err
		}
		c.conn, c.read = conn, bufio.NewReaderSize(conn, 8<<10)
	}
	if _, err := c.conn.Write(r.text); err != nil {
		return err
	}
	status, length, last, err := smallHead(c.read)
	if err != nil {
		return err
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(c.read, body); err != nil {
		return err
	}
	if last {
		c.close()
	}
	if status > 299 || want != nil && !bytes.Equal(body, want) {
		return fmt.Errorf("%.100s: %d %.200s", r.text, status, body)
	}
	return nil
}

// smallHead reads a response up to its body: its status, the body's length, and whether
// the connection ends with it.
func smallHead(r *bufio.Reader) (status, length int, last bool, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil || len(line) < 12 {
		return 0, 0, false, fmt.Errorf("no status in %q: %w", line, err)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, false, err
	}
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, 0, false, err
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		switch value = bytes.TrimSpace(value); {
		case len(name) == 0:
			return status, length, last, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, 0, false, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, 0, false, fmt.Errorf("an answer without a length: %q", line)
		case bytes.EqualFold(name, []byte("Connection")):
			last = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// plainServer writes a file and syncs it, and no more.
func plainServer(folder string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(folder, filepath.Base(r.URL.Path))
		if r.Method == http.MethodGet {
			http.ServeFile(w, r, name)
			return
		}
		f, err := os.Create(name)
		if err == nil {
			_, err = io.Copy(f, r.Body)
		}
		if err == nil {
			err = f.Sync()
		}
		if err != nil || f.Close() != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}
}

// presigned signs addresses of a bucket at the S3 server of the tests.
func presigned(b *testing.B) func(method, name string) string {
	b.Helper()
	bucket := testenv.S3(b)
	at, err := url.Parse(bucket.Endpoint)
	if err != nil {
		b.Fatal(err)
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(bucket.AccessKey, bucket.SecretKey, ""),
		Region: bucket.Region, BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		b.Fatal(err)
	}
	return func(method, name string) string {
		u, err := client.Presign(b.Context(), method, bucket.Name, name, time.Hour, nil)
		if err != nil {
			b.Fatal(err)
		}
		return u.String()
	}
}
