// Package folder lists, makes, deletes, moves and copies folders of the file store.
//
// A folder is there when something is below it, or when somebody made it: then it
// stays when it is empty. The package promises that deleting, moving or copying a
// folder is one act: after a crash, and for every reader, all of it was done or
// nothing. It does what the caller's scope reaches and says nothing of the rest.
//
// It refuses to move a folder into itself, to give a file and a folder the same
// name, and acts on more than MaxEntries files: one act is one transaction, for
// which other writers wait. They get their turn before the next one: long acts of a
// namespace have rests between them.
//
// Decision: ADR 0179, ADR 0298.
package folder

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// MaxEntries is how many files one act on a folder reaches, and how many made
// folders.
const MaxEntries = 10_000

// MaxMade is how many folders may be made in a namespace, MaxListed how many of them
// one listing gives.
const (
	MaxMade   = 100_000
	MaxListed = 1000
)

// Folder is a folder that is there.
type Folder struct {
	Path string
	// ID and Created are empty for one that nobody made: files imply it.
	ID      string
	Created time.Time
}

// Made reports whether the folder stays when it is empty.
func (f Folder) Made() bool { return f.ID != "" }

// Entry is a file or a made folder somewhere below a folder. The Path of a folder
// ends with a slash.
type Entry struct {
	Path   string
	Folder Folder // when Path ends with a slash
	File   filestore.File
	Mark   filestore.Mark
}

// EntryQuery selects entries below Prefix, which ends with a slash, in path order. No more
// of them are read when their paths have taken Room.
type EntryQuery struct {
	Prefix, From string
	Limit, Room  int
}

// MadeQuery selects the made folders at and below Under, in path order.
type MadeQuery struct {
	Under, After string
	Limit        int
}

// Onto says what happens to what is at the destination.
type Onto int

// The files of both stay, unless names meet: Merge refuses then, Overwrite puts what
// was there into the trash. Replace does that with all that was there. Nothing refuses
// where anything is, also a folder that would only be added to.
const (
	Merge Onto = iota
	Overwrite
	Replace
	Nothing
)

// OntoFlag is what callers mean who can only say whether to overwrite.
func OntoFlag(overwrite bool) Onto {
	if overwrite {
		return Overwrite
	}
	return Merge
}

// ParseOnto reads what callers say who can say more.
func ParseOnto(text string) (Onto, error) {
	switch text {
	case "merge":
		return Merge, nil
	case "overwrite":
		return Overwrite, nil
	case "replace":
		return Replace, nil
	case "nothing":
		return Nothing, nil
	}
	return Merge, fault.Newf(fault.Invalid, "onto is %q: it can be nothing, merge, overwrite or replace", text)
}

// Making is a change that makes a folder.
type Making struct {
	filestore.Change
	Path, ID string
}

// Moving is a change that moves a file or a folder. The scope of the change is for both ends.
type Moving struct {
	filestore.Change
	From, To string
	Onto     Onto
	Discard  filestore.Scope // what may go to the trash
}

// Copying is a change that copies a file or a folder. The scope of the change is for
// the destination.
type Copying struct {
	filestore.Change
	From, To string
	Onto     Onto
	Source   filestore.Scope
	Discard  filestore.Scope
	Quota    int64
}

