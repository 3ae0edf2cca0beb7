package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
)

// ahead is how many pieces are fetched before they are needed, mostAhead how many bytes
// of each.
const (
	ahead     = 8
	mostAhead = 4 << 20
)

// Wanted is what a restore is to do.
type Wanted struct {
	From blob.Store
	// Unlock returns what opens a replica.
	Unlock func(archive.Locked) (archive.Keys, error)
	// Author is who must have written it; without a Signer whoever wrote the newest
	// generation.
	archive.Author
	// At is the moment to restore; zero: the newest.
	At time.Time
	// Database is where the file goes; it must not be there.
	Database string
	// Objects take the objects; PutKey takes a key.
	Objects blob.Store
	PutKey  func(name string, key []byte) error
}

// Restored is what was restored.
type Restored struct {
	Moment        time.Time // of the newest change
	Generation    int64
	Passed        []int64 // newer generations that have no whole copy
	Pieces        int
	Objects, Keys int
	Program       string // that wrote it
	Signer        string // who says so; empty: nobody
}

// path is how a state is reached: a base, and pieces behind it.
type path struct {
	base   place
	pieces []place
	starts map[int64]start
}

// Restore fills an empty place. When it fails the place is half full: throw it away.
// The database is put there last, so that no server takes half a place for a whole one.
func Restore(ctx context.Context, w Wanted) (_ Restored, err error) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} { // SQLite would bring an old log into the new file
		if _, err := os.Lstat(w.Database + end); !errors.Is(err, fs.ErrNotExist) {
			return Restored{}, errors.Join(fmt.Errorf("%s exists: a replica is restored into an empty place only", w.Database+end), err)
		}
	}
	for _, err := range w.Objects.List(ctx, "") {
		return Restored{}, errors.Join(errors.New("the object store is not empty: a replica is restored into an empty place only"), err)
	}
	way, did, err := choose(ctx, &w)
	if err != nil {
		return did, err
	}
	newest := way.starts[did.Generation]
	did.Program, did.Pieces, did.Moment = newest.Program, len(way.pieces), way.base.Made
	if n := len(way.pieces); n > 0 {
		did.Moment = way.pieces[n-1].Made
	}
	part := w.Database + ".part"
	if err := way.build(ctx, w.From, part); err != nil {
		return did, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	for name, key := range newest.Keys {
		if err := w.PutKey(name, key); err != nil {
			return did, fmt.Errorf("restore key %s: %w", name, err)
		}
		did.Keys++
	}
	if did.Objects, err = fetchObjects(ctx, w.From, w.Objects); err != nil {
		return did, err
	}
	if err := os.Rename(part, w.Database); err != nil {
		return did, fmt.Errorf("restore database: %w", err)
	}
	return did, syncFolder(w.Database)
}

// choose finds the newest state, not after the wanted moment, that can be reached.
func choose(ctx context.Context, w *Wanted) (path, Restored, error) {
	var did Restored
	var numbers []int64
	for info, err := range w.From.List(ctx, startFolder) {
		if err != nil {
			return path{}, did, fmt.Errorf("list generations: %w", err)
		}
		if g, ok := parseStart(info.Key); ok {
			numbers = append([]int64{g}, numbers...)
		}
	}
	if len(numbers) == 0 {
		return path{}, did, errors.New("there is no replica in this place")
	}
	bases, err := list(ctx, w.From, baseFolder)
	if err != nil {
		return path{}, did, err
	}
	log, err := list(ctx, w.From, logFolder)
	if err != nil {
		return path{}, did, err
	}
	starts := map[int64]start{}
	for i, g := range numbers {
		if starts[g], err = readStart(ctx, w, g); err != nil {
			return path{}, did, err
		}
		if !w.At.IsZero() && starts[g].Made.Truncate(time.Millisecond).After(w.At) { // as the names tell it
			continue
		}
		way, ok, err := reach(ctx, w, starts, g, bases, log)
		if err != nil {
			return path{}, did, err
		}
		if ok && starts[g].by == "" {
			if err := w.notBehind(ctx, g, numbers[i+1:]); err != nil {
				return path{}, did, err
			}
		}
		if ok {
			did.Generation, did.Signer = g, starts[g].by
			return way, did, nil
		}
		did.Passed = append(did.Passed, g)
	}
	if w.At.IsZero() {
		return path{}, did, errors.New("the replica has no whole copy yet")
	}
	return path{}, did, fmt.Errorf("the replica does not reach back to %s", w.At.Format(time.RFC3339))
}

