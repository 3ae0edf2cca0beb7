package replica

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/castalia-org/castalia/internal/platform/archive"
)

// format is the version of what is written here.
const format = 1

// The names in a replica.
const (
	ownerName    = "castalia.json"
	startFolder  = "starts/"
	baseFolder   = "bases/"
	logFolder    = "log/"
	objectFolder = "objects/"
	goneFolder   = "gone/"
	suffix       = ".age"
)

// Bounds of what is read into memory.
const (
	maxSmall = 1 << 20
	maxPage  = 64 << 10
)

// owner says whose replica this is. It is not encrypted.
type owner struct {
	Format     int    `json:"format"`
	Deployment string `json:"deployment"`
}

// start begins a generation. It is encrypted for whoever may restore.
type start struct {
	Format     int               `json:"format"`
	Generation int64             `json:"generation"`
	Program    string            `json:"program"`
	Made       time.Time         `json:"made"`
	Identity   string            `json:"identity"` // opens the rest of the generation
	Keys       map[string][]byte `json:"keys,omitempty"`
	// Continues is where this generation goes on; nil: it has a base of its own.
	Continues *mark `json:"continues,omitempty"`

	by string // who signed it
}

// mark is a place in a log.
type mark struct {
	Generation int64  `json:"generation"`
	Seq        int64  `json:"seq"`
	Chain      string `json:"chain"` // SHA-256 of the piece with this number
}

// head begins a base or a piece. A base has the number of the piece behind which the
// database was like this.
type head struct {
	Generation int64  `json:"generation"`
	Seq        int64  `json:"seq"`
	Chain      string `json:"chain"` // SHA-256 of the piece before; of a base: of that piece
	Made       int64  `json:"made"`  // milliseconds
	PageSize   uint32 `json:"pageSize,omitempty"`
	Size       uint32 `json:"size,omitempty"` // of the database, in pages
	Pages      int    `json:"pages,omitempty"`
}

// place is a base or a piece as its name tells it.
type place struct {
	Name            string
	Generation, Seq int64
	Made            time.Time
	Bytes           int64
}

func startName(generation int64) string {
	return fmt.Sprintf("%s%08d%s", startFolder, generation, suffix)
}

func placeName(folder string, generation, seq, ms int64) string {
	return fmt.Sprintf("%s%08d/%012d-%013d%s", folder, generation, seq, ms, suffix)
}

func parsePlace(name, folder string) (place, bool) {
	rest, ok := strings.CutPrefix(name, folder)
	rest, ok2 := strings.CutSuffix(rest, suffix)
	generation, rest, ok3 := strings.Cut(rest, "/")
	seq, ms, ok4 := strings.Cut(rest, "-")
	g, err1 := strconv.ParseInt(generation, 10, 64)
	n, err2 := strconv.ParseInt(seq, 10, 64)
	t, err3 := strconv.ParseInt(ms, 10, 64)
	if !ok || !ok2 || !ok3 || !ok4 || errors.Join(err1, err2, err3) != nil {
		return place{}, false
	}
	return place{Name: name, Generation: g, Seq: n, Made: time.UnixMilli(t).UTC()}, true
}

func parseStart(name string) (generation int64, ok bool) {
	rest, ok1 := strings.CutPrefix(name, startFolder)
	rest, ok2 := strings.CutSuffix(rest, suffix)
	g, err := strconv.ParseInt(rest, 10, 64)
	return g, ok1 && ok2 && err == nil
}

// sealed writes what comes in, compressed and encrypted.
type sealed struct {
	*zstd.Encoder
	outer io.WriteCloser
}

func seal(to io.Writer, lock archive.Lock) (*sealed, error) {
	outer, err := archive.Encrypt(to, lock)
	if err != nil {
		return nil, err
	}
	inner, err := zstd.NewWriter(outer, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return &sealed{inner, outer}, nil
}

// Close makes it whole.
func (s *sealed) Close() error { return errors.Join(s.Encoder.Close(), s.outer.Close()) }

// open is the inverse of seal; the reader must be closed.
func open(from io.Reader, ask func(archive.Locked) (archive.Keys, error)) (io.ReadCloser, error) {
	locked := false
	plain, err := archive.Decrypt(from, func(how archive.Locked) (archive.Keys, error) {
		locked = true
		return ask(how)
	})
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, errors.New("it is not encrypted, so it may not be yours")
	}
	inner, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return inner.IOReadCloser(), nil
}

func with(keys archive.Keys) func(archive.Locked) (archive.Keys, error) {
	return func(archive.Locked) (archive.Keys, error) { return keys, nil }
}

// writeJSON writes a value behind its length.
func writeJSON(to io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)) //nolint:gosec // short
	return err
}

func readJSON(from io.Reader, v any) error {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxSmall {
		return fmt.Errorf("a head of %d bytes is too large", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(from, text); err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	return nil
}

// writePages writes pages in the order of their numbers; page reads one.
func writePages(to io.Writer, numbers []uint32, size uint32, page func(number uint32, into []byte) error) error {
	buffer := make([]byte, 4+size)
	for _, number := range numbers {
		binary.BigEndian.PutUint32(buffer, number)
		if err := page(number, buffer[4:]); err != nil {
			return err
		}
		if _, err := to.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// readPages hands out what writePages wrote, to its end.
func readPages(from io.Reader, h head, page func(number uint32, body []byte) error) error {
	if h.PageSize < 512 || h.PageSize > maxPage || h.Pages < 0 {
		return fmt.Errorf("pages of %d bytes are not SQLite's", h.PageSize)
	}
	in := bufio.NewReaderSize(from, 64<<10)
	buffer := make([]byte, 4+h.PageSize)
	for range h.Pages {
		if _, err := io.ReadFull(in, buffer); err != nil {
			return fmt.Errorf("read page: %w", err)
		}
		number := binary.BigEndian.Uint32(buffer)
		if number == 0 {
			return errors.New("there is no page 0")
		}
		if err := page(number, buffer[4:]); err != nil {
			return err
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("something follows its end"), err)
	}
	return nil
}
