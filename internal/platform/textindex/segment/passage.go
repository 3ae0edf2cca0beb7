package segment

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// The bounds of one passage.
const (
	MaxName = 512      // bytes of a collection's or a document's name
	MaxText = 64 << 10 // bytes of a passage's text
	MaxHead = 2 << 10  // bytes of a title, and of headings
	MaxMeta = 4 << 10  // bytes of what the caller keeps with a passage
)

// ErrPassage says that a passage cannot be indexed as it is.
var ErrPassage = errors.New("passage cannot be indexed")

// Passage is a piece of a document that can be found and quoted.
type Passage struct {
	// Document names the document in its collection, and Number the place of the
	// passage in it. Together they are unique in the collection.
	Document string
	Number   uint32
	// Language is detected when it is empty.
	Language analyse.Language
	// Title is the document's, Headings the path of headings to the passage.
	Title, Headings string
	Text            string
	// Meta is kept and given back as it is, such as the page.
	Meta []byte
}

func (p Passage) check() error {
	switch {
	case p.Document == "" || len(p.Document) > MaxName:
		return fmt.Errorf("%w: its document's name has %d bytes, allowed are 1 to %d", ErrPassage, len(p.Document), MaxName)
	case len(p.Text) > MaxText:
		return fmt.Errorf("%w: its text has %d bytes, allowed are %d", ErrPassage, len(p.Text), MaxText)
	case len(p.Title) > MaxHead || len(p.Headings) > MaxHead:
		return fmt.Errorf("%w: its title or headings have more than %d bytes", ErrPassage, MaxHead)
	case len(p.Meta) > MaxMeta:
		return fmt.Errorf("%w: %d bytes are kept with it, allowed are %d", ErrPassage, len(p.Meta), MaxMeta)
	}
	return nil
}

// Key names a passage among all collections.
type Key struct {
	Collection string
	Document   string
	Number     uint32
}

// Compare is the order of passages with equal scores.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Collection, other.Collection), cmp.Compare(k.Document, other.Document),
		cmp.Compare(k.Number, other.Number))
}

// tie is a number by which passages with equal scores are told apart where
// reading their keys would cost too much. It depends on the key alone.
func (k Key) tie() uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, s := range []string{k.Collection, k.Document} {
		for i := range len(s) {
			h = (h ^ uint32(s[i])) * 16777619
		}
		h = (h ^ 0xff) * 16777619
	}
	for shift := 0; shift < 32; shift += 8 {
		h = (h ^ k.Number>>shift&0xff) * 16777619
	}
	return h
}