// reach finds a way to the newest state of a generation: back from there to a base,
// through the generations that it continues.
func reach(ctx context.Context, w *Wanted, starts map[int64]start, g int64, bases, log []place) (path, bool, error) {
	way := path{starts: starts}
	most := int64(-1) // the last number that counts; any in the newest generation
	for {
		var pieces []place
		for _, p := range log {
			if p.Generation == g && (most < 0 || p.Seq <= most) && (w.At.IsZero() || !p.Made.After(w.At)) {
				pieces = append(pieces, p)
			}
		}
		end := most
		if len(pieces) > 0 {
			end = pieces[len(pieces)-1].Seq
		}
		if most >= 0 && end < most && w.At.IsZero() {
			return way, false, fmt.Errorf("pieces of generation %d of the replica are missing behind number %d", g, end)
		}
		var base *place
		for i, b := range bases {
			if b.Generation == g && (b.Seq <= end || len(pieces) == 0 && most < 0) && (w.At.IsZero() || !b.Made.After(w.At)) {
				base = &bases[i]
			}
		}
		if base != nil {
			for len(pieces) > 0 && pieces[0].Seq <= base.Seq {
				pieces = pieces[1:]
			}
			way.base, way.pieces = *base, append(pieces, way.pieces...)
			return way, true, nil
		}
		begun := starts[g]
		if begun.Continues == nil {
			return way, false, nil
		}
		if begun.Continues.Generation >= g { // whoever follows that comes to no end
			return way, false, fmt.Errorf("generation %d of the replica says that it continues %d", g, begun.Continues.Generation)
		}
		way.pieces = append(pieces, way.pieces...)
		g, most = begun.Continues.Generation, begun.Continues.Seq
		if _, ok := starts[g]; !ok {
			older, err := readStart(ctx, w, g)
			if errors.Is(err, blob.ErrNotFound) {
				return way, false, nil
			}
			if err != nil {
				return way, false, err
			}
			starts[g] = older
		}
		if err := begun.continues(starts[g]); err != nil {
			return way, false, err
		}
	}
}

func readStart(ctx context.Context, w *Wanted, generation int64) (start, error) {
	body, err := twice(func() ([]byte, error) { return get(ctx, w.From, startName(generation), maxSmall) })
	if err != nil {
		return start{}, fmt.Errorf("read the start of generation %d: %w", generation, err)
	}
	var s start
	in, err := open(bytes.NewReader(body), w.Unlock)
	if err == nil {
		s, err = w.openStart(in)
		_ = in.Close()
	}
	switch {
	case err != nil:
		return start{}, fmt.Errorf("open generation %d of the replica (%s): %w", generation, startName(generation), err)
	case s.Format != format:
		return start{}, fmt.Errorf("the replica has format %d, this program reads %d", s.Format, format)
	case s.Generation != generation:
		return start{}, fmt.Errorf("generation %d of the replica says that it is %d", generation, s.Generation)
	}
	return s, w.from(generation, s.by)
}

// build writes the database file.
func (p path) build(ctx context.Context, from blob.Store, part string) (err error) {
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("restore database: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("restore database: %w", errors.Join(err, os.Remove(part)))
		}
	}()
	at, err := p.readBase(ctx, from, file)
	if err != nil {
		return err
	}
	if err := p.replay(ctx, from, file, at); err != nil {
		return err
	}
	return file.Sync()
}

// opened opens a base or a piece with the key of its generation.
func (p path) opened(from io.Reader, generation int64) (io.ReadCloser, error) {
	keys, err := archive.KeysFrom(p.starts[generation].Identity)
	if err != nil {
		return nil, err
	}
	return open(from, with(keys))
}

