package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// A writer of an upload holds its lock for uploadLock and renews it while bytes
// come; a node that dies lets go by itself. The lock only keeps two writers from
// working in vain: which bytes count is decided by a compare-and-set of the
// offset, so it may be short, and shorter than a client's patience.
const (
	uploadLock = 5 * time.Second
	// maxExtents bounds how many pieces an upload may come in.
	maxExtents = 10_000

	// CodeLocked marks the conflict of two writers of one upload.
	CodeLocked = "upload_locked"
)

// NewUpload says what is to be uploaded.
type NewUpload struct {
	Path     string
	MimeType string
	Length   int64 // -1: declared later
	// Replace lets the upload become a new version of a file that exists.
	Replace bool
	// Partial begins a piece of a file, which has neither path nor media type.
	Partial bool
}

// CreateUpload begins a resumable upload.
func (s *Service) CreateUpload(ctx context.Context, a Access, n NewUpload) (Upload, error) {
	scope, err := a.Scope(Write)
	if err != nil {
		return Upload{}, err
	}
	if n.MimeType, err = cleanMime(n.MimeType); err != nil {
		return Upload{}, err
	}
	if n.Length > s.cfg.MaxUpload {
		return Upload{}, s.tooLarge()
	}
	mode := CreateOnly
	if n.Replace {
		mode = Upsert
	}
	p := Put{Path: n.Path, Mode: mode}
	if err := s.roomFor(ctx, a.Namespace, n.Length); err != nil {
		return Upload{}, err
	}
	if n.Partial {
		// No file is at such a path: a node that does not know pieces cannot show one.
		p.Path, mode = string(vfspath.Below(string(scope.Areas[0].Root))), ReplaceOnly
	} else if err := s.expect(ctx, scope, &p); err != nil {
		return Upload{}, err
	}
	keys, err := s.keys.namespace(ctx, a.Namespace)
	if err != nil {
		return Upload{}, err
	}
	b := Blob{ID: filename.NewBlob(), Namespace: a.Namespace}
	if b.WrappedKey, err = seal.Wrap(keys.content, seal.NewKey(), blobAAD(a.Namespace, b.ID)); err != nil {
		return Upload{}, fmt.Errorf("wrap content key: %w", err)
	}
	state, err := cid.NewState(false).MarshalBinary()
	if err != nil {
		return Upload{}, err
	}
	u := Upload{
		ID: filename.NewBlob(), Namespace: a.Namespace, Path: p.Path, MimeType: n.MimeType, Mode: mode, Length: n.Length,
		Blob:  b.ID,
		State: state, Expires: s.now().Add(uploadTTL), Partial: n.Partial,
	}
	return u, s.store.CreateUpload(ctx, u, b)
}

// Upload returns the state of an upload.
func (s *Service) Upload(ctx context.Context, a Access, id string) (Upload, error) {
	scope, err := a.Scope(Write)
	if err != nil {
		return Upload{}, err
	}
	u, err := s.store.Upload(ctx, scope, id)
	if err == nil && !u.Expires.After(s.now()) {
		return Upload{}, fault.New(fault.NotFound, "no such upload")
	}
	return u, err
}

// LockUpload makes the holder the only writer of an upload, on any node, until
// release is called. lost is closed when another one took over.
func (s *Service) LockUpload(ctx context.Context, id, holder string) (release func(), lost <-chan struct{}, err error) {
	won, err := s.store.LockUpload(ctx, id, holder, uploadLock)
	if err != nil {
		return nil, nil, err
	}
	if !won {
		return nil, nil, fault.New(fault.Conflict, "the upload is being written").WithCode(CodeLocked).WithRetryAfter(time.Second)
	}
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace.Every(ctx, uploadLock/4, func() bool {
			won, err := s.store.LockUpload(ctx, id, holder, uploadLock)
			if err == nil && !won {
				close(gone)
				return false
			}
			return true
		})
	}()
	return func() {
		cancel()
		<-done
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.store.UnlockUpload(ctx, id, holder) // the lock's end does it otherwise
	}, gone, nil
}

