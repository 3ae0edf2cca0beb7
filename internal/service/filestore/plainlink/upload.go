package plainlink

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

const (
	// maxFiles is the most that a link takes, and what it takes unless somebody says.
	maxFiles = 10_000
	usualMax = 1_000
	// maxName is how many bytes of a stranger's name are kept; a number may follow.
	maxName = 180
	// numbered is how many names are tried before a random one is taken.
	numbered = 9
)

// WantedUploads says what a link for uploads is to be. It always ends, by time, by
// bytes and by files: whoever has the address fills the owner's store.
type WantedUploads struct {
	Path     string // a folder; the first file makes it
	Expires  time.Time
	MaxBytes int64
	MaxFiles int64 // 0: 1,000
}

// MakeForUploads makes a link by which files are sent to a folder. The secret is told
// this once.
func (s *Service) MakeForUploads(ctx context.Context, a filestore.Access,
	w WantedUploads,
) (secret string, made filestore.Share, err error) {
	if err := s.allowed(a, w.Expires); err != nil {
		return "", filestore.Share{}, err
	}
	switch {
	case w.Expires.IsZero():
		return "", filestore.Share{}, fault.New(fault.Invalid, "say when the link ends: expiresAt")
	case w.MaxBytes <= 0:
		return "", filestore.Share{}, fault.New(fault.Invalid, "say how many bytes the link takes: maxBytes")
	case w.MaxFiles < 0 || w.MaxFiles > maxFiles:
		return "", filestore.Share{}, fault.Newf(fault.Invalid, "maxFiles is from 1 to %d", maxFiles)
	case w.MaxFiles == 0:
		w.MaxFiles = usualMax
	}
	at, err := s.uploadFolder(ctx, a, w.Path)
	if err != nil {
		return "", filestore.Share{}, err
	}
	secret = newSecret()
	made = filestore.Share{
		ID: filename.New(), Namespace: a.Namespace, Path: at, TokenCID: tokenOf(forUploads, secret),
		Created: s.files.Now(),
		Expires: w.Expires, MaxUses: w.MaxFiles, MaxBytes: w.MaxBytes, By: a.By(),
	}
	return secret, made, s.store.CreateShare(ctx, made)
}

// uploadFolder fails unless the caller may write at a path, where no file is.
func (s *Service) uploadFolder(ctx context.Context, a filestore.Access, said string) (string, error) {
	at, err := publishable(a, said)
	if err != nil {
		return "", err
	}
	if at == "/" {
		return at, nil
	}
	f, err := s.files.Stat(ctx, a, at)
	switch {
	case err == nil:
		return "", filestore.ConflictWith(f, "a file is there: uploads need a folder")
	case !fault.Is(err, fault.NotFound):
		return "", err
	}
	return at, nil
}

// Upload is a file that somebody sends by a link.
type Upload struct {
	Name, MimeType string
	Size           int64 // 0: not known
	Body           io.Reader
}

// Take stores a file that came by a link, under a name of its own: what is there stays,
// and the sender does not learn of it. The link is charged in the same transaction.
func (s *Service) Take(ctx context.Context, l Link, u Upload) (filestore.File, error) {
	if !TakesUploads(l.Share) {
		return filestore.File{}, fault.New(fault.Forbidden, "the link is for reading").WithCode("read_only")
	}
	left := l.MaxBytes - l.Bytes
	if u.Size > left {
		return filestore.File{}, filestore.DropFull()
	}
	at, err := filename.CleanPath(strings.TrimSuffix(l.Path, "/") + "/" + cleanName(u.Name))
	if err != nil {
		return filestore.File{}, err
	}
	p := filestore.Put{
		Path: at, Mode: filestore.CreateOnly, MimeType: u.MimeType, Size: u.Size, Body: &bounded{u.Body, left}, Drop: l.ID,
	}
	stem, ext := strings.TrimSuffix(at, path.Ext(at)), path.Ext(at)
	for i := 2; i <= numbered; i++ {
		p.Otherwise = append(p.Otherwise, fmt.Sprintf("%s (%d)%s", stem, i, ext))
	}
	p.Otherwise = append(p.Otherwise, fmt.Sprintf("%s (%s)%s", stem, rand.Text()[:12], ext))
	r, err := s.files.Put(ctx, l.Access, p)
	if e := fault.From(err); err != nil && e.Code == "quota_exceeded" {
		err = fault.Wrap(fault.StorageFull, "the owner of this link has no room left", err).WithCode(e.Code)
	}
	return r.File, err
}

// bounded fails when more comes than the link takes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, filestore.DropFull()
	}
	return n, err
}

// cleanName makes a stranger's name fit to stand in a folder: no folders, nothing
// hidden, nothing that does not show.
func cleanName(said string) string {
	name := path.Base(strings.ReplaceAll(strings.ToValidUTF8(said, "_"), `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFEFF || r == 0x2028 || r == 0x2029 {
			return '_'
		}
		return r
	}, name))
	switch {
	case name == "" || name == "/" || strings.Trim(name, ".") == "":
		return "file"
	case name[0] == '.':
		name = "_" + name
	}
	if len(name) > maxName {
		ext := path.Ext(name)
		if len(ext) > 20 {
			ext = ""
		}
		cut := maxName - len(ext)
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + ext
	}
	return name
}
