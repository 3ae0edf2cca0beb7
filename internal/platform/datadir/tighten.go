package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// open is what others must not have: any bit of the group or of everybody.
const open fs.FileMode = 0o077

// Tighten takes from others what they may do with a data folder (mode 0700; keys
// and database 0600). It returns what it changed, and an error that names what
// others can still reach: a folder of another owner, or a file system that knows
// no modes.
//
// A folder that holds things of other programs too, such as /tmp or a home, is
// left as it is and only what is ours in it is tightened: taking such a folder
// from everybody else could break a machine.
func Tighten(dir string, ours ...string) (changed []string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("look at the data folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the data folder: %w", err)
	}
	var errs []error
	note := func(path string) {
		tightened, err := tighten(path)
		if tightened {
			changed = append(changed, path)
		}
		errs = append(errs, err)
	}
	shared := false
	for _, entry := range entries {
		if !isOurs(entry.Name(), ours) {
			shared = true
			continue
		}
		path := filepath.Join(dir, entry.Name())
		note(path)
		if entry.Name() != keyFolder {
			continue
		}
		keys, err := os.ReadDir(path)
		errs = append(errs, err)
		for _, key := range keys {
			note(filepath.Join(path, key.Name()))
		}
	}
	if !shared {
		note(dir)
	} else if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&open != 0 {
		errs = append(errs, fmt.Errorf("others can list %s (mode %04o), which holds other things too: give Castalia a folder of its own (CASTALIA_DATA)", dir, info.Mode().Perm()))
	}
	return changed, errors.Join(errs...)
}

// keyFolder holds the keys, each of which is tightened too.
const keyFolder = "keys"

// isOurs knows an entry by its name, and the files that SQLite puts beside it.
func isOurs(name string, ours []string) bool {
	if name == lockFile || name == keyFolder || name == "lost+found" {
		return true
	}
	for _, own := range ours {
		if name == own || strings.HasPrefix(name, own+"-") {
			return true
		}
	}
	return false
}

// tighten takes a file or folder from others. Links are left alone: what they
// lead to belongs to whoever made them.
func tighten(path string) (changed bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) { // such as SQLite's files, which come and go
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		if info, err = os.Stat(path); err != nil {
			return false, err
		}
		if mode = info.Mode(); mode.Perm()&open != 0 {
			return false, fmt.Errorf("others can reach %s (mode %04o), which a link leads to: take it from them", path, mode.Perm())
		}
		return false, nil
	}
	if mode.Perm()&open == 0 {
		return false, nil
	}
	if !ownedByUs(info) {
		return false, fmt.Errorf("others can reach %s (mode %04o), which belongs to another user: run `chmod go= %s` as its owner", path, mode.Perm(), path)
	}
	if err := os.Chmod(path, mode.Perm()&^open); err != nil {
		return false, fmt.Errorf("others can reach %s (mode %04o): %w", path, mode.Perm(), err)
	}
	after, err := os.Lstat(path)
	if err == nil && after.Mode().Perm()&open != 0 {
		err = fmt.Errorf("others can reach %s (mode %04o): its file system does not keep modes", path, after.Mode().Perm())
	}
	return err == nil, err
}
