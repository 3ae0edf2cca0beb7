// Package davstate is what WebDAV keeps beside the files: properties that clients
// made up, and locks.
//
// Both are in the database, so that any node can serve any request. Properties hang
// on the id of a file or of a made folder: they go with it when it moves and end with
// it. A lock is on a path. It binds those who come by WebDAV, as RFC 4918 has it;
// who comes another way has conditions (If-Match) for the same purpose.
package davstate

import (
	"context"
	"encoding/xml"
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/service/filestore"
)

// The most that is kept: properties of a file, bytes of all of them together and of all of
// a namespace, since no quota counts them, locks of a namespace, and what the maker of one says
// of itself, which is told of each file that the lock is on.
const (
	MaxProps     = 100
	MaxPropBytes = 64 << 10
	MaxTogether  = 64 << 20
	MaxLocks     = 1000
	MaxOwner     = 1 << 10
)

// Prop is a property, with its whole element as text.
type Prop struct {
	Name xml.Name
	XML  string
}

// Lock keeps others from writing.
type Lock struct {
	Namespace string
	Path      string
	Token     string
	Deep      bool // it holds for all below
	Shared    bool
	OwnerXML  string // what its maker says of itself
	Holder    string // the DID that made it
	Timeout   time.Duration
	Expires   time.Time
}

// ErrLocked says that a lock is in the way of another.
var ErrLocked = errors.New("locked")

// Free reports whether locks let somebody change what they are on: of each place that
// is locked, somebody who made one of its locks named that one.
func Free(locks []Lock, who string, named map[string]bool) bool {
	free := map[string]bool{}
	for _, l := range locks {
		free[l.Path] = free[l.Path] || named[l.Token] && l.Holder == who
	}
	for _, is := range free {
		if !is {
			return false
		}
	}
	return true
}

// Store keeps properties and locks.
type Store interface {
	// Props returns the properties of files and folders by their id.
	Props(ctx context.Context, owners []string) (map[string][]Prop, error)
	PatchProps(ctx context.Context, owner string, set []Prop, remove []xml.Name) error
	// MarkFile keeps what is said of a file's current version.
	MarkFile(ctx context.Context, f filestore.File, m filestore.Mark) error
	// Locks returns those that hold for a path and, when below is set, those on what
	// is below it.
	Locks(ctx context.Context, namespace, path string, below bool, now time.Time) ([]Lock, error)
	// AddLock fails with ErrLocked when another one is in its way.
	AddLock(ctx context.Context, l Lock, now time.Time) error
	RenewLock(ctx context.Context, l Lock) error
	RemoveLock(ctx context.Context, l Lock) error
	// RemoveLocks forgets the locks on a path and on what was below it.
	RemoveLocks(ctx context.Context, namespace, path string) error
}
