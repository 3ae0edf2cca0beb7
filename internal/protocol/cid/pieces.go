package cid

import (
	"errors"
	"io"
	"sync"

	"github.com/castalia-org/castalia/internal/protocol/twinhash"
)

// A pass over pieces holds inFlight of them at most, a mebibyte and a half.
const (
	pieceSize = 256 << 10
	inFlight  = 6
)

// piece is some of the content on its way through the stages.
type piece struct {
	buf  []byte
	n    int
	busy sync.WaitGroup // stages that still look at it
}

func (p *piece) bytes() []byte { return p.buf[:p.n] }

// pieces are shared by all passes.
var pieces = sync.Pool{New: func() any { return &piece{buf: make([]byte, pieceSize)} }}

// stage takes pieces in order in its own goroutine.
type stage chan *piece

// line is a pass over pieces: the reader fills them, the stages look at them side
// by side, and the oldest is used again when all stages are done with it.
type line struct {
	s       *State
	stages  []stage
	flight  []*piece
	running sync.WaitGroup
	// readErr is why reading ended; written before the stages are closed.
	readErr error
	// failed is closed when Follow has failed, and followErr says why.
	failed    chan struct{}
	followErr error
}

// scanPieces reads r to its end through the stages.
func (s *State) scanPieces(r io.Reader, opt Options) error {
	l := &line{s: s, failed: make(chan struct{})}
	if opt.Follow != nil {
		l.follow(opt.Follow)
	}
	l.readErr = l.read(r, opt.SizeHint)
	for _, st := range l.stages {
		close(st)
	}
	l.running.Wait()
	for len(l.flight) > 0 {
		l.settle()
	}
	if l.readErr != nil && !errors.Is(l.readErr, errFollow) {
		return l.readErr
	}
	return l.followErr
}

// read fills pieces up to leaf borders. The first leaf is hashed here, once for
// both the CID and the whole; after it each hash has its own stage.
func (l *line) read(r io.Reader, expected int64) error {
	s := l.s
	at, hashed := s.tail(), len(s.leaves) > 0
	if hashed {
		l.hash()
	}
	for {
		select {
		case <-l.failed:
			return errFollow
		default:
		}
		p := l.next(expected)
		expected = 0 // whoever said less than there is gets the usual pieces
		n, err := fill(r, p.buf[:min(len(p.buf), s.leaf-at)])
		p.n = n
		at = (at + n) % s.leaf
		l.toStages(p)
		if !hashed {
			s.write(p.bytes())
			if hashed = len(s.leaves) > 0; hashed {
				l.hash()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next returns a free piece, waiting for the oldest one when all are in flight.
func (l *line) next(expected int64) *piece {
	if expected > 0 && expected+1 < pieceSize {
		return &piece{buf: make([]byte, expected+1)} // one more, to see the end
	}
	if len(l.flight) == inFlight {
		l.settle()
	}
	return pieces.Get().(*piece)
}

// toStages gives p to every stage. Nobody keeps a piece without bytes.
func (l *line) toStages(p *piece) {
	if p.n > 0 {
		p.busy.Add(len(l.stages))
		for _, st := range l.stages {
			st <- p
		}
	}
	l.flight = append(l.flight, p)
}

func (l *line) settle() {
	p := l.flight[0]
	l.flight = l.flight[1:]
	p.busy.Wait()
	if len(p.buf) == pieceSize {
		pieces.Put(p)
	}
}

func (l *line) start(run func(st stage)) {
	st := make(stage, inFlight)
	l.stages = append(l.stages, st)
	l.running.Go(func() { run(st) })
}

// hash starts the stages of the hashes, once the first leaf is full: one for both
// where that is as fast as each for itself.
func (l *line) hash() {
	s := l.s
	leaf := s.writeLeaf
	if twinhash.Fast() {
		leaf = s.write
	}
	l.start(func(st stage) {
		for p := range st {
			leaf(p.bytes())
			p.busy.Done()
		}
	})
	if s.whole == nil || twinhash.Fast() {
		return
	}
	l.start(func(st stage) {
		for p := range st {
			s.whole.Write(p.bytes())
			p.busy.Done()
		}
	})
}

// follow starts the stage of who follows.
func (l *line) follow(do func(Next) error) {
	l.start(func(st stage) {
		var held *piece
		release := func() {
			if held != nil {
				held.busy.Done()
				held = nil
			}
		}
		err := do(func() ([]byte, error) {
			release()
			p, ok := <-st
			switch {
			case ok:
				held = p
				return p.bytes(), nil
			case l.readErr != nil:
				return nil, l.readErr
			default:
				return nil, io.EOF
			}
		})
		if err != nil {
			l.followErr = err
			close(l.failed)
		}
		release()
		for p := range st { // what is left unread
			p.busy.Done()
		}
	})
}
