//go:build linux || darwin

package diskroom

import "syscall"

func measure(dir string) (free, size int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)                                      //nolint:unconvert // narrower elsewhere
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil //nolint:gosec // disks have fewer bytes
}
