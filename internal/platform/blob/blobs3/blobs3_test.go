package blobs3_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobs3"
	"github.com/castalia-org/castalia/internal/platform/blob/blobs3/blobs3test"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestContract(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "s3")
	blobtest.Contract(t, func(t *testing.T) blob.Store { return blobs3test.Open(t) })
}

// One that was announced as large comes back as it was, whatever number of parts it has.
func TestLargeObjectsAreWhole(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "s3")
	s := blobs3test.Open(t)
	for _, size := range []int{100, 5 << 20, 6 << 20, 64 << 20, 64<<20 + 7} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i % 251)
		}
		info, err := s.Put(t.Context(), "large", bytes.NewReader(body), blob.PutOptions{Large: true})
		if err != nil || info.Size != int64(size) {
			t.Fatalf("%d bytes became %d: %v", size, info.Size, err)
		}
		from, err := s.Get(t.Context(), "large", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(from)
		if err = errors.Join(err, from.Close()); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes came back as %d others: %v", size, len(got), err)
		}
	}
}

func open(t *testing.T, c blobs3.Config) *blobs3.Store {
	t.Helper()
	s, err := blobs3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPing(t *testing.T) {
	t.Parallel()
	c := blobs3test.Config(t)
	s := open(t, c)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a bucket that is there: %v", err)
	}
	if err := s.AbortStale(t.Context(), time.Now()); err != nil {
		t.Errorf("abort: %v", err)
	}
	c.Bucket = "no-such-bucket"
	if err := open(t, c).Ping(t.Context()); err == nil {
		t.Error("a bucket that is absent answers")
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	c, err := blobs3.ParseURL("s3://bucket/a/b?endpoint=http://127.0.0.1:9&region=eu-1&path_style=true")
	if err != nil || c.Bucket != "bucket" || c.Prefix != "a/b/" || c.Endpoint != "http://127.0.0.1:9" || c.Region != "eu-1" || !c.PathStyle {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "http://x", "s3://u:p@b", "s3://b?typo=1", "s3://b?path_style=maybe", "s3://b/..", "s3://b:12/x", "s3://%zz"} {
		if c, err := blobs3.ParseURL(bad); err == nil {
			t.Errorf("%q was taken: %+v", bad, c)
		}
	}
	for _, c := range []blobs3.Config{{}, {Bucket: "b", Endpoint: "127.0.0.1:9"}, {Bucket: "b", Endpoint: "http://h/path"}} {
		if _, err := blobs3.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
