//go:build !linux

package blobdisk

import (
	"errors"
	"os"
)

// setDirect is offered on Linux alone.
func setDirect(_ *os.File, on bool) error {
	if on {
		return errors.ErrUnsupported
	}
	return nil
}
