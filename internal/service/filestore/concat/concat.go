// Package concat joins uploads that came side by side into one file, as the
// concatenation extension of tus has it.
//
// It promises that the file is whole or absent, that asking again gives the same
// file, also after a node died in the middle, and that the pieces are kept until
// the file is there. It refuses pieces that are not complete, that were not begun
// as pieces, or that the caller's token does not reach.
//
// The bytes are read and sealed once more: the hash of a whole file cannot be
// made from hashes of its pieces, and each piece is under a key of its own.
package concat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// MaxParts is how many pieces a file can be joined from.
const MaxParts = 100

// Uploads is what joining needs of the file store.
type Uploads interface {
	Upload(ctx context.Context, a filestore.Access, id string) (filestore.Upload, error)
	// OpenUpload returns an upload with what came of it so far.
	OpenUpload(ctx context.Context, a filestore.Access, id string) (filestore.Upload, *filestore.Opened, error)
	FinishUpload(ctx context.Context, a filestore.Access, id string) (filestore.Receipt, error)
	AbortUpload(ctx context.Context, a filestore.Access, id string) error
	// KeepJoined remembers an upload that is a file already.
	KeepJoined(ctx context.Context, u filestore.Upload) (filestore.Upload, error)
	Put(ctx context.Context, a filestore.Access, p filestore.Put) (filestore.Receipt, error)
	MaxUpload() int64
}

// Final says what the pieces become.
type Final struct {
	Path     string
	MimeType string
	// Replace lets the file become a new version of one that exists.
	Replace bool
	// Parts are the pieces, in order.
	Parts []string
}

func (f Final) mode() filestore.Mode {
	if f.Replace {
		return filestore.Upsert
	}
	return filestore.CreateOnly
}

// id names the joined upload by what it is made of, so that a client which lost
// the answer and asks again is given the same one.
func (f Final) id(namespace string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{namespace, f.Path, f.mode().String()}, f.Parts...), "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Join makes a file of the pieces, and forgets them.
func Join(ctx context.Context, s Uploads, a filestore.Access, f Final) (filestore.Upload, filestore.Receipt, error) {
	var err error
	if f.Path, err = filename.CleanPath(f.Path); err != nil {
		return filestore.Upload{}, filestore.Receipt{}, err
	}
	if len(f.Parts) == 0 || len(f.Parts) > MaxParts {
		return filestore.Upload{}, filestore.Receipt{}, fault.Newf(fault.Invalid, "a file is joined from 1 to %d partial uploads, not %d", MaxParts, len(f.Parts))
	}
	id := f.id(a.Namespace)
	u, err := s.Upload(ctx, a, id)
	if err == nil {
		r, err := s.FinishUpload(ctx, a, id) // joined before
		return u, r, err
	}
	if !fault.Is(err, fault.NotFound) {
		return filestore.Upload{}, filestore.Receipt{}, err
	}
	body := &pieces{}
	if err := body.open(ctx, s, a, f.Parts); err != nil {
		return filestore.Upload{}, filestore.Receipt{}, err
	}
	defer body.close()
	r, err := s.Put(ctx, a, filestore.Put{
		Path: f.Path, Mode: f.mode(), MimeType: f.MimeType, Body: body, Size: body.size, Once: filestore.OnceUpload(id),
	})
	if body.err != nil {
		err = body.err // the store's failure, which is not the client's
	}
	if err != nil {
		return filestore.Upload{}, filestore.Receipt{}, err
	}
	u, err = s.KeepJoined(ctx, filestore.Upload{
		ID: id, Namespace: a.Namespace, Path: f.Path, MimeType: f.MimeType, Mode: f.mode(), Length: body.size,
		Offset: body.size,
		Blob:   r.File.Blob, Joined: f.Parts,
	})
	if err != nil {
		return filestore.Upload{}, filestore.Receipt{}, err
	}
	for _, part := range f.Parts {
		_ = s.AbortUpload(ctx, a, part) // what stays expires by itself
	}
	return u, r, nil
}

// pieces reads uploads one after the other.
type pieces struct {
	parts []*filestore.Opened
	size  int64
	cur   io.ReadCloser
	err   error
}

// open looks whether all pieces are there and complete.
func (p *pieces) open(ctx context.Context, s Uploads, a filestore.Access, ids []string) error {
	for _, id := range ids {
		u, content, err := s.OpenUpload(ctx, a, id)
		switch {
		case fault.Is(err, fault.NotFound):
			return fault.Newf(fault.NotFound, "no such partial upload: %s", id)
		case err != nil:
			return err
		case !u.Partial:
			return fault.Newf(fault.Invalid, "the upload %s is not a partial one: begin it with Upload-Concat: partial", id)
		case u.Offset != u.Length:
			return fault.Newf(fault.Conflict, "the partial upload %s is at %d of %d bytes: finish it first", id, u.Offset, u.Length).WithCode("upload_not_finished")
		}
		p.parts = append(p.parts, content)
		if p.size += content.Size(); p.size > s.MaxUpload() {
			return fault.Newf(fault.TooLarge, "a file has at most %d bytes", s.MaxUpload())
		}
	}
	return nil
}

func (p *pieces) Read(b []byte) (int, error) {
	for {
		if p.cur == nil {
			if len(p.parts) == 0 {
				return 0, io.EOF
			}
			next, err := p.parts[0].Range(0, -1)
			if err != nil {
				p.err = err
				return 0, err
			}
			p.cur, p.parts = next, p.parts[1:]
		}
		n, err := p.cur.Read(b)
		if err == io.EOF {
			p.close()
			err = nil
		}
		if err != nil {
			p.err = err
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (p *pieces) close() {
	if p.cur != nil {
		_ = p.cur.Close()
		p.cur = nil
	}
}