func (p path) readBase(ctx context.Context, from blob.Store, file *os.File) (_ mark, err error) {
	body, err := twice(func() (io.ReadCloser, error) { return from.Get(ctx, p.base.Name, 0, -1) })
	if err != nil {
		return mark{}, fmt.Errorf("read %s: %w", p.base.Name, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	in, err := p.opened(body, p.base.Generation)
	if err != nil {
		return mark{}, fmt.Errorf("%s: %w", p.base.Name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var h head
	if err := readJSON(in, &h); err != nil {
		return mark{}, fmt.Errorf("%s: %w", p.base.Name, err)
	}
	if h.Generation != p.base.Generation || h.Seq != p.base.Seq || h.Made != p.base.Made.UnixMilli() {
		return mark{}, fmt.Errorf("%s is another base than its name says", p.base.Name)
	}
	if h.PageSize != 0 {
		return mark{}, fmt.Errorf("%s is a piece of the log, and no base", p.base.Name)
	}
	if _, err := io.Copy(file, in); err != nil {
		return mark{}, fmt.Errorf("%s: %w", p.base.Name, err)
	}
	return mark{h.Generation, h.Seq, h.Chain}, nil
}

// replay writes the pieces over the base, each checked against the one before.
func (p path) replay(ctx context.Context, from blob.Store, file *os.File, at mark) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan chan io.ReadCloser, ahead)
	group.Go(func() error {
		defer close(queue)
		for _, piece := range p.pieces {
			out := make(chan io.ReadCloser, 1)
			select {
			case queue <- out:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				body, err := twice(func() (io.ReadCloser, error) { return fetch(ctx, from, piece) })
				if errors.Is(err, blob.ErrNotFound) { // it was listed, and may have been swept since
					return fmt.Errorf("%s is not there: %w; try again, and if it is still missing, `--at` a moment before it leaves it out", piece.Name, err)
				}
				if err != nil {
					return fmt.Errorf("read %s: %w", piece.Name, err)
				}
				out <- body
				return nil
			})
		}
		return nil
	})
	group.Go(func() error {
		for _, piece := range p.pieces {
			var body io.ReadCloser
			select {
			case out := <-queue:
				select {
				case body = <-out:
				case <-ctx.Done():
					return ctx.Err()
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			line := &line{from: body}
			err := errors.Join(p.apply(piece, line, file, &at), body.Close())
			switch {
			case line.broke != nil: // whatever came of it: what lies there may be whole
				return fmt.Errorf("read %s: %w", piece.Name, line.broke)
			case err != nil:
				return unusable(piece, err)
			}
		}
		return nil
	})
	return group.Wait()
}

// twice asks again for what a listing named when the store says that there is none: one that
// is moved, or looked at through a proxy, may say so once.
func twice[T any](ask func() (T, error)) (T, error) {
	got, err := ask()
	if errors.Is(err, blob.ErrNotFound) {
		return ask()
	}
	return got, err
}

// unusable says that a piece is not what it should be: trying again does not help.
func unusable(piece place, err error) error {
	return fmt.Errorf("%s: %w; `--at` a moment before it leaves it out", piece.Name, err)
}

// line reads a piece, and remembers how the reading broke off.
type line struct {
	from  io.Reader
	broke error
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		l.broke = err
	}
	return n, err
}

// fetch reads a piece before it is needed, if it is as small as most are. A larger one,
// of one long transaction, is read where it lies: how long it is was not checked by
// anybody yet.
func fetch(ctx context.Context, from blob.Store, piece place) (io.ReadCloser, error) {
	if piece.Bytes > mostAhead {
		return from.Get(ctx, piece.Name, 0, -1)
	}
	body, err := get(ctx, from, piece.Name, mostAhead)
	return io.NopCloser(bytes.NewReader(body)), err
}

func (p path) apply(piece place, body io.Reader, file *os.File, at *mark) error {
	sum := sha256.New()
	body = io.TeeReader(body, sum)
	in, err := p.opened(body, piece.Generation)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	var h head
	if err := readJSON(in, &h); err != nil {
		return err
	}
	switch {
	case h.Generation != piece.Generation || h.Seq != piece.Seq || h.Made != piece.Made.UnixMilli():
		return errors.New("it is another piece than its name says")
	case h.Seq != at.Seq+1 || h.Chain != at.Chain:
		return fmt.Errorf("it does not follow piece %d: something is missing between them", at.Seq)
	}
	err = readPages(in, h, func(number uint32, page []byte) error {
		_, err := file.WriteAt(page, int64(number-1)*int64(h.PageSize))
		return err
	})
	if err == nil {
		err = file.Truncate(int64(h.Size) * int64(h.PageSize))
	}
	if n, drainErr := body.Read(make([]byte, 1)); err == nil && (n > 0 || !errors.Is(drainErr, io.EOF)) {
		err = errors.Join(errors.New("something follows its end"), drainErr)
	}
	*at = mark{h.Generation, h.Seq, hex.EncodeToString(sum.Sum(nil))}
	return err
}

// fetchObjects copies every object of the replica.
func fetchObjects(ctx context.Context, from, to blob.Store) (int, error) {
	n := 0
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	for info, err := range from.List(ctx, objectFolder) {
		if err != nil {
			return n, errors.Join(fmt.Errorf("list objects: %w", err), group.Wait())
		}
		n++
		group.Go(func() error {
			return copyObject(inner, from, info.Key, to, info.Key[len(objectFolder):], true)
		})
	}
	return n, group.Wait()
}
