// Package blobs3test gives tests a bucket of their own on the S3 test server.
package blobs3test

import (
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/castalia-org/castalia/internal/platform/blob/blobs3"
	"github.com/castalia-org/castalia/test/testenv"
)

// Config returns the configuration of a new, empty bucket. It needs "s3".
func Config(t testing.TB) blobs3.Config {
	t.Helper()
	testenv.Need(t, "s3")
	c, err := blobs3.ParseURL(os.Getenv("TEST_S3_URL"))
	if err != nil {
		t.Fatal(err)
	}
	c.AccessKey, c.SecretKey = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	c.Bucket, c.Prefix = "t-"+testenv.Token(), "some/prefix/"
	client, err := minio.New(strings.TrimPrefix(c.Endpoint, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""), Region: c.Region, BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(t.Context(), c.Bucket, minio.MakeBucketOptions{Region: c.Region}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Open returns a store in a new, empty bucket. It needs "s3".
func Open(t testing.TB) *blobs3.Store {
	t.Helper()
	s, err := blobs3.New(Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
