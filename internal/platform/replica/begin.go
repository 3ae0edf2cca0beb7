package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

// own makes sure that the place is this deployment's.
func (s *Shipper) own(ctx context.Context) error {
	if s.fenced {
		return errFenced
	}
	if s.known {
		return nil
	}
	mine, err := json.Marshal(owner{format, s.cfg.Deployment})
	if err != nil {
		return err
	}
	err = put(ctx, s.cfg.To, ownerName, append(mine, '\n'))
	if errors.Is(err, blob.ErrExists) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("look whose replica it is: %w", err)
	}
	who, err := ownerOf(ctx, s.cfg.To)
	if err != nil {
		return err
	}
	if who != s.cfg.Deployment {
		return errOther
	}
	s.known = true
	return nil
}

// ownerOf returns whose replica a place holds; nobody's is empty.
func ownerOf(ctx context.Context, from blob.Store) (string, error) {
	text, err := get(ctx, from, ownerName, maxSmall)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look whose replica it is: %w", err)
	}
	var o owner
	if err := json.Unmarshal(text, &o); err != nil || o.Format != format || o.Deployment == "" {
		return "", fmt.Errorf("%s in the replica is not what this program writes", ownerName)
	}
	return o.Deployment, nil
}

// Occupied reports whether a place holds a replica.
func Occupied(ctx context.Context, place blob.Store) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, putLimit)
	defer cancel()
	who, err := ownerOf(ctx, place)
	return who != "", err
}

// begin claims a generation, and finds the place in the log from which it counts.
func (s *Shipper) begin(ctx context.Context) error {
	if s.generation == nil {
		if err := s.claim(ctx); err != nil {
			return err
		}
	}
	if s.placed {
		return nil
	}
	return s.locate(ctx)
}

// claim begins a generation: one that goes on where the earlier one ended, or a new
// one. The number is taken by whoever stores its start first.
func (s *Shipper) claim(ctx context.Context) error {
	newest, err := newestStart(ctx, s.cfg.To)
	if err != nil {
		return err
	}
	if s.resume {
		if err := s.settle(ctx, newest); err != nil {
			return err
		}
	}
	identity, recipient, err := archive.NewKey()
	if err != nil {
		return err
	}
	lock, err := archive.LockTo(recipient)
	if err != nil {
		return err
	}
	begins := start{
		Format: format, Generation: newest + 1, Program: s.cfg.Program, Made: s.cfg.Now().UTC(),
		Identity: identity, Keys: s.cfg.Keys,
	}
	if s.resume {
		at := s.state.At
		begins.Continues = &at
	} else {
		s.state = state{
			Deployment: s.cfg.Deployment, Signer: s.cfg.Signer.Name, At: mark{Generation: newest + 1}, Made: s.state.Made,
		}
	}
	body, err := sealStart(begins, s.cfg.Signer, s.cfg.Lock)
	if err != nil {
		return err
	}
	s.state.Generation = begins.Generation
	if err := s.save(); err != nil {
		return err
	}
	if err := put(ctx, s.cfg.To, startName(begins.Generation), body); err != nil {
		return fmt.Errorf("begin a generation of the replica: %w", err)
	}
	s.cfg.Log.Info("the replica is being written", slog.String("event", "replica.started"), slog.Int64("generation", begins.Generation),
		slog.Bool("continues", s.resume))
	s.generation, s.placed, s.resume = &generation{begins.Generation, lock}, s.resume, false
	s.nextFence = s.cfg.Now().Add(fenceEvery)
	return nil
}

// settle finds out whether the piece that an earlier process was storing is there, and
// gives up what it left when another process has been here since, or when this is another
// place than that one's.
func (s *Shipper) settle(ctx context.Context, newest int64) error {
	if newest > s.state.Generation || newest < s.state.At.Generation {
		return s.lose()
	}
	if s.state.Next == nil {
		return nil
	}
	there, err := s.recognize(ctx)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		s.state.Next = nil
		return s.save()
	case err != nil:
		return err
	case !there:
		return s.lose()
	}
	return s.advance()
}

// recognize reports whether what has the name of the next piece is that piece.
func (s *Shipper) recognize(ctx context.Context) (bool, error) {
	next := s.state.Next
	body, err := get(ctx, s.cfg.To, next.Name, next.Bytes+1)
	return err == nil && sumOf(body) == next.At.Chain, err
}

// locate finds the place in the log behind which a new generation begins: where all
// of it is in the database file, of which it copies the base.
func (s *Shipper) locate(ctx context.Context) error {
	var at walscan.Position
	frames, folded, err := s.log.Fold(ctx, func() error {
		log, err := os.Open(s.log.Path())
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		for {
			found, err := walscan.Scan(log, at)
			if err != nil {
				return err
			}
			if at = found.Next; !found.More {
				return nil
			}
		}
	})
	if err != nil {
		return fmt.Errorf("find the end of the database's log: %w", err)
	}
	if frames != int64(at.Frames) || frames != folded {
		return errors.New("the database's log is still being read by somebody")
	}
	if err := s.objects.flush(ctx, s.cfg.To); err != nil { // before the base that names them
		return err
	}
	at.Over = at.Known
	s.state.Position, s.placed = at, true
	s.startBase(ctx)
	return s.save()
}

// fence looks whether somebody else has begun to write to the place.
func (s *Shipper) fence(ctx context.Context) error {
	now := s.cfg.Now()
	if now.Before(s.nextFence) {
		return nil
	}
	newest, err := newestStart(ctx, s.cfg.To)
	if err != nil {
		return err
	}
	if newest > s.generation.number {
		s.stopBase()
		s.fenced = true
		return errFenced
	}
	s.nextFence = now.Add(fenceEvery)
	return nil
}

func newestStart(ctx context.Context, from blob.Store) (int64, error) {
	var newest int64
	for info, err := range from.List(ctx, startFolder) {
		if err != nil {
			return 0, fmt.Errorf("list generations: %w", err)
		}
		if g, ok := parseStart(info.Key); ok {
			newest = max(newest, g)
		}
	}
	return newest, nil
}

// put stores something that must not be there yet.
func put(ctx context.Context, to blob.Store, name string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putLimit+time.Duration(len(body))*time.Second/leastRate)
	defer cancel()
	opt := blob.Sized(int64(len(body)))
	opt.CreateOnly = true
	_, err := to.Put(ctx, name, bytes.NewReader(body), opt)
	return err
}

// get reads something small.
func get(ctx context.Context, from blob.Store, name string, most int64) (_ []byte, err error) {
	body, err := from.Get(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, err
}

func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
