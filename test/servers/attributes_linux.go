package servers

import "syscall"

// KeepsAttributes reports whether files in the folder can carry attributes of
// users, in which versitygw keeps what belongs to an object.
func KeepsAttributes(dir string) bool {
	return syscall.Setxattr(dir, "user.castalia", []byte("x"), 0) == nil
}
