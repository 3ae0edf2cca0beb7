package upkeep

import (
	"context"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Finding is one thing that the doctor saw.
type Finding struct {
	Problem  bool
	Text     string
	Repaired bool
}

// Examine says how the doctor looks: Deep reads every byte, Repair removes
// orphans.
type Examine struct{ Deep, Repair bool }

// Doctor compares records and objects and tells what it finds as it goes. It may
// run beside live nodes: what is being written is not an orphan.
func (s *Service) Doctor(ctx context.Context, x Examine, tell func(Finding)) error {
	if err := s.checkBlobs(ctx, x, tell); err != nil {
		return err
	}
	return s.checkObjects(ctx, x, tell)
}

// checkBlobs looks at every record.
func (s *Service) checkBlobs(ctx context.Context, x Examine, tell func(Finding)) error {
	live, bad, last := 0, 0, ""
	for {
		page, err := s.store.BlobsAfter(ctx, last, sweepSlice)
		if err != nil {
			return err
		}
		for _, b := range page {
			last = b.ID
			if b.State != filestore.Live {
				continue
			}
			live++
			if err := s.checkBlob(ctx, b, x.Deep); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if gone, goneErr := s.gone(ctx, b); goneErr != nil {
					return goneErr
				} else if gone {
					live--
					continue
				}
				bad++
				tell(Finding{Problem: true, Text: fmt.Sprintf("%s: %v", s.whose(ctx, b), err)})
			}
		}
		if len(page) < sweepSlice {
			break
		}
	}
	how := "are in place"
	if x.Deep {
		how = "match their CIDs"
	}
	tell(Finding{Text: fmt.Sprintf("%d of %d contents %s", live-bad, live, how)})
	return nil
}

// gone reports whether a content was purged while it was looked at.
func (s *Service) gone(ctx context.Context, b filestore.Blob) (bool, error) {
	now, err := s.store.Blob(ctx, b.ID)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return err == nil && now.State != filestore.Live, err
}

// checkBlob verifies the sizes of a blob's objects, or with deep every byte.
func (s *Service) checkBlob(ctx context.Context, b filestore.Blob, deep bool) error {
	for _, e := range b.Extents {
		if e.Object == "" {
			if int64(len(e.Inline)) != e.Sealed {
				return fmt.Errorf("small content has %d bytes instead of %d", len(e.Inline), e.Sealed)
			}
			continue
		}
		info, err := s.objects.Stat(ctx, e.Object)
		if err != nil {
			return fmt.Errorf("object %s: %w", e.Object, err)
		}
		if info.Size != e.Sealed {
			return fmt.Errorf("object %s has %d bytes instead of %d", e.Object, info.Size, e.Sealed)
		}
	}
	if !deep {
		return nil
	}
	versions, err := s.store.VersionsOf(ctx, b.ID)
	if err != nil || len(versions) == 0 {
		return err
	}
	o, err := s.files.OpenBlob(ctx, b, versions[0].Size)
	if err != nil {
		return err
	}
	r, err := o.Range(0, -1)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	got, _, err := cid.Sum(r, cid.Options{})
	if err != nil {
		return err
	}
	if got.String() != versions[0].CID {
		return fmt.Errorf("content has the CID %s instead of %s", got, versions[0].CID)
	}
	return nil
}

// whose names the files behind a blob.
func (s *Service) whose(ctx context.Context, b filestore.Blob) string {
	versions, err := s.store.VersionsOf(ctx, b.ID)
	if err != nil || len(versions) == 0 {
		return "content " + b.ID
	}
	_, path, err := s.store.FilePath(ctx, versions[0].FileID)
	if err != nil {
		return "content " + b.ID
	}
	return fmt.Sprintf("%s version %d (namespace %s)", path, versions[0].Number, b.Namespace)
}

// checkObjects looks for objects that no record names.
func (s *Service) checkObjects(ctx context.Context, x Examine, tell func(Finding)) error {
	orphans, total := 0, 0
	for info, err := range s.objects.List(ctx, "files/") {
		if err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		total++
		known, err := Named(ctx, s.store, info.Key)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		orphans++
		f := Finding{Problem: true, Text: fmt.Sprintf("object %s (%d bytes) belongs to no content", info.Key, info.Size)}
		if x.Repair {
			if err := s.objects.Delete(ctx, info.Key); err != nil {
				return fmt.Errorf("delete orphan: %w", err)
			}
			f.Repaired = true
		}
		tell(f)
	}
	tell(Finding{Text: fmt.Sprintf("%d objects, %d of them orphans", total, orphans)})
	return nil
}

// DropOrphans deletes objects that no record names, and returns how many there
// were. It is for places that nobody writes to: a backup of a busy place has
// objects that are younger than its records.
func DropOrphans(ctx context.Context, store filestore.Store, objects blob.Store) (int, error) {
	n := 0
	for info, err := range objects.List(ctx, "files/") {
		if err != nil {
			return n, fmt.Errorf("list objects: %w", err)
		}
		named, err := Named(ctx, store, info.Key)
		if err != nil {
			return n, err
		}
		if named {
			continue
		}
		if err := objects.Delete(ctx, info.Key); err != nil {
			return n, fmt.Errorf("delete orphan: %w", err)
		}
		n++
	}
	return n, nil
}

// Named reports whether a record names the object, or will have it swept.
func Named(ctx context.Context, store filestore.Store, key string) (bool, error) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	id, _, _ := strings.Cut(name, "-")
	b, err := store.Blob(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil || b.State != filestore.Live {
		return true, err // dead and pending ones are the sweeper's
	}
	if b.Has(key) {
		return true, nil
	}
	// A part that was stored and never counted goes with its upload.
	return store.Uploading(ctx, id)
}
