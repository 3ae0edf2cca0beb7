// Package blobmem keeps objects in memory, for tests. It promises the contract
// of blob.Store but durability.
package blobmem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// Store is a blob.Store in memory.
type Store struct {
	mu      sync.RWMutex
	objects map[string]object
}

type object struct {
	data []byte
	at   time.Time
}

// New returns an empty store.
func New() *Store { return &Store{objects: map[string]object{}} }

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	if opt.Known {
		body = blob.Exactly(body, opt.Size)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return blob.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[key]; ok && opt.CreateOnly {
		return blob.Info{}, fmt.Errorf("put %s: %w", key, blob.ErrExists)
	}
	o := object{data, time.Now()}
	s.objects[key] = o
	return blob.Info{Key: key, Size: int64(len(data)), ModTime: o.at}, nil
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return nil, err
	}
	size := int64(len(o.data))
	if off < 0 || off > size {
		return nil, fmt.Errorf("get %s from %d: %w", key, off, blob.ErrRange)
	}
	end := size
	if n >= 0 && n < size-off {
		end = off + n
	}
	return io.NopCloser(bytes.NewReader(o.data[off:end])), nil
}

func (s *Store) find(ctx context.Context, key string) (object, error) {
	if err := blob.CheckKey(key); err != nil {
		return object{}, err
	}
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, fmt.Errorf("%s: %w", key, blob.ErrNotFound)
	}
	return o, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	return blob.Info{Key: key, Size: int64(len(o.data)), ModTime: o.at}, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
	return ctx.Err()
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		if err := blob.CheckPrefix(prefix); err != nil {
			yield(blob.Info{}, err)
			return
		}
		for _, i := range s.infos(prefix) {
			if err := ctx.Err(); err != nil {
				yield(blob.Info{}, err)
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (s *Store) infos(prefix string) []blob.Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []blob.Info
	for k, o := range s.objects {
		if strings.HasPrefix(k, prefix) {
			all = append(all, blob.Info{Key: k, Size: int64(len(o.data)), ModTime: o.at})
		}
	}
	slices.SortFunc(all, func(a, b blob.Info) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Ping implements blob.Store.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }
