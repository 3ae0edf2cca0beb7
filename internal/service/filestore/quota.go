package filestore

import (
	"context"
	"math"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// OverQuota says that a namespace would hold more than it may. Versions that
// retention keeps and files in the trash count: they take room.
func OverQuota(quota int64) error {
	return fault.Newf(fault.StorageFull, "the namespace may hold %d bytes, with old versions and the trash: purge something first", quota).
		WithCode("quota_exceeded")
}

// PartsOverQuota says that what was uploaded and not finished takes too much room.
func PartsOverQuota(quota int64) error {
	return fault.Newf(fault.StorageFull, "the namespace may hold %d bytes of unfinished uploads: finish or end one first", quota).
		WithCode("quota_exceeded")
}

// roomForParts returns how many bytes more the unfinished uploads of a namespace
// may hold: all of them together as much as its files. They become files or end,
// so neither counts for the other.
func (s *Service) roomForParts(ctx context.Context, namespace string) (int64, error) {
	quota := s.Quota(namespace)
	if quota <= 0 {
		return math.MaxInt64, nil
	}
	held, err := s.store.UploadBytes(ctx, namespace)
	if err == nil && held >= quota {
		err = PartsOverQuota(quota)
	}
	return quota - held, err
}

// roomFor refuses early what cannot fit. The commit decides; this only saves
// the bytes. It does not know what retention will drop, so it refuses little.
func (s *Service) roomFor(ctx context.Context, namespace string, size int64) error {
	quota := s.Quota(namespace)
	if quota <= 0 {
		return nil
	}
	if size > quota {
		return OverQuota(quota)
	}
	scope, err := Owner(namespace).Scope(List)
	if err != nil {
		return err
	}
	u, err := s.store.Usage(ctx, scope)
	if err == nil && u.VersionBytes > quota {
		return OverQuota(quota)
	}
	return err
}
