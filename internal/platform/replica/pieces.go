package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

// piece is a part of the log that is ready to be stored.
type piece struct {
	next nextPiece
	body []byte
}

// newPiece makes a piece of what was found in the log.
func newPiece(log io.ReaderAt, found walscan.Found, h head, lock archive.Lock) (*piece, error) {
	h.PageSize, h.Size, h.Pages = found.PageSize, found.Size, len(found.Pages)
	var out bytes.Buffer
	w, err := seal(&out, lock)
	if err != nil {
		return nil, err
	}
	err = writeJSON(w, h)
	if err == nil {
		numbers := slices.Sorted(maps.Keys(found.Pages))
		err = writePages(w, numbers, h.PageSize, func(number uint32, into []byte) error {
			_, err := log.ReadAt(into, found.Pages[number])
			return err
		})
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("make a piece of the log: %w", err)
	}
	return &piece{body: out.Bytes(), next: nextPiece{
		Name: placeName(logFolder, h.Generation, h.Seq, h.Made), At: mark{h.Generation, h.Seq, sumOf(out.Bytes())},
		Made: h.Made, Position: found.Next, Bytes: int64(out.Len()),
	}}, nil
}

// background is work beside the log.
type background struct {
	cancel context.CancelFunc
	done   chan error
}

func inBackground(ctx context.Context, work func(context.Context) error) *background {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := &background{cancel, make(chan error, 1)}
	go func() { b.done <- work(ctx) }()
	return b
}

// stop ends the work and waits for it.
func (b *background) stop() {
	b.cancel()
	b.done <- <-b.done
}

// ended reports what became of the work, once it is over.
func (b *background) ended() (err error, over bool) {
	select {
	case err := <-b.done:
		b.cancel()
		return err, true
	default:
		return nil, false
	}
}

// baseRun is a base on its way.
type baseRun struct {
	*background
	made          int64
	since, pieces int64 // what was there when it began
	bytes         int64
}

// baseDue reports whether a new base is wanted.
func (s *Shipper) baseDue(now time.Time) bool {
	b := s.state.Base
	switch {
	case s.base != nil || now.Before(s.baseAfter):
		return false
	case !b.There:
		return true
	}
	return b.Since > max(leastSince, 2*b.Bytes) || b.Pieces > mostPieces ||
		b.Pieces > 0 && now.Sub(time.UnixMilli(b.Made)) > baseAge
}

// startBase begins to copy the database file, which does not change meanwhile: the
// log was just written into it, and is not again before the copy is over.
func (s *Shipper) startBase(ctx context.Context) {
	at, made := s.state.At, max(s.cfg.Now().UnixMilli(), s.state.Made)
	if s.pending != nil {
		at, made = s.pending.next.At, s.pending.next.Made
	}
	run := &baseRun{made: made, since: s.state.Base.Since, pieces: s.state.Base.Pieces}
	generation, file, to := s.generation, s.log.Database(), s.cfg.To
	run.background = inBackground(ctx, func(ctx context.Context) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		h := head{Generation: generation.number, Seq: at.Seq, Chain: at.Chain, Made: made}
		name := placeName(baseFolder, generation.number, at.Seq, made)
		run.bytes, err = putBase(ctx, to, name, h, io.NewSectionReader(file, 0, info.Size()), generation.lock)
		return err
	})
	s.base = run
}

func putBase(ctx context.Context, to blob.Store, name string, h head, file io.Reader,
	lock archive.Lock,
) (int64, error) {
	r, w := io.Pipe()
	go func() {
		out, err := seal(w, lock)
		if err == nil {
			err = writeJSON(out, h)
			if err == nil {
				_, err = io.Copy(out, file)
			}
			if closeErr := out.Encoder.Close(); err == nil {
				err = closeErr
			}
			if err == nil { // else it stays open, so that it is refused as cut off
				err = out.outer.Close()
			}
		}
		w.CloseWithError(err)
	}()
	info, err := to.Put(ctx, name, r, blob.PutOptions{})
	_ = r.CloseWithError(errors.New("nobody reads any more"))
	if err != nil {
		return 0, fmt.Errorf("store the database: %w", err)
	}
	return info.Size, nil
}

