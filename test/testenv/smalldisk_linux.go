package testenv

import (
	"os"
	"syscall"
	"testing"
)

// SmallDisk returns a folder on a disk of its own that holds so many bytes and no
// more. It goes with the test.
func SmallDisk(t testing.TB, size string) string {
	t.Helper()
	Need(t, "smalldisk")
	dir := t.TempDir()
	if err := mountSmall(dir, size); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func mountSmall(dir, size string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size="+size)
}

// noSmallDisk says why a disk cannot be mounted here; empty means that it can.
// It tries: nothing else tells what a container forbids.
func noSmallDisk() string {
	dir, err := os.MkdirTemp("", "castalia-probe-")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = os.Remove(dir) }()
	if err := mountSmall(dir, "1m"); err != nil {
		return "mounting a small disk fails: " + err.Error()
	}
	if err := syscall.Unmount(dir, 0); err != nil {
		return "unmounting a small disk fails: " + err.Error()
	}
	return ""
}
