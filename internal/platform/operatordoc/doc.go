// Package operatordoc keeps the documents that operators change while the program
// runs: instructions, models and what else is more than a setting.
//
// A document comes from one place: a variable of the environment, else a file,
// else the database, else what the program has built in. It promises that the
// last text that could be read stays in force until a better one comes, and says
// in State what is wrong with the newer one; that a file is read again within a
// second of its change; that what is stored reaches every node within a second;
// and that every stored version says who wrote it and when. At the start a
// variable or a file that cannot be read is an error: there is nothing before it. A
// node that does not need the document is spared that.
//
// It refuses to store what cannot be read, what is larger than the document's
// limit, what was written over another version than the newest, and anything
// while a variable or a file rules. It does not know what is in a document:
// Definition.Parse does.
//
// Decision: ADR 0165.
package operatordoc

import (
	"context"
	"time"
)

// Source is where the text in force comes from.
type Source string

// The sources, the strongest first.
const (
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromDatabase    Source = "database"
	FromDefault     Source = "built in"
)

// KeptVersions is how many versions of a document are kept.
const KeptVersions = 100

// Version is a text that was stored.
type Version struct {
	Document string
	// Number counts the versions of a document, from 1.
	Number int64
	// Text is empty in lists, and in a version that removed the document.
	Text []byte
	// Size is that of the text, in bytes.
	Size int
	// Removed says that from here on the document is what the program has built in.
	Removed bool
	// Author is who wrote it, Note why, in their own words.
	Author, Note string
	// Restores is the number of the version that this one repeats, or 0.
	Restores int64
	Written  time.Time
	// Feed is its place among the versions of all documents.
	Feed int64
}

// Store keeps versions. Implementations are safe for concurrent use.
type Store interface {
	// AddVersion stores a version behind the one with the number after, which must
	// be the newest (0: there is none yet), and forgets those that are too old. It
	// sets Number and Feed. When another one is the newest it fails with an error of
	// ConflictError.
	AddVersion(ctx context.Context, v Version, after int64) (Version, error)
	// NewestVersion returns the newest version, or one with the number 0.
	NewestVersion(ctx context.Context, document string) (Version, error)
	// Version returns a version, or one with the number 0.
	Version(ctx context.Context, document string, number int64) (Version, error)
	// Versions lists versions below a number, the newest first, without their texts.
	Versions(ctx context.Context, document string, before int64, limit int) ([]Version, error)
	// VersionsSince lists versions of all documents in the order of the feed,
	// without their texts.
	VersionsSince(ctx context.Context, feed int64, limit int) ([]Version, error)
}

// State says which text of a document is in force.
type State struct {
	Name, Title, Media string
	Source             Source
	// Where is the variable or the file that rules; empty for the others.
	Where string
	// Number is the stored version in force; 0 when another source rules.
	Number int64
	// Digest is the SHA-256 of the text in force, in hexadecimal.
	Digest string
	// Since is when this node began to use it.
	Since time.Time
	// Author is who wrote the stored version in force.
	Author string
	// Problem says why a newer text is not in force; empty when there is none.
	Problem string
	// Variable and FileVariable are the settings that rule over the database.
	Variable, FileVariable string
	MaxBytes               int
}

// ReadOnly reports whether a variable or a file rules.
func (s State) ReadOnly() bool { return s.Source == FromEnvironment || s.Source == FromFile }