// Store keeps folders. Each method is one transaction; scopes are part of the query.
type Store interface {
	Entries(ctx context.Context, s filestore.Scope, q EntryQuery) ([]Entry, error)
	// FileAt returns the file at a path.
	FileAt(ctx context.Context, s filestore.Scope, path string) (Entry, error)
	// FolderAt returns a folder that is there; NotFound otherwise.
	FolderAt(ctx context.Context, s filestore.Scope, path string) (Folder, error)
	// MadeFolders lists folders that stay when they are empty, whether or not they are.
	MadeFolders(ctx context.Context, s filestore.Scope, q MadeQuery) ([]Folder, error)
	MakeFolder(ctx context.Context, m Making) (f Folder, created bool, err error)
	// DropFolder forgets a folder that was made and that has nothing in the scope in it.
	DropFolder(ctx context.Context, c filestore.Change, path string) (filestore.Receipt, error)
	// TrashFolder, MoveTo and Copy count the files and made folders in the receipt, or
	// have the file when it is one.
	TrashFolder(ctx context.Context, c filestore.Change, path string) (filestore.Receipt, error)
	MoveTo(ctx context.Context, m Moving) (filestore.Receipt, error)
	Copy(ctx context.Context, c Copying) (filestore.Receipt, error)
}

// Files is what folders need of the file store; *filestore.Service is it.
type Files interface {
	Now() time.Time
	Quota(namespace string) int64
	Once(ctx context.Context, a filestore.Access, o filestore.Once,
		do func() (filestore.Receipt, error)) (filestore.Receipt, error)
	Changed(namespace string)
}

// Service works on folders.
type Service struct {
	files Files
	store Store
	turns turns
	notes notes
}

// New returns a Service.
func New(files Files, store Store) *Service {
	return &Service{files: files, store: store, turns: newTurns()}
}

// At returns the folder at a path.
func (s *Service) At(ctx context.Context, a filestore.Access, path string) (Folder, error) {
	scope, err := a.Scope(filestore.List)
	if err != nil {
		return Folder{}, err
	}
	if path, err = filename.CleanFolder(path); err != nil {
		return Folder{}, err
	}
	if path == "/" {
		return Folder{Path: "/"}, nil
	}
	return s.store.FolderAt(ctx, scope, path)
}

// File returns the file at a path, with what was said of its content.
func (s *Service) File(ctx context.Context, a filestore.Access, path string) (Entry, error) {
	scope, err := a.Scope(filestore.List)
	if err != nil {
		return Entry{}, err
	}
	if path, err = filename.CleanPath(path); err != nil {
		return Entry{}, err
	}
	return s.store.FileAt(ctx, scope, path)
}

// Make makes a folder that stays when it is empty, and reports whether it was not
// there before. The folders above need not be there.
func (s *Service) Make(ctx context.Context, a filestore.Access, path string) (Folder, bool, error) {
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return Folder{}, false, err
	}
	if path, err = filename.CleanPath(path); err != nil {
		return Folder{}, false, err
	}
	if err := scope.Writable(path); err != nil {
		return Folder{}, false, err
	}
	return s.store.MakeFolder(ctx, Making{
		Change: s.change(a, scope, filestore.Once{}), Path: path, ID: filename.NewFile(),
	})
}

// Drop forgets a folder that was made, and refuses one in which something is.
func (s *Service) Drop(ctx context.Context, a filestore.Access, path string,
	once filestore.Once,
) (filestore.Receipt, error) {
	return s.remove(ctx, a, path, once, s.store.DropFolder)
}

// Trash puts every file of a folder into the trash and forgets the folder. The
// receipt counts what went.
func (s *Service) Trash(ctx context.Context, a filestore.Access, path string,
	once filestore.Once,
) (filestore.Receipt, error) {
	return s.remove(ctx, a, path, once, s.store.TrashFolder)
}

func (s *Service) remove(ctx context.Context, a filestore.Access, path string, once filestore.Once,
	do func(context.Context, filestore.Change, string) (filestore.Receipt, error),
) (filestore.Receipt, error) {
	scope, err := a.Scope(filestore.Delete)
	if err != nil {
		return filestore.Receipt{}, err
	}
	if path, err = filename.CleanPath(path); err != nil {
		return filestore.Receipt{}, err
	}
	return s.act(ctx, a, once, func() (filestore.Receipt, error) {
		return do(ctx, s.change(a, scope, once), path)
	})
}

// Ends names where a move or a copy begins and ends.
type Ends struct {
	From, To string
	Onto     Onto
	Once     filestore.Once
}

