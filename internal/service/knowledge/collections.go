package knowledge

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// DefaultFolder is where the documents of collections are whose maker named none.
const DefaultFolder = "/knowledge"

// NewCollection is what somebody wants to make.
type NewCollection struct {
	Name    string
	Folder  string // empty: DefaultFolder and the name
	Readers Readers
	DIDs    []string
}

// FolderFor is the folder of a collection of that name, unless another is named.
func FolderFor(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '/' || r == '.' || unicode.IsSpace(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(name))
	return DefaultFolder + "/" + plain
}

// Create makes a folder a collection.
func (s *Service) Create(ctx context.Context, m Manager, n NewCollection) (Collection, error) {
	c := Collection{
		ID: NewID(), Namespace: m.Namespace, Name: n.Name, Folder: n.Folder, Readers: n.Readers, DIDs: n.DIDs,
		Created: s.Now(),
	}
	if c.Folder == "" {
		c.Folder = FolderFor(n.Name)
	}
	var err error
	if c, err = checked(c); err != nil {
		return Collection{}, err
	}
	if !m.covers(c.Folder) {
		return Collection{}, notManaged()
	}
	if !m.Owner && c.Readers != Delegates { // whoever holds a delegation reads there as it is
		return Collection{}, notTheOwner()
	}
	if c.WrappedKey, c.MasterID, err = s.keys.lock(ctx, c.ID, seal.NewKey()); err != nil {
		return Collection{}, err
	}
	feed, err := s.Files.LastChange(ctx, c.Namespace)
	if err != nil {
		return Collection{}, err
	}
	if err := s.Store.CreateCollection(ctx, c, feed, MaxCollections); err != nil {
		return Collection{}, err
	}
	c.Updated = c.Created
	s.changed()
	return c, nil
}

// checked gives every part of a collection its one form, or says what is wrong.
func checked(c Collection) (Collection, error) {
	c.Name = strings.TrimSpace(c.Name)
	if c.Name == "" || len(c.Name) > MaxName || !utf8.ValidString(c.Name) ||
		strings.ContainsFunc(c.Name, unicode.IsControl) {
		return c, fault.Newf(fault.Invalid, "The name of a collection has 1 to %d bytes of plain text.", MaxName)
	}
	folder, err := vfspath.CleanFolder(c.Folder)
	if err != nil {
		return c, fault.Wrap(fault.Invalid, "The folder is not a path: "+err.Error()+".", err)
	}
	folder = strings.TrimSuffix(folder, "/")
	if folder == "" {
		return c, fault.New(fault.Invalid, "A collection is a folder, not all of your files.")
	}
	if vfspath.IsHidden(folder) {
		return c, fault.New(fault.Invalid, "A hidden folder cannot be a collection.")
	}
	c.Folder = folder
	if !c.Readers.Known() {
		return c, fault.New(fault.Invalid, "Readers are everybody, members, named or delegates.")
	}
	if (c.Readers == Named) != (len(c.DIDs) > 0) {
		return c, fault.New(fault.Invalid, "Named readers, and no others, come with a list of DIDs.")
	}
	if len(c.DIDs) > MaxReaders {
		return c, fault.Newf(fault.Invalid, "A collection names at most %d readers.", MaxReaders)
	}
	dids := make([]string, 0, len(c.DIDs))
	for _, text := range c.DIDs {
		d, err := did.Parse(text)
		if err != nil {
			return c, fault.Newf(fault.Invalid, "%.100q is not a DID.", text)
		}
		dids = append(dids, string(d))
	}
	slices.Sort(dids)
	c.DIDs = slices.Compact(dids)
	return c, nil
}

// notManaged refuses whoever may see a folder and not decide about it.
func notManaged() error {
	return fault.New(fault.Forbidden, "The token does not give everything (fs/*) in the collection's folder.").WithCode("ability_not_granted")
}

// notTheOwner refuses delegates: whom they let read would go on reading what comes
// into the folder after their own right is over.
func notTheOwner() error {
	return fault.New(fault.Forbidden, "Only the owner of the files chooses who reads a collection, with a token of their own.").WithCode("not_the_owner")
}

// Changes are what is to be different of a collection; what is nil stays.
type Changes struct {
	Name    *string
	Readers *Readers
	DIDs    []string
}

// choosesReaders reports whether the changes touch who reads.
func (c Changes) choosesReaders() bool { return c.Readers != nil || c.DIDs != nil }

func (c Changes) apply(to Collection) Collection {
	if c.Name != nil {
		to.Name = *c.Name
	}
	if c.Readers != nil {
		to.Readers = *c.Readers
		if to.Readers != Named {
			to.DIDs = nil
		}
	}
	if c.DIDs != nil {
		to.DIDs = c.DIDs
	}
	return to
}

// Change gives a collection another name or other readers.
func (s *Service) Change(ctx context.Context, m Manager, id string, changes Changes) (Collection, error) {
	if changes.choosesReaders() && !m.Owner {
		if _, err := s.Store.Collection(ctx, m.Reach, id); err != nil {
			return Collection{}, err // nobody learns of what is out of reach
		}
		return Collection{}, notTheOwner()
	}
	return s.Store.ChangeCollection(ctx, m.Reach, id, func(c Collection) (Collection, error) {
		c, err := checked(changes.apply(c))
		c.Updated = s.Now()
		return c, err
	})
}

// Delete forgets a collection. Its files stay.
func (s *Service) Delete(ctx context.Context, m Manager, id string) error {
	c, err := s.Store.Collection(ctx, m.Reach, id)
	if err != nil {
		return err
	}
	if err := s.Store.DeleteCollection(ctx, c.Namespace, id, s.Now()); err != nil {
		return err
	}
	s.shelf.drop(id)
	return nil
}

// ForMany lists collections for everybody or for members, published or not, after an id.
func (s *Service) ForMany(ctx context.Context, after string, limit int) ([]Collection, error) {
	return s.Store.ForMany(ctx, after, min(max(limit, 1), MaxPage))
}

// Publish is an operator's consent that a collection is read by those whom its owner
// chose. It stays until it is taken back, also for narrower readers.
func (s *Service) Publish(ctx context.Context, id string, readers Readers) (Collection, error) {
	if !readers.NeedConsent() {
		return Collection{}, fault.New(fault.Invalid, "Only collections for everybody or members are published.")
	}
	return s.Store.Publish(ctx, id, readers, s.Now())
}

// Unpublish takes the consent back: the collection is its owner's alone again.
func (s *Service) Unpublish(ctx context.Context, id string) error { return s.Store.Unpublish(ctx, id) }