// WriteUpload adds what body has to an upload, of which holder has the lock. It
// returns how many bytes are safe, also when body failed on the way: they are
// durable, and any node can go on after them.
//
// verify, when set, judges the bytes once all were read; what it refuses is
// dropped, and a body that failed is refused too.
func (s *Service) WriteUpload(ctx context.Context, a Access, id, holder string, offset int64, body io.Reader,
	verify func() error,
) (int64, error) {
	u, err := s.Upload(ctx, a, id)
	if err != nil {
		return 0, err
	}
	switch {
	case len(u.Joined) > 0:
		return 0, fault.New(fault.Forbidden, "an upload that was joined from others takes no bytes")
	case u.Offset != offset:
		return 0, fault.Newf(fault.Conflict, "the upload is at %d", u.Offset)
	case u.Extents >= maxExtents:
		return 0, fault.Newf(fault.Invalid, "an upload has at most %d parts: send larger ones", maxExtents)
	}
	b, err := s.store.Blob(ctx, u.Blob)
	if err != nil {
		return 0, err
	}
	key, err := s.keys.blobKey(ctx, b)
	if err != nil {
		return 0, err
	}
	state := cid.NewState(false)
	if err := state.UnmarshalBinary(u.State); err != nil {
		return 0, err
	}
	limit := s.cfg.MaxUpload
	if u.Length >= 0 {
		limit = u.Length
	}
	left, beyond := limit-u.Offset, s.tooLarge()
	room, err := s.roomForParts(ctx, u.Namespace)
	if err != nil {
		return 0, err
	}
	if room < left {
		left, beyond = room, PartsOverQuota(s.Quota(u.Namespace))
	}
	// What was received is kept even when the client has left, which ends ctx: the
	// end of the body ends the writing, and keepTime what hangs.
	ctx, cancel := outlive(ctx, keepTime)
	defer cancel()
	src := &partial{r: &limited{r: body, left: left, err: beyond}}
	e, err := s.putExtent(ctx, &b, Extent{Seq: u.Extents, Object: filename.Object(b.ID, u.Extents)}, key, src, state)
	if err != nil {
		return 0, err
	}
	if verify != nil && src.err == nil {
		err = verify()
	} else if verify != nil {
		err = bodyError(src.err)
	}
	if err != nil || e.Size == 0 {
		_ = s.blobs.Delete(ctx, e.Object) // what is left is swept with the upload
		if err == nil {
			err = src.err
		}
		return 0, err
	}
	u.Offset += e.Size
	u.Extents++
	u.Expires = s.now().Add(uploadTTL)
	if u.State, err = state.MarshalBinary(); err != nil {
		return 0, err
	}
	if err := s.store.AdvanceUpload(ctx, u, holder, offset, e, s.Quota(u.Namespace)); err != nil {
		if fault.Is(err, fault.StorageFull) { // others, side by side, took the room
			_ = s.blobs.Delete(ctx, e.Object)
		}
		return 0, err
	}
	return e.Size, src.err
}

// keepTime is how long keeping a part may take after its client has left.
const keepTime = 30 * time.Second

// outlive returns a context that ends some time after ctx does.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer cancel()
		select {
		case <-time.After(by):
		case <-late.Done():
		}
	})
	return late, func() { stop(); cancel() }
}

// partial turns the failure of a body into its end, and remembers it.
type partial struct {
	r   io.Reader
	err error
}

func (p *partial) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, io.EOF
	}
	n, err := p.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err, err = err, io.EOF
	}
	return n, err
}

// DeclareLength sets the length of an upload that began without one.
func (s *Service) DeclareLength(ctx context.Context, a Access, id string, length int64) error {
	u, err := s.Upload(ctx, a, id)
	if err != nil {
		return err
	}
	if length > s.cfg.MaxUpload {
		return s.tooLarge()
	}
	if u.Length == length {
		return nil // said again, by a client that lost the answer
	}
	if length < u.Offset || u.Length >= 0 {
		return fault.Newf(fault.Invalid, "the length cannot be declared as %d: the upload is at %d, of %d (-1: not declared)", length, u.Offset, u.Length)
	}
	return s.store.SetUploadLength(ctx, id, length)
}

// FinishUpload shows a complete upload as a version. It may be called again and
// gives the same receipt.
func (s *Service) FinishUpload(ctx context.Context, a Access, id string) (Receipt, error) {
	u, err := s.Upload(ctx, a, id)
	if err != nil {
		return Receipt{}, err
	}
	if u.Partial {
		return Receipt{}, fault.New(fault.Conflict, "a partial upload becomes a file together with others")
	}
	if u.Length != u.Offset {
		return Receipt{}, fault.New(fault.Conflict, "the upload is not complete")
	}
	if r, ok, err := s.store.Replay(ctx, a.Namespace, OnceUpload(id)); ok || err != nil {
		return r, err
	}
	state := cid.NewState(false)
	if err := state.UnmarshalBinary(u.State); err != nil {
		return Receipt{}, err
	}
	b, err := s.store.Blob(ctx, u.Blob)
	if err != nil {
		return Receipt{}, err
	}
	if len(b.Extents) == 0 { // an empty file
		if err := s.emptyExtent(ctx, &b); err != nil {
			return Receipt{}, err
		}
	}
	content := describe(&b, state.Finish())
	content.MimeType = u.MimeType
	b.Extents = b.Extents[:min(len(b.Extents), max(u.Extents, 1))]
	scope, err := a.Scope(Write)
	if err != nil {
		return Receipt{}, err
	}
	r, err := s.store.Commit(ctx, Commit{
		Change: Change{Scope: scope, By: a.By(), Once: OnceUpload(id), Now: s.now()},
		Path:   u.Path, Mode: u.Mode, Content: content, Blob: &b, Op: OpUpdate, NewID: filename.NewFile(),
		Quota: s.Quota(u.Namespace),
	})
	return s.done(a, r, err)
}

