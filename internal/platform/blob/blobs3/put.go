package blobs3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// partSize is the smallest that S3 allows: it is the memory that a Put takes.
// maxParts of them are the largest object, and of largePart where one was announced.
const (
	partSize  = 5 << 20
	largePart = 64 << 20
	maxParts  = 10_000
)

// smallBody is read ahead, so that small objects need no buffer of a part.
const smallBody = 64 << 10

// abortLimit bounds the clean-up after a failed Put, whose context may be over.
const abortLimit = 10 * time.Second

var parts = sync.Pool{New: func() any { b := make([]byte, partSize); return &b }}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	if opt.Known {
		body = blob.Exactly(body, opt.Size)
	}
	size, err := s.put(ctx, s.prefix+key, body, opt)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put %s: %w", key, classify(err))
	}
	return blob.Info{Key: key, Size: size, ModTime: time.Now()}, nil
}

func (s *Store) put(ctx context.Context, name string, body io.Reader, opt blob.PutOptions) (int64, error) {
	head := make([]byte, smallBody)
	n, err := blob.Fill(body, head)
	switch {
	case errors.Is(err, io.EOF):
		return s.putWhole(ctx, name, head[:n], opt)
	case err != nil:
		return 0, err
	}
	buf := parts.Get().(*[]byte)
	defer parts.Put(buf)
	copy(*buf, head)
	n, err = blob.Fill(body, (*buf)[smallBody:])
	switch {
	case errors.Is(err, io.EOF):
		return s.putWhole(ctx, name, (*buf)[:smallBody+n], opt)
	case err != nil:
		return 0, err
	}
	if opt.Large {
		return s.putLarge(ctx, name, *buf, body, opt)
	}
	return s.putParts(ctx, name, *buf, body, opt)
}

// putLarge stores what was read of a body and the rest of it in larger parts.
func (s *Store) putLarge(ctx context.Context, name string, head []byte, body io.Reader,
	opt blob.PutOptions,
) (int64, error) {
	buf := make([]byte, largePart)
	n := copy(buf, head)
	more, err := blob.Fill(body, buf[n:])
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return s.putParts(ctx, name, buf[:n+more], body, opt)
}

// putWhole stores data in one request.
func (s *Store) putWhole(ctx context.Context, name string, data []byte, opt blob.PutOptions) (int64, error) {
	_, err := s.core.Client.PutObject(ctx, s.bucket, name, bytes.NewReader(data), int64(len(data)), conditions(opt))
	return int64(len(data)), err
}

func conditions(opt blob.PutOptions) minio.PutObjectOptions {
	o := minio.PutObjectOptions{PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream"}
	if opt.CreateOnly {
		o.SetMatchETagExcept("*")
	}
	return o
}

// putParts stores the full part in buf and what follows in body. The client's
// own multipart upload drops the condition, so this is done here.
func (s *Store) putParts(ctx context.Context, name string, buf []byte, body io.Reader,
	opt blob.PutOptions,
) (size int64, err error) {
	id, err := s.core.NewMultipartUpload(ctx, s.bucket, name, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			s.abort(ctx, name, id)
		}
	}()
	var done []minio.CompletePart
	for n := len(buf); n > 0; {
		if len(done) == maxParts {
			return 0, fmt.Errorf("object of more than %d parts", maxParts)
		}
		p, err := s.core.PutObjectPart(ctx, s.bucket, name, id, len(done)+1, bytes.NewReader(buf[:n]), int64(n),
			minio.PutObjectPartOptions{})
		if err != nil {
			return 0, err
		}
		size += int64(n)
		done = append(done, minio.CompletePart{PartNumber: p.PartNumber, ETag: p.ETag})
		n, err = blob.Fill(body, buf)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	if opt.CreateOnly {
		// Not every server looks at the condition when parts are joined.
		if _, err := s.core.StatObject(ctx, s.bucket, name, minio.StatObjectOptions{}); err == nil {
			return 0, blob.ErrExists
		}
	}
	_, err = s.core.CompleteMultipartUpload(ctx, s.bucket, name, id, done, conditions(opt))
	return size, err
}

func (s *Store) abort(ctx context.Context, name, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_ = s.core.AbortMultipartUpload(ctx, s.bucket, name, id) // AbortStale takes what is left
}
