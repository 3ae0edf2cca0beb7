// Package blobs3 keeps objects in a bucket of S3 or a compatible server.
//
// It promises the contract of blob.Store: large bodies go up in parts that are
// retried one by one and become visible together; create-only is decided by the
// server (If-None-Match). Memory for a Put is one part. A line on which nothing
// moves for a minute is given up. It refuses to create buckets: a missing one is
// found by Ping at the start.
package blobs3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Store is a blob.Store in a bucket.
type Store struct {
	core   *minio.Core
	bucket string
	prefix string // empty, or ends in a slash
}

// New connects to the server; it does not ask it anything yet.
func New(c Config) (*Store, error) {
	endpoint, secure, err := c.address()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	if c.Transport == nil {
		if c.Transport, err = transport(secure, nil); err != nil {
			return nil, fmt.Errorf("configure S3: %w", err)
		}
	}
	core, err := minio.NewCore(endpoint, &minio.Options{
		Creds:        credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken),
		Secure:       secure,
		Region:       c.Region,
		BucketLookup: lookup,
		Transport:    c.Transport,
	})
	if err != nil {
		return nil, fmt.Errorf("configure S3: %w", err)
	}
	return &Store{core: core, bucket: c.Bucket, prefix: c.Prefix}, nil
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	if err := blob.CheckKey(key); err != nil {
		return nil, err
	}
	if off < 0 {
		return nil, fmt.Errorf("get %s from %d: %w", key, off, blob.ErrRange)
	}
	if n == 0 {
		return s.empty(ctx, key, off)
	}
	var o minio.GetObjectOptions
	if off > 0 || n > 0 {
		end := int64(0) // to the end
		if n > 0 {
			end = off + n - 1
		}
		if err := setRange(&o, off, end); err != nil {
			return nil, fmt.Errorf("get %s: %w", key, err)
		}
	}
	body, _, _, err := s.core.GetObject(ctx, s.bucket, s.prefix+key, o)
	if err == nil {
		return body, nil
	}
	if err = classify(err); errors.Is(err, blob.ErrRange) {
		return s.empty(ctx, key, off) // S3 refuses the empty range at the end
	}
	return nil, fmt.Errorf("get %s: %w", key, err)
}

// setRange asks for bytes off..end; end 0 means to the end. The client's own
// SetRange cannot say "the first byte alone".
func setRange(o *minio.GetObjectOptions, off, end int64) error {
	if off == 0 && end == 0 {
		o.Set("Range", "bytes=0-0")
		return nil
	}
	return o.SetRange(off, end)
}

func (s *Store) empty(ctx context.Context, key string, off int64) (io.ReadCloser, error) {
	info, err := s.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if off > info.Size {
		return nil, fmt.Errorf("get %s from %d: %w", key, off, blob.ErrRange)
	}
	return http.NoBody, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	o, err := s.core.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return blob.Info{}, fmt.Errorf("stat %s: %w", key, classify(err))
	}
	return blob.Info{Key: key, Size: o.Size, ModTime: o.LastModified}, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	err := classify(s.core.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{}))
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		if err := blob.CheckPrefix(prefix); err != nil {
			yield(blob.Info{}, err)
			return
		}
		o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}
		for obj := range s.core.ListObjectsIter(ctx, s.bucket, o) {
			if obj.Err != nil {
				yield(blob.Info{}, fmt.Errorf("list %s: %w", prefix, classify(obj.Err)))
				return
			}
			if strings.HasSuffix(obj.Key, "/") {
				continue // a folder that another tool made
			}
			if !yield(blob.Info{Key: strings.TrimPrefix(obj.Key, s.prefix), Size: obj.Size, ModTime: obj.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(blob.Info{}, err)
		}
	}
}

// Ping implements blob.Store: the bucket must be there and readable.
func (s *Store) Ping(ctx context.Context) error {
	ok, err := s.core.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("reach bucket %s: %w", s.bucket, err)
	}
	if !ok {
		return fmt.Errorf("bucket %s does not exist", s.bucket)
	}
	return nil
}

// AbortStale removes the parts of uploads that began before the given time and
// were never finished, as a killed process leaves them.
func (s *Store) AbortStale(ctx context.Context, before time.Time) error {
	for up := range s.core.ListIncompleteUploads(ctx, s.bucket, s.prefix, true) {
		if up.Err != nil {
			return fmt.Errorf("list unfinished uploads: %w", up.Err)
		}
		if !up.Initiated.Before(before) {
			continue
		}
		if err := s.core.AbortMultipartUpload(ctx, s.bucket, up.Key, up.UploadID); err != nil {
			return fmt.Errorf("abort unfinished upload: %w", err)
		}
	}
	return ctx.Err()
}

// classify gives the server's errors their kinds.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Code == "NoSuchKey", r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket":
		return blob.ErrNotFound
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == "PreconditionFailed", r.Code == "ConditionalRequestConflict":
		return blob.ErrExists
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable, r.Code == "InvalidRange":
		return blob.ErrRange
	case r.StatusCode == http.StatusInsufficientStorage, r.Code == "QuotaExceeded", r.Code == "XMinioStorageFull":
		return fault.Wrap(fault.StorageFull, "The store is full.", err)
	case r.StatusCode == http.StatusServiceUnavailable, r.Code == "SlowDown":
		return fault.Wrap(fault.Unavailable, "The object store is busy.", err)
	default:
		return err
	}
}
