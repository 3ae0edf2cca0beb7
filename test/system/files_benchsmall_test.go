package system_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
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
	header     http.Header
	put, fetch time.Duration
}

// BenchmarkSmallFilesByHTTP writes and reads files of 4 KiB with 64 clients through HTTP:
// the real program, versitygw, and a plain server that writes a file and syncs it, in
// turns. Addresses are signed before the clock runs.
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
			header:  http.Header{"Authorization": {"Bearer " + token}},
		},
		"versitygw": {address: presigned(b)},
		"plain":     {address: func(_, name string) string { return plain.URL + "/" + name }},
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	data := randomBytes(4<<10, 7)
	const n = 3000
	round := 0
	for b.Loop() {
		round++
		for _, s := range servers {
			name := func(i int) string { return fmt.Sprintf("r%d-%d", round, i) }
			s.put += s.all(b, client, http.MethodPut, n, name, data)
			s.fetch += s.all(b, client, http.MethodGet, n, name, data)
		}
	}
	per := func(d time.Duration) float64 { return float64(n*b.N) / d.Seconds() }
	for name, s := range servers {
		b.ReportMetric(per(s.put), name+"-puts/s")
		b.ReportMetric(per(s.fetch), name+"-gets/s")
	}
	ours := servers["castalia"]
	for name, s := range servers {
		if s != ours {
			b.ReportMetric(float64(s.put)/float64(ours.put), "put-x-"+name)
			b.ReportMetric(float64(s.fetch)/float64(ours.fetch), "get-x-"+name)
		}
	}
}

// all sends n requests of 64 clients, and returns how long that took.
func (s *small) all(b *testing.B, client *http.Client, method string, n int, name func(i int) string,
	data []byte,
) time.Duration {
	b.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = s.address(method, name(i))
	}
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range 64 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := s.one(b, client, method, addresses[i], data); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

func (s *small) one(b *testing.B, client *http.Client, method, address string, data []byte) error {
	b.Helper()
	body := io.Reader(http.NoBody)
	if method == http.MethodPut {
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(b.Context(), method, address, body)
	if err != nil {
		return err
	}
	maps.Copy(r.Header, s.header)
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return err
	}
	if res.StatusCode > 299 || method == http.MethodGet && !bytes.Equal(got, data) {
		return fmt.Errorf("%s %.100s: %d %.200s", method, address, res.StatusCode, got)
	}
	return nil
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
