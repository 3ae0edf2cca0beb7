package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

const (
	// copiers is how many objects are on their way at once.
	copiers = 4
	// mostWaiting bounds the list of new objects. Beyond it all are compared.
	mostWaiting = 100_000
	// partsAge is how old an upload is that nobody finishes any more.
	partsAge = 48 * time.Hour
)

// Objects is an object store that remembers what was stored, for a Shipper.
type Objects struct {
	blob.Store
	named   func(ctx context.Context, key string) (bool, error)
	mu      sync.Mutex
	waiting []string
	all     bool // the list is not complete: compare everything
}

// Watch returns the store with a memory. Until a shipper has compared everything it
// knows of nothing that is there. Named reports whether a record names an object: such
// a one is kept in the replica, though it is gone here.
func Watch(store blob.Store, named func(ctx context.Context, key string) (bool, error)) *Objects {
	return &Objects{Store: store, named: named, all: true}
}

// Put implements blob.Store.
func (o *Objects) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	info, err := o.Store.Put(ctx, key, body, opt)
	if err == nil {
		o.mu.Lock()
		if o.waiting = append(o.waiting, key); len(o.waiting) > mostWaiting {
			o.waiting, o.all = nil, true
		}
		o.mu.Unlock()
	}
	return info, err
}

// take returns what was stored since the last time, and whether that is all.
func (o *Objects) take() (keys []string, complete bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keys, complete = o.waiting, !o.all
	o.waiting, o.all = nil, false
	return keys, complete
}

// giveBack returns what was taken and not copied.
func (o *Objects) giveBack(keys []string, complete bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting, o.all = append(keys, o.waiting...), o.all || !complete
	if len(o.waiting) > mostWaiting || o.all {
		o.waiting, o.all = nil, true
	}
}

// AbortStale drops what unfinished uploads left in the store, where it leaves something.
func (o *Objects) AbortStale(ctx context.Context, before time.Time) error {
	return abortStale(ctx, o.Store, before)
}

func abortStale(ctx context.Context, store blob.Store, before time.Time) error {
	if parts, ok := store.(interface {
		AbortStale(ctx context.Context, before time.Time) error
	}); ok {
		return parts.AbortStale(ctx, before)
	}
	return nil
}

// flush copies what was stored before it was called.
func (o *Objects) flush(ctx context.Context, to blob.Store) (err error) {
	keys, complete := o.take()
	defer func() {
		if err != nil {
			o.giveBack(keys, complete)
		}
	}()
	if !complete {
		return o.compare(ctx, to, nil)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for _, key := range keys {
		group.Go(func() error { return copyObject(ctx, o.Store, key, to, objectFolder+key, false) })
	}
	return group.Wait()
}

// copyObject copies one object; one that is gone needs no copy.
func copyObject(ctx context.Context, from blob.Store, key string, to blob.Store, name string, replace bool) error {
	_, err := twice(func() (info blob.Info, err error) {
		if info, err = from.Stat(ctx, key); err != nil {
			return info, err
		}
		body, err := from.Get(ctx, key, 0, -1)
		if err != nil {
			return info, err
		}
		opt := blob.Sized(info.Size)
		opt.CreateOnly = !replace
		info, err = to.Put(ctx, name, body, opt)
		return info, errors.Join(err, body.Close())
	})
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy object %s: %w", key, err)
	}
	return nil
}

// compare copies every object that is missing in the replica, and tells gone of those
// that are there alone.
func (o *Objects) compare(ctx context.Context, to blob.Store, gone func(key string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	there, stop := iter.Pull2(to.List(ctx, objectFolder))
	defer stop()
	theirs, err, more := there()
	for mine, listErr := range o.List(ctx, "") {
		if listErr != nil {
			return errors.Join(fmt.Errorf("list objects: %w", listErr), group.Wait())
		}
		name := objectFolder + mine.Key
		for more && err == nil && theirs.Key < name {
			if gone != nil {
				err = gone(theirs.Key[len(objectFolder):])
			}
			if err == nil {
				theirs, err, more = there()
			}
		}
		if err != nil {
			return errors.Join(fmt.Errorf("compare objects: %w", err), group.Wait())
		}
		if more && theirs.Key == name && theirs.Size == mine.Size {
			continue
		}
		replace := more && theirs.Key == name // cut off, by whatever
		group.Go(func() error { return copyObject(ctx, o.Store, mine.Key, to, name, replace) })
	}
	for more && err == nil && gone != nil {
		if err = gone(theirs.Key[len(objectFolder):]); err == nil {
			theirs, err, more = there()
		}
	}
	if err != nil {
		err = fmt.Errorf("compare objects: %w", err)
	}
	return errors.Join(err, group.Wait())
}

// sweepObjects compares everything, and deletes objects from the replica that have
// been gone here, and named by no record, for longer than the retention. When that was
// first seen stands in the replica, so that it outlasts this process. It counts the
// objects that are missing here: whoever lost their folder still has the copies.
func (o *Objects) sweepObjects(ctx context.Context, to blob.Store, cutoff time.Time) (missing int, err error) {
	err = o.compare(ctx, to, func(key string) error {
		if named, err := o.named(ctx, key); named || err != nil {
			missing++
			return err
		}
		_, err := to.Put(ctx, goneFolder+key, bytes.NewReader(nil), blob.PutOptions{Known: true, CreateOnly: true})
		if errors.Is(err, blob.ErrExists) {
			return nil
		}
		return err
	})
	if err != nil {
		return missing, err
	}
	for info, err := range to.List(ctx, goneFolder) {
		if err != nil {
			return missing, fmt.Errorf("list deleted objects: %w", err)
		}
		key := info.Key[len(goneFolder):]
		wanted, err := o.wanted(ctx, key)
		switch {
		case err != nil:
		case wanted: // it is back
			err = to.Delete(ctx, info.Key)
		case info.ModTime.Before(cutoff):
			if err = to.Delete(ctx, objectFolder+key); err == nil {
				err = to.Delete(ctx, info.Key)
			}
		}
		if err != nil {
			return missing, fmt.Errorf("sweep deleted objects: %w", err)
		}
	}
	return missing, nil
}

// wanted reports whether an object is here, or named by a record.
func (o *Objects) wanted(ctx context.Context, key string) (bool, error) {
	_, err := o.Stat(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return o.named(ctx, key)
	}
	return err == nil, err
}