// discard returns what of the destination may go to the trash.
func (e Ends) discard(a filestore.Access) (filestore.Scope, error) {
	if e.Onto == Merge || e.Onto == Nothing {
		return filestore.Scope{}, nil
	}
	return a.Scope(filestore.Delete)
}

func (e *Ends) clean() (err error) {
	if e.From, err = filename.CleanPath(e.From); err != nil {
		return err
	}
	if e.To, err = filename.CleanPath(e.To); err != nil {
		return err
	}
	if vfspath.Root(e.From).Contains(e.To) {
		return fault.New(fault.Invalid, "nothing can be put into itself")
	}
	if e.Onto == Replace && vfspath.Below(e.To).Contains(e.From) {
		return fault.New(fault.Invalid, "a folder cannot replace the one that it is in")
	}
	return nil
}

// Move gives a file or a folder another path. The receipt has the File when it was one.
func (s *Service) Move(ctx context.Context, a filestore.Access, e Ends) (filestore.Receipt, error) {
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return filestore.Receipt{}, err
	}
	if err := e.clean(); err != nil {
		return filestore.Receipt{}, err
	}
	if a.BlindWriter() {
		if err := a.Carry(e.From, e.To); err != nil {
			return filestore.Receipt{}, err
		}
	}
	discard, err := e.discard(a)
	if err != nil {
		return filestore.Receipt{}, err
	}
	return s.spread(ctx, a, e.Once, func() (filestore.Receipt, error) {
		return s.store.MoveTo(ctx, Moving{
			Change: s.change(a, scope, e.Once), From: e.From, To: e.To, Onto: e.Onto, Discard: discard,
		})
	})
}

// Copy makes new files with the content of a file, or of all in a folder. No bytes
// move. What was at a file's destination becomes an older version of it. The receipt
// has the File when it was one.
func (s *Service) Copy(ctx context.Context, a filestore.Access, e Ends) (filestore.Receipt, error) {
	source, err := a.Scope(filestore.Read)
	if err != nil {
		return filestore.Receipt{}, err
	}
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return filestore.Receipt{}, err
	}
	if err := e.clean(); err != nil {
		return filestore.Receipt{}, err
	}
	discard, err := e.discard(a)
	if err != nil {
		return filestore.Receipt{}, err
	}
	return s.spread(ctx, a, e.Once, func() (filestore.Receipt, error) {
		return s.store.Copy(ctx, Copying{
			Change: s.change(a, scope, e.Once), From: e.From, To: e.To, Onto: e.Onto, Source: source, Discard: discard,
			Quota: s.files.Quota(a.Namespace),
		})
	})
}

func (s *Service) change(a filestore.Access, scope filestore.Scope, once filestore.Once) filestore.Change {
	return filestore.Change{Scope: scope, By: a.By(), Once: once, Now: s.files.Now()}
}

// spread is act for what notes as much as it reaches, and leaves it there to be acted on
// again.
func (s *Service) spread(ctx context.Context, a filestore.Access, once filestore.Once,
	do func() (filestore.Receipt, error),
) (filestore.Receipt, error) {
	return s.act(ctx, a, once, func() (filestore.Receipt, error) {
		if err := s.MayNote(a.Namespace); err != nil {
			return filestore.Receipt{}, err
		}
		return do()
	})
}

func (s *Service) act(ctx context.Context, a filestore.Access, once filestore.Once,
	do func() (filestore.Receipt, error),
) (filestore.Receipt, error) {
	over, err := s.turns.take(ctx, a.Namespace)
	if err != nil {
		return filestore.Receipt{}, err
	}
	defer over()
	r, err := s.files.Once(ctx, a, once, do)
	if err == nil && !r.Replayed && r.Seq != 0 {
		s.files.Changed(a.Namespace)
		s.Noted(a.Namespace, r.Noted)
	}
	return r, err
}
