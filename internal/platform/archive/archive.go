// Package archive writes a whole deployment (tables, objects and, if wanted,
// keys) into one stream and reads it back into an empty place, of the same
// shape or of the other: a backup is also the way from one machine to a fleet.
//
// The stream is a tar. Its first entry says what made it; its last holds a
// SHA-256 over all the others, so that a stream that was cut or changed is
// refused, and the deployment's signature of that, so that one that somebody else
// made is too: anybody can encrypt for a recipient. Tables are as they were at one moment. Objects, which never change
// once they are written, follow after it: what the tables name is there, as long
// as copying takes less than the time for which deleted objects are kept.
//
// Objects are sealed already; tables and keys are not, so a plain archive is as
// secret as the deployment it came from. Encrypt and Decrypt put an age stream
// around it (age-encryption.org/v1), 64 KiB at a time: who has the stream and
// neither key nor passphrase learns its length and for how many keys it is.
//
// Decisions: ADR 0258, ADR 0288.
package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
)

// The names of entries.
const (
	manifestName = "castalia.json"
	endName      = "end.json"
	keyFolder    = "keys/"
	tableFolder  = "tables/"
	objectFolder = "objects/"
)

// format is the version of what is written here.
const format = 1

// Bounds of what is read into memory from a stream that may be hostile.
const (
	maxSmall = 1 << 20
	maxPiece = 256 << 20 // a piece grows beyond its usual size by one row
)

// Manifest says what made an archive.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"`
	Made    time.Time `json:"made"`
	Engine  string    `json:"engine"`
	// Schema is every applied migration, as "service NNNN checksum".
	Schema []string `json:"schema"`
}

type end struct {
	Entries int    `json:"entries"`
	SHA256  string `json:"sha256"`
	// Signer says that it made the rest; nobody in archives of earlier releases.
	Signer    string `json:"signer,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// Place is a deployment: where an archive comes from or goes to.
type Place struct {
	DB         *sqldb.DB
	Blobs      blob.Store
	Migrations []sqldb.Migrations
	// Keys are read from here when an archive is made; empty leaves them out.
	Keys map[string][]byte
	// PutKey stores a key of an archive that is read; nil refuses such archives.
	PutKey func(name string, key []byte) error
	// Program is the version that writes, Signer the deployment; without Sign nobody does.
	Program string
	Signer  Signer
}

// Summary counts what went over.
type Summary struct {
	Pieces, Objects, Keys int
	Bytes                 int64
	Signer                string // empty: nobody
	Made                  time.Time
}

// writer is a tar that remembers what it wrote.
type writer struct {
	tar     *tar.Writer
	sum     hash.Hash
	entries int
	made    time.Time
}

// entry writes one entry. Its name and length are part of the sum, so that
// bytes cannot move from one entry to the next.
func (w *writer) entry(name string, size int64, body io.Reader) error {
	header := &tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.made, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(header); err != nil {
		return err
	}
	addName(w.sum, name, size)
	n, err := io.Copy(io.MultiWriter(w.tar, w.sum), body)
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%s has %d bytes, %d were announced", name, n, size)
	}
	w.entries++
	return nil
}

func addName(sum hash.Hash, name string, size int64) {
	_, _ = fmt.Fprintf(sum, "%d %s %d\n", len(name), name, size)
}

func (w *writer) bytes(name string, body []byte) error {
	return w.entry(name, int64(len(body)), bytes.NewReader(body))
}

func (w *writer) json(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return w.bytes(name, append(text, '\n'))
}

// Write makes an archive of the place. Nodes may serve meanwhile.
func Write(ctx context.Context, to io.Writer, from Place) (Summary, error) {
	var done Summary
	schema, err := schemaOf(ctx, from)
	if err != nil {
		return done, err
	}
	w := &writer{tar: tar.NewWriter(to), sum: sha256.New(), made: time.Now().UTC().Truncate(time.Second)}
	err = w.json(manifestName, Manifest{
		Format: format, Program: from.Program, Made: w.made, Engine: from.DB.Dialect().String(), Schema: schema,
	})
	if err != nil {
		return done, fmt.Errorf("write archive: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(from.Keys)) {
		if err := w.bytes(keyFolder+name, from.Keys[name]); err != nil {
			return done, fmt.Errorf("write archive: %w", err)
		}
		done.Keys++
	}
	err = tablecopy.Export(ctx, from.DB, func(table string, piece []byte) error {
		done.Pieces++
		done.Bytes += int64(len(piece))
		return w.bytes(fmt.Sprintf("%s%s/%06d", tableFolder, table, done.Pieces), piece)
	})
	if err != nil {
		return done, fmt.Errorf("write archive: %w", err)
	}
	if err := writeObjects(ctx, w, from.Blobs, &done); err != nil {
		return done, fmt.Errorf("write archive: %w", err)
	}
	last := end{Entries: w.entries, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.json(endName, last.signed(from.Signer)); err != nil {
		return done, fmt.Errorf("write archive: %w", err)
	}
	if err := w.tar.Close(); err != nil {
		return done, fmt.Errorf("write archive: %w", err)
	}
	done.Signer, done.Made = from.Signer.Name, w.made
	return done, nil
}

func writeObjects(ctx context.Context, w *writer, from blob.Store, done *Summary) error {
	for info, err := range from.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		body, err := from.Get(ctx, info.Key, 0, -1)
		if errors.Is(err, blob.ErrNotFound) {
			continue // deleted since it was listed
		}
		if err != nil {
			return fmt.Errorf("read object %s: %w", info.Key, err)
		}
		err = w.entry(objectFolder+info.Key, info.Size, body)
		if err = errors.Join(err, body.Close()); err != nil {
			return fmt.Errorf("copy object %s: %w", info.Key, err)
		}
		done.Objects++
		done.Bytes += info.Size
	}
	return nil
}

// schemaOf lists the migrations of a place, all of which must be applied and known.
func schemaOf(ctx context.Context, p Place) ([]string, error) {
	var all []string
	for _, m := range p.sets() {
		state, err := p.DB.MigrationStatus(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, one := range state {
			switch {
			case one.Applied.IsZero():
				return nil, fmt.Errorf("migration %04d of %s is pending: run `castalia migrate` first", one.Version, one.Service)
			case one.Unknown:
				return nil, fmt.Errorf("migration %04d of %s is of a newer program: use that", one.Version, one.Service)
			}
			all = append(all, entryOf(one))
		}
	}
	slices.Sort(all)
	return all, nil
}

// trim returns what follows the folder in an entry's name.
func trim(name, folder string) (string, bool) {
	rest, ok := strings.CutPrefix(name, folder)
	return rest, ok && rest != ""
}