// OnceUpload is the key under which an upload becomes a file, once.
func OnceUpload(id string) Once { return Once{Key: "upload:" + id, Fingerprint: "upload"} }

// OpenUpload returns an upload with what came of it so far.
func (s *Service) OpenUpload(ctx context.Context, a Access, id string) (Upload, *Opened, error) {
	u, err := s.Upload(ctx, a, id)
	if err != nil {
		return Upload{}, nil, err
	}
	b, err := s.store.Blob(ctx, u.Blob)
	if err != nil {
		return Upload{}, nil, fmt.Errorf("find what came of an upload: %w", err)
	}
	o, err := s.OpenBlob(ctx, b, u.Offset)
	return u, o, err
}

// KeepJoined remembers an upload that was joined from others and is a file
// already, as long as any upload is remembered.
func (s *Service) KeepJoined(ctx context.Context, u Upload) (Upload, error) {
	u.Expires = s.now().Add(uploadTTL)
	return u, s.store.KeepJoined(ctx, u)
}

func (s *Service) emptyExtent(ctx context.Context, b *Blob) error {
	key, err := s.keys.blobKey(ctx, *b)
	if err != nil {
		return err
	}
	header, sealed, err := seal.Bytes(nil, key, extentAAD(b.Namespace, b.ID, 0))
	b.Extents = []Extent{{Inline: sealed, Header: header[:], Sealed: int64(len(sealed))}}
	return err
}

// AbortUpload ends an upload and drops what it has.
func (s *Service) AbortUpload(ctx context.Context, a Access, id string) error {
	u, err := s.Upload(ctx, a, id)
	if err != nil {
		return err
	}
	if err := s.DropStrays(ctx, u.Blob); err != nil {
		return err
	}
	return s.store.DeleteUpload(ctx, id, s.now())
}

// DropStrays deletes objects beside a live content that are no part of it.
func (s *Service) DropStrays(ctx context.Context, id string) error {
	b, err := s.store.Blob(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && b.State != Live {
		return nil // what is not live goes as a whole
	}
	if err != nil {
		return err
	}
	for info, err := range s.blobs.List(ctx, filename.ObjectPrefix(id)) {
		if err == nil && !b.Has(info.Key) {
			err = s.blobs.Delete(ctx, info.Key)
		}
		if err != nil {
			return fmt.Errorf("delete a part that was never counted: %w", err)
		}
	}
	return nil
}

// Has reports whether an object is a part of the content.
func (b *Blob) Has(object string) bool {
	return slices.ContainsFunc(b.Extents, func(e Extent) bool { return e.Object == object })
}

// Upload is a resumable upload.
type Upload struct {
	ID        string
	Namespace string
	Path      string
	MimeType  string
	Mode      Mode
	Length    int64 // -1 while it is not declared
	Offset    int64
	Blob      string
	State     []byte // of the hashes, so that any node can go on
	Expires   time.Time
	Extents   int
	// Partial is a piece of a file: it is never shown by itself. Its path is the
	// folder that its maker's token reaches, with a slash at the end, where no file is.
	Partial bool
	// Joined lists the pieces that this upload was made from.
	Joined []string
}

// Uploads keeps resumable uploads. A write to one needs its lock.
type Uploads interface {
	CreateUpload(ctx context.Context, u Upload, b Blob) error
	// KeepJoined stores an upload that is a file already, unless it is there.
	KeepJoined(ctx context.Context, u Upload) error
	Upload(ctx context.Context, s Scope, id string) (Upload, error)
	// LockUpload takes the lock for a time by the store's own clock, for one holder;
	// false: somebody else has it.
	LockUpload(ctx context.Context, id, holder string, d time.Duration) (bool, error)
	UnlockUpload(ctx context.Context, id, holder string) error
	// AdvanceUpload adds an extent when the holder has the lock and the offset is still the old one,
	// and the unfinished uploads of the namespace hold no more than the quota then; 0 is no limit.
	AdvanceUpload(ctx context.Context, u Upload, holder string, from int64, e Extent, quota int64) error
	// UploadBytes adds up what the unfinished uploads of a namespace hold.
	UploadBytes(ctx context.Context, namespace string) (int64, error)
	SetUploadLength(ctx context.Context, id string, length int64) error
	DeleteUpload(ctx context.Context, id string, now time.Time) error
}
