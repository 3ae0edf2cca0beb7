// Package blobs3test gives tests a bucket of their own on the S3 test server.
package blobs3test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobs3"
	"github.com/castalia-org/castalia/test/testenv"
)

// Config returns the configuration of a new, empty bucket. It needs "s3".
func Config(t testing.TB) blobs3.Config {
	t.Helper()
	b := testenv.S3(t)
	return blobs3.Config{
		Bucket: b.Name, Prefix: "some/prefix/", Endpoint: b.Endpoint, Region: b.Region, PathStyle: b.PathStyle,
		AccessKey: b.AccessKey, SecretKey: b.SecretKey,
	}
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