// reapBase notes a base that is there.
func (s *Shipper) reapBase() error {
	if s.base == nil {
		return nil
	}
	err, over := s.base.ended()
	if !over {
		return nil
	}
	run := s.base
	s.base = nil
	if err != nil {
		s.baseAfter = s.cfg.Now().Add(longestPause)
		return err
	}
	b := &s.state.Base
	*b = baseState{
		There: true, Made: run.made, Bytes: run.bytes, Since: b.Since - run.since, Pieces: b.Pieces - run.pieces,
	}
	s.state.At.Generation = s.generation.number // who goes on from here finds the base on the way back
	s.cfg.Log.Info("the replica has a whole copy", slog.String("event", "replica.base"), slog.Int64("bytes", run.bytes))
	return s.save()
}

func (s *Shipper) stopBase() {
	if s.base != nil {
		s.base.stop()
		s.base = nil
	}
}

// sweep lets go now and then what the retention no longer asks for.
func (s *Shipper) sweep(ctx context.Context) error {
	now := s.cfg.Now()
	if s.sweeper != nil {
		err, over := s.sweeper.ended()
		if !over {
			return nil
		}
		s.sweeper = nil
		s.nextSweep = now.Add(sweepEvery)
		if err != nil {
			s.cfg.Log.Warn("the replica cannot be swept", slog.String("event", "replica.sweep_failed"), slog.Any("error", err))
		}
	}
	if s.nextSweep.IsZero() {
		s.nextSweep = now.Add(sweepEvery / 12)
	}
	if now.Before(s.nextSweep) || !s.state.Base.There {
		return nil
	}
	cutoff, generation, copying := now.Add(-s.cfg.Retention), s.generation.number, s.base != nil
	s.sweeper = inBackground(ctx, func(ctx context.Context) error {
		newest, err := newestStart(ctx, s.cfg.To)
		if err == nil && newest > generation {
			err = errFenced
		}
		if err == nil {
			err = sweepLog(ctx, s.cfg.To, cutoff)
		}
		if err == nil && !copying { // a whole copy may take that long
			err = abortStale(ctx, s.cfg.To, now.Add(-partsAge))
		}
		if err == nil {
			var missing int
			if missing, err = s.objects.sweepObjects(ctx, s.cfg.To, cutoff); missing > 0 {
				s.cfg.Log.Warn("objects are missing here that the replica has: `castalia doctor` tells more",
					slog.String("event", "replica.objects_missing"), slog.Int("objects", missing))
			}
		}
		return err
	})
	return nil
}

// sweepLog deletes what lies before the newest base that is older than the cutoff:
// everything since can be restored from there.
func sweepLog(ctx context.Context, to blob.Store, cutoff time.Time) error {
	bases, err := list(ctx, to, baseFolder)
	if err != nil {
		return err
	}
	keep := -1
	for i, b := range bases {
		if !b.Made.After(cutoff) {
			keep = i
		}
	}
	if keep < 0 {
		return nil
	}
	first := bases[keep]
	log, err := list(ctx, to, logFolder)
	if err != nil {
		return err
	}
	var old []string
	for _, p := range bases[:keep] {
		old = append(old, p.Name)
	}
	for _, p := range log {
		if p.Generation < first.Generation || p.Generation == first.Generation && p.Seq <= first.Seq {
			old = append(old, p.Name)
		}
	}
	for info, err := range to.List(ctx, startFolder) {
		if err != nil {
			return fmt.Errorf("list generations: %w", err)
		}
		if g, ok := parseStart(info.Key); ok && g < first.Generation {
			old = append(old, info.Key)
		}
	}
	for _, name := range old {
		if err := to.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete from the replica: %w", err)
		}
	}
	return nil
}

// list returns the places of a folder, in their order.
func list(ctx context.Context, from blob.Store, folder string) ([]place, error) {
	var all []place
	for info, err := range from.List(ctx, folder) {
		if err != nil {
			return nil, fmt.Errorf("list the replica: %w", err)
		}
		if p, ok := parsePlace(info.Key, folder); ok {
			p.Bytes = info.Size
			all = append(all, p)
		}
	}
	return all, nil
}
