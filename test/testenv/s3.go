package testenv

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"testing"

	//nolint:depguard // makes the bucket; the adapter under test has its own client
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials" //nolint:depguard // as above
)

// Bucket is an S3 bucket of a test's own.
type Bucket struct {
	Endpoint  string // such as http://127.0.0.1:7070
	Region    string
	Name      string
	AccessKey string
	SecretKey string
	PathStyle bool
}

// URL returns the bucket in the form of BLOB_URL. The keys are not in it: they
// come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
func (b Bucket) URL() string {
	q := url.Values{}
	q.Set("endpoint", b.Endpoint)
	q.Set("region", b.Region)
	q.Set("path_style", strconv.FormatBool(b.PathStyle))
	return "s3://" + b.Name + "?" + q.Encode()
}

// S3 returns a new, empty bucket that is removed with its content when the
// test ends.
func S3(t testing.TB) Bucket {
	t.Helper()
	Need(t, "s3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	b, remove, err := NewBucket(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
		defer cancel()
		if err := remove(ctx); err != nil {
			t.Errorf("remove bucket: %v", err)
		}
	})
	return b
}

// NewBucket is S3 for programs that are no tests: whoever calls it removes the
// bucket.
func NewBucket(ctx context.Context) (b Bucket, remove func(context.Context) error, err error) {
	u, err := url.Parse(os.Getenv("TEST_S3_URL"))
	if err != nil {
		return b, nil, fmt.Errorf("TEST_S3_URL: %w", err)
	}
	q := u.Query()
	b = Bucket{
		Endpoint:  q.Get("endpoint"),
		Region:    q.Get("region"),
		Name:      "castalia-test-" + Token(),
		AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		PathStyle: q.Get("path_style") == "true",
	}
	client, err := b.client()
	if err != nil {
		return b, nil, err
	}
	if err := client.MakeBucket(ctx, b.Name, minio.MakeBucketOptions{Region: b.Region}); err != nil {
		return b, nil, fmt.Errorf("make bucket: %w", err)
	}
	return b, func(ctx context.Context) error { return b.remove(ctx, client) }, nil
}

func (b Bucket) client() (*minio.Client, error) {
	endpoint, err := url.Parse(b.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint in TEST_S3_URL: %w", err)
	}
	lookup := minio.BucketLookupDNS
	if b.PathStyle {
		lookup = minio.BucketLookupPath
	}
	return minio.New(endpoint.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(b.AccessKey, b.SecretKey, ""),
		Region:       b.Region,
		Secure:       endpoint.Scheme == "https",
		BucketLookup: lookup,
	})
}

func (b Bucket) remove(ctx context.Context, client *minio.Client) error {
	for upload := range client.ListIncompleteUploads(ctx, b.Name, "", true) {
		if upload.Err == nil {
			_ = client.RemoveIncompleteUpload(ctx, b.Name, upload.Key)
		}
	}
	for object := range client.ListObjects(ctx, b.Name, minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			return object.Err
		}
		if err := client.RemoveObject(ctx, b.Name, object.Key, minio.RemoveObjectOptions{ForceDelete: true}); err != nil {
			return err
		}
	}
	return client.RemoveBucket(ctx, b.Name)
}
