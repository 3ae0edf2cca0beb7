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
	"regexp"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
)

var (
	// errCut says that the stream is not all there or not what was written.
	errCut = errors.New("the archive is cut off or damaged")
	// errEnd says that it was, and is over.
	errEnd = errors.New("end of archive")
)

// reader walks an archive and keeps its sum.
type reader struct {
	from    *counting
	tar     *tar.Reader
	sum     hash.Hash
	entries int
	by      Author
	signer  string
}

// counting knows how much was read.
type counting struct {
	io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// next returns the next entry, or errEnd after an end that fits.
func (r *reader) next() (name string, size int64, body io.Reader, err error) {
	header, err := r.tar.Next()
	if err != nil {
		return "", 0, nil, fmt.Errorf("%w: %w", errCut, err)
	}
	if header.Typeflag != tar.TypeReg {
		return "", 0, nil, fmt.Errorf("entry %q is no plain file", header.Name)
	}
	if header.Name == endName {
		return "", 0, nil, r.finish(header.Size)
	}
	addName(r.sum, header.Name, header.Size)
	r.entries++
	return header.Name, header.Size, io.TeeReader(r.tar, r.sum), nil
}

func (r *reader) finish(size int64) error {
	text, err := small(r.tar, size)
	if err != nil {
		return err
	}
	var e end
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	if e.Entries != r.entries || e.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) {
		return fmt.Errorf("%w: the sum does not fit", errCut)
	}
	if err := r.by.made(e); err != nil {
		return err
	}
	r.signer = e.Signer
	return r.drain()
}

// footer ends every tar: two blocks of zeros.
const footer = 1024

// drain reads what follows the last entry, which is zeros, to the very end: an
// encrypted stream says only there that it is whole.
func (r *reader) drain() error {
	before := r.from.n
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows its end", errCut)
	}
	if r.from.n-before < footer {
		return fmt.Errorf("%w: its end is missing", errCut)
	}
	rest := make([]byte, 4<<10)
	for {
		n, err := r.from.Read(rest)
		if bytes.Count(rest[:n], []byte{0}) != n {
			return fmt.Errorf("%w: something follows its end", errCut)
		}
		if errors.Is(err, io.EOF) {
			return errEnd
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

func small(body io.Reader, size int64) ([]byte, error) { return bounded(body, size, maxSmall) }

func bounded(body io.Reader, size, most int64) ([]byte, error) {
	if size > most {
		return nil, fmt.Errorf("an entry of %d bytes is too large", size)
	}
	text, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	return text, nil
}

func begin(from io.Reader, by Author) (*reader, Manifest, error) {
	counted := &counting{Reader: from}
	r := &reader{from: counted, tar: tar.NewReader(counted), sum: sha256.New(), by: by}
	name, size, body, err := r.next()
	if err != nil || name != manifestName {
		return nil, Manifest{}, errors.Join(errors.New("this is no archive of Castalia"), err)
	}
	text, err := small(body, size)
	if err != nil {
		return nil, Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if m.Format != format {
		return nil, Manifest{}, fmt.Errorf("the archive has format %d, this program reads %d", m.Format, format)
	}
	return r, m, nil
}

// Verify reads an archive to its end and reports whether it is whole, and the author's.
func Verify(from io.Reader, by Author) (Manifest, error) {
	r, m, err := begin(from, by)
	if err != nil {
		return Manifest{}, err
	}
	for {
		_, _, body, err := r.next()
		if errors.Is(err, errEnd) {
			return m, nil
		}
		if err != nil {
			return Manifest{}, err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return Manifest{}, fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

// Read fills an empty place from an archive that this program or an older one made:
// its tables are made as they were then, filled, and brought up to date. When it
// fails the place is half full, and Ready says so: throw it away. Verify the archive first where that is
// possible: whether it is whole and the author's is known at its end.
func Read(ctx context.Context, from io.Reader, by Author, to Place) (Summary, error) {
	var done Summary
	r, m, err := begin(from, by)
	if err != nil {
		return done, err
	}
	if err := fits(ctx, m, to); err != nil {
		return done, err
	}
	for {
		name, size, body, err := r.next()
		if errors.Is(err, errEnd) {
			done.Signer, done.Made = r.signer, m.Made
			if err := to.migrate(ctx); err != nil {
				return done, err
			}
			return done, to.end(ctx)
		}
		if err != nil {
			return done, err
		}
		if err := to.take(ctx, name, size, body, &done); err != nil {
			return done, fmt.Errorf("restore %s: %w", name, err)
		}
	}
}

// fits refuses a place that is not empty, makes the tables of the archive, and notes that
// the place is being filled.
func fits(ctx context.Context, m Manifest, to Place) error {
	if err := to.migrateAs(ctx, m); err != nil {
		return err
	}
	empty, err := tablecopy.Empty(ctx, to.DB)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("the database is not empty: an archive is restored into an empty place only")
	}
	for _, err := range to.Blobs.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		return errors.New("the object store is not empty: an archive is restored into an empty place only")
	}
	return to.begin(ctx)
}

var keyName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

func (p Place) take(ctx context.Context, name string, size int64, body io.Reader, done *Summary) error {
	done.Bytes += size
	if key, ok := trim(name, keyFolder); ok {
		text, err := small(body, size)
		switch {
		case err != nil:
			return err
		case !keyName.MatchString(key):
			return errors.New("odd name")
		case p.PutKey == nil:
			return errors.New("the archive holds keys, which are not kept in files here")
		}
		done.Keys++
		return p.PutKey(key, text)
	}
	if rest, ok := trim(name, tableFolder); ok {
		table, _, _ := strings.Cut(rest, "/")
		piece, err := bounded(body, size, maxPiece)
		if err != nil {
			return err
		}
		done.Pieces++
		return tablecopy.Import(ctx, p.DB, table, piece)
	}
	if key, ok := trim(name, objectFolder); ok {
		done.Objects++
		opt := blob.Sized(size)
		opt.CreateOnly = true
		_, err := p.Blobs.Put(ctx, key, body, opt)
		return err
	}
	return errors.New("unknown entry")
}
