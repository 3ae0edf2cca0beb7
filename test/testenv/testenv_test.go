package testenv

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7" //nolint:depguard // looks whether the bucket is there

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

func TestMissingThingsAreNamed(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TEST_POSTGRES_URL": "postgres://x", "QUERY_VECTORS": "/v"}
	look := func(name string) (string, error) {
		if name == "node" {
			return "/bin/node", nil
		}
		return "", errors.New("not found")
	}
	for thing, want := range map[string]string{
		"postgres":      "",
		"s3":            "TEST_S3_URL is not set",
		"nats":          "",
		"node":          "",
		"chromium":      "it is not on the PATH",
		"QUERY_VECTORS": "",
		"OTHER_THING":   "OTHER_THING is not set",
		"long":          "CASTALIA_LONG is not set",
	} {
		if got := missing(thing, func(k string) string { return env[k] }, look); got != want {
			t.Errorf("missing(%s) = %q, want %q", thing, got, want)
		}
	}
}

func TestMustRunListsNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, thing string
		want        bool
	}{
		{"", "postgres", false},
		{"s3", "postgres", false},
		{"s3,postgres", "postgres", true},
		{"s3, postgres", "postgres", true},
		{"all", "chromium", true},
		{"postgresql", "postgres", false},
	} {
		if got := mustRun(c.list, c.thing); got != c.want {
			t.Errorf("mustRun(%q, %q) = %v", c.list, c.thing, got)
		}
	}
}

// recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                       {}
func (r *recorder) Skipf(format string, _ ...any) { r.skipped = format }
func (r *recorder) Fatalf(format string, _ ...any) {
	r.failed = format
}

func TestNeedSkipsUnlessItMustRun(t *testing.T) {
	t.Setenv("MUST_RUN", "other")
	r := &recorder{TB: t}
	Need(r, "no-such-program-here")
	if r.skipped == "" || r.failed != "" {
		t.Errorf("skipped %q, failed %q; want a skip", r.skipped, r.failed)
	}
	t.Setenv("MUST_RUN", "no-such-program-here")
	r = &recorder{TB: t}
	Need(r, "no-such-program-here")
	if r.failed == "" || r.skipped != "" {
		t.Errorf("skipped %q, failed %q; want a failure", r.skipped, r.failed)
	}
}

func TestPostgresIsNewAndSortsAsPeopleDo(t *testing.T) {
	t.Parallel()
	address := Postgres(t)
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var human, bytewise bool
	err = db.Read().QueryRowContext(t.Context(), `SELECT 'a' < 'B', 'a' < 'B' COLLATE "C"`).Scan(&human, &bytewise)
	if err != nil {
		t.Fatal(err)
	}
	if !human || bytewise {
		t.Errorf("default order %v, byte order %v; a column without byte order would go unnoticed", human, bytewise)
	}
	err = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE once (id BIGINT)`)
		return err
	})
	if err != nil {
		t.Errorf("a new database should be empty: %v", err)
	}
}

func TestBucketIsNewAndGoesAway(t *testing.T) {
	t.Parallel()
	var b Bucket
	t.Run("use", func(t *testing.T) {
		b = S3(t)
		client, err := b.client()
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.PutObject(t.Context(), b.Name, "a/b", strings.NewReader("x"), 1, minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if u, err := url.Parse(b.URL()); err != nil || u.Host != b.Name || u.Query().Get("endpoint") != b.Endpoint {
			t.Errorf("URL %q (%v)", b.URL(), err)
		}
	})
	if b.Name == "" {
		return // the subtest was skipped: it said why
	}
	client, err := b.client()
	if err != nil {
		t.Fatal(err)
	}
	if there, err := client.BucketExists(t.Context(), b.Name); err != nil || there {
		t.Errorf("bucket is still there: %v %v", there, err)
	}
}

func TestNATSAnswersAndStops(t *testing.T) {
	t.Parallel()
	var address string
	t.Run("use", func(t *testing.T) {
		address = NATS(t)
		if again := NATS(t); again != address {
			t.Errorf("second server %s beside %s", again, address)
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		hello := make([]byte, 4)
		if _, err := io.ReadFull(conn, hello); err != nil || string(hello) != "INFO" {
			t.Errorf("greeting %q (%v)", hello, err)
		}
		_ = conn.Close()
	})
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "nats://")); err == nil {
		_ = conn.Close()
		t.Error("the server still listens after its last test")
	}
}
