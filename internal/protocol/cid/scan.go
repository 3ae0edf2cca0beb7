package cid

import (
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"sync"
)

// maxWorkers bounds the leaves in flight, and with them the memory of a pass
// over leaves.
const maxWorkers = 4

// Options of a Scan.
type Options struct {
	// Workers hash leaves side by side when only the CID is wanted; 0 means as
	// many as there are processors, at most four.
	Workers int
	// Follow, when set, runs beside the hashing and is given the same bytes in
	// order, piece by piece.
	Follow func(next Next) error
	// SizeHint is the expected number of bytes, or 0: it keeps small content from
	// taking a whole leaf's buffer.
	SizeHint int64
}

// Next returns the next piece of what is read, which stays as it is until the
// following call. At the end it returns io.EOF, and when reading failed, why.
type Next func() ([]byte, error)

// buffers are leaf-sized and shared by all passes.
var buffers = sync.Pool{New: func() any { b := make([]byte, LeafSize); return &b }}

// Sum returns the CID and the size of what r has.
func Sum(r io.Reader, opt Options) (CID, int64, error) {
	s := NewState(true)
	if err := s.Scan(r, opt); err != nil {
		return CID{}, 0, err
	}
	res := s.Finish()
	return res.CID, res.Size, nil
}

// Scan reads r to its end and hashes it. When r fails, the state has seen exactly
// what was read before, and can go on; when Follow fails, the state is spoiled.
//
// When only the CID is wanted, leaves are hashed side by side. The hash of the
// whole is one thread's work and sets the pace: the leaves, the whole and Follow
// then run beside each other on the same small pieces.
func (s *State) Scan(r io.Reader, opt Options) error {
	if !s.cidOnly || opt.Follow != nil {
		return s.scanPieces(r, opt)
	}
	workers := opt.Workers
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	eof, err := s.fillOpen(r, opt)
	if err != nil || eof {
		return err
	}
	return s.scanLeaves(r, workers)
}

// fillOpen reads up to the next leaf border, or, for the first leaf, through it:
// small content needs no workers.
func (s *State) fillOpen(r io.Reader, opt Options) (eof bool, err error) {
	first := len(s.leaves) == 0
	if !first && s.tail() == 0 {
		return false, nil
	}
	buf, release := s.buffer(opt.SizeHint)
	defer release()
	start := len(s.leaves)
	for len(s.leaves) == start {
		n, err := fill(r, buf[:min(len(buf), s.leaf-s.tail())])
		s.write(buf[:n])
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// buffer returns a leaf's buffer, or a smaller one when the content is known to be small.
func (s *State) buffer(expected int64) ([]byte, func()) {
	if small := expected + 1; expected > 0 && small < int64(s.leaf)/4 {
		return make([]byte, small), func() {}
	}
	if s.leaf != LeafSize {
		return make([]byte, s.leaf), func() {}
	}
	b := buffers.Get().(*[]byte)
	return *b, func() { buffers.Put(b) }
}

// job is one leaf on its way through its hash.
type job struct {
	buf     []byte
	release func()
	n       int
	digest  Digest
	done    sync.WaitGroup
}

// scanLeaves reads whole leaves and hashes them side by side. It starts at a
// leaf border.
func (s *State) scanLeaves(r io.Reader, workers int) error {
	p := newPipeline(s, workers)
	defer p.stop()
	for {
		j := p.next()
		n, err := fill(r, j.buf[:s.leaf])
		if n > 0 {
			j.n = n
			p.start(j)
			s.size += int64(n)
		} else {
			j.release()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// fill reads until buf is full or r has no more, which is io.EOF whatever came
// before it. io.ReadFull would call that io.ErrUnexpectedEOF, which is also what
// the body of a request or an answer says when it was cut.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	if n == len(buf) {
		return n, nil // the next call says the rest
	}
	return n, err
}

// pipeline keeps the leaves in flight in order.
type pipeline struct {
	s       *State
	flight  []*job
	depth   int
	leaves  chan *job
	running sync.WaitGroup
}

func newPipeline(s *State, workers int) *pipeline {
	p := &pipeline{s: s, depth: workers + 1, leaves: make(chan *job, workers+1)}
	for range workers {
		p.running.Go(func() {
			for j := range p.leaves {
				j.digest = sha256.Sum256(j.buf[:j.n])
				j.done.Done()
			}
		})
	}
	return p
}

// next returns a job with a free buffer, waiting for the oldest one when all are in flight.
func (p *pipeline) next() *job {
	if len(p.flight) == p.depth {
		p.settle()
	}
	buf, release := p.s.buffer(0)
	return &job{buf: buf, release: release}
}

func (p *pipeline) start(j *job) {
	if j.n == p.s.leaf {
		j.done.Add(1)
		p.leaves <- j
	} else {
		p.s.open.Write(j.buf[:j.n]) // the last leaf stays open: its hash must be able to go on
	}
	p.flight = append(p.flight, j)
}

// settle waits for the oldest job and takes its digest.
func (p *pipeline) settle() {
	j := p.flight[0]
	p.flight = p.flight[1:]
	j.done.Wait()
	if j.n == p.s.leaf {
		p.s.leaves = append(p.s.leaves, j.digest)
	}
	j.release()
}

// stop settles everything and ends the workers.
func (p *pipeline) stop() {
	for len(p.flight) > 0 {
		p.settle()
	}
	close(p.leaves)
	p.running.Wait()
}
