// Package datadir makes the data folder of the embedded shape and keeps it to one
// process: two programs on one folder would corrupt what they both believe to
// own. It takes the folder from other users of the machine. The lock is the
// kernel's, so it ends with the process however that ends; the file that carries
// it only says whose it is.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockFile carries the lock.
const lockFile = "lock"

// Held is a locked data folder.
type Held struct{ file *os.File }

// Lock makes the folder if need be (mode 0700) and takes it for this process.
// It fails at once, naming the folder and the holder, when another has it.
func Lock(dir string) (*Held, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := takeLock(file); err != nil {
		holder, _ := os.ReadFile(file.Name())
		err = fmt.Errorf("data folder %s is in use by process %s: stop it, or give this one another folder (CASTALIA_DATA)", dir, strings.TrimSpace(string(holder)))
		return nil, errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("lock data folder: %w", err), file.Close())
	}
	return &Held{file}, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// Release gives the folder back.
func (h *Held) Release() error { return h.file.Close() }
