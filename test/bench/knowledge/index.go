package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/sealedread"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// listFile says what it takes to open the segments of a folder.
const listFile = "segments.json"

// sealedSegment is a segment in an object, as the service's records have it. The
// keys are nobody's secret here.
type sealedSegment struct {
	Name         string
	Key, Header  []byte
	Size, Sealed int64
}

// costs is what making an index took, in CPU, and beside it what gzip takes for some of the
// same text: machines differ by a factor of two.
type costs struct {
	index, join, seal time.Duration
	gzip              time.Duration
	gzipped           int64
}

// buildIndex writes an index as the service has one: parts are sealed, and four of
// about one size are joined, again and again, until they are as large as segments
// get. It says what that cost.
func buildIndex(ctx context.Context, stdout io.Writer, c *corpus, passages int, folder string) error {
	objects, err := blobdisk.New(folder)
	if err != nil {
		return err
	}
	levels := make([][]sealedSegment, joinLevels+1)
	var spent costs
	var text int64
	made, parts := 0, 0
	name := func() string { made++; return strconv.Itoa(made) }
	for at := 0; at < passages; {
		var batch []textindex.Passage
		for n := 0; at < passages && n < partText; at++ {
			batch = append(batch, c.passage(at))
			n += len(batch[len(batch)-1].Text)
		}
		plain, n, err := buildPart(batch, &spent)
		if err != nil {
			return err
		}
		text += n
		if parts%4 == 0 {
			if err := spent.compress(batch); err != nil {
				return err
			}
		}
		parts++
		part, err := sealPart(ctx, objects, name(), plain, seal.NewSealer, &spent)
		if err != nil {
			return err
		}
		levels[0] = append(levels[0], part)
		for level := range joinLevels {
			if len(levels[level]) < joinParts {
				break
			}
			one, err := joinSegments(ctx, objects, name(), levels[level], &spent)
			if err != nil {
				return err
			}
			levels[level], levels[level+1] = nil, append(levels[level+1], one)
		}
	}
	list := slices.Concat(levels...)
	size := int64(0)
	for _, one := range list {
		size += one.Sealed
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, listFile), data, 0o600); err != nil {
		return err
	}
	rate := func(d time.Duration) float64 { return float64(text) / 1e6 / d.Seconds() }
	whole, bare := rate(spent.index+spent.join+spent.seal), float64(spent.gzipped)/1e6/spent.gzip.Seconds()
	_, err = fmt.Fprintf(stdout, "BenchmarkIngest/passages=%d 1 %.2f MB/cpu-s %.2f index-MB/cpu-s"+
		" %.2f join-MB/cpu-s %.2f seal-MB/cpu-s %.2f gzip-MB/cpu-s %.3f x-gzip %.3f index-x-text %d segments\n",
		passages, whole, rate(spent.index), rate(spent.join), rate(spent.seal), bare, whole/bare,
		float64(size)/float64(text), len(list))
	return err
}

// compress is the work that indexing is compared with: one part in four is gzipped too.
func (c *costs) compress(batch []textindex.Passage) error {
	begin := processCPU()
	w := gzip.NewWriter(io.Discard)
	for _, p := range batch {
		if _, err := io.WriteString(w, p.Text); err != nil {
			return err
		}
		c.gzipped += int64(len(p.Text))
	}
	err := w.Close()
	c.gzip += processCPU() - begin
	return err
}

// buildPart indexes passages and returns how much text they had.
func buildPart(batch []textindex.Passage, spent *costs) ([]byte, int64, error) {
	begin := processCPU()
	b := textindex.NewBuilder("bench")
	for _, p := range batch {
		if err := b.Add(p); err != nil {
			return nil, 0, err
		}
	}
	var out bytes.Buffer
	_, err := b.WriteTo(&out)
	spent.index += processCPU() - begin
	return out.Bytes(), int64(b.Size()), err
}

// sealPart stores a segment, sealed.
func sealPart(ctx context.Context, objects blob.Store, name string, plain []byte, cut cutting,
	spent *costs,
) (sealedSegment, error) {
	begin := processCPU()
	key := seal.NewKey()
	piece := bytes.NewBuffer(plain)
	sealer, err := cut(func() ([]byte, error) {
		if piece.Len() == 0 {
			return nil, io.EOF
		}
		return piece.Next(seal.SegmentSize), nil
	}, key, []byte(name))
	if err != nil {
		return sealedSegment{}, err
	}
	_, err = objects.Put(ctx, name, sealer, blob.PutOptions{})
	spent.seal += processCPU() - begin
	header := sealer.Header()
	return sealedSegment{name, key[:], header[:], sealer.Size(), sealer.SealedSize()}, err
}

// cutting begins to seal, in segments of one length or another.
type cutting func(next func() ([]byte, error), key seal.Key, aad []byte) (*seal.Sealer, error)

// joinSegments puts one segment in place of others.
func joinSegments(ctx context.Context, objects blob.Store, name string, old []sealedSegment,
	spent *costs,
) (sealedSegment, error) {
	begin := processCPU()
	views, err := openSegments(objects, old, textindex.NewJoinCache(joinCache))
	if err != nil {
		return sealedSegment{}, err
	}
	var plain bytes.Buffer
	if _, err := textindex.Merge(ctx, &plain, views...); err != nil {
		return sealedSegment{}, err
	}
	spent.join += processCPU() - begin
	cut := seal.NewSealer
	if plain.Len() >= shelf.FineFrom {
		cut = seal.NewFineSealer
	}
	one, err := sealPart(ctx, objects, name, plain.Bytes(), cut, spent)
	for _, g := range old {
		err = errors.Join(err, objects.Delete(ctx, g.Name))
	}
	return one, err
}

// openIndex opens the segments of a folder as a node does, with its cache.
func openIndex(folder string) ([]*textindex.View, error) {
	data, err := os.ReadFile(filepath.Join(folder, listFile))
	if err != nil {
		return nil, err
	}
	var list []sealedSegment
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	objects, err := blobdisk.New(folder)
	if err != nil {
		return nil, err
	}
	return openSegments(objects, list, textindex.NewCache(knowledge.DefaultCache))
}

func openSegments(objects blob.Store, list []sealedSegment, cache *textindex.Cache) ([]*textindex.View, error) {
	var views []*textindex.View
	for _, one := range list {
		header, err := seal.ParseHeader(one.Header)
		if err != nil {
			return nil, err
		}
		opener, err := seal.NewOpener(seal.Key(one.Key), []byte(one.Name), header, one.Size, one.Sealed)
		if err != nil {
			return nil, err
		}
		s, err := textindex.Open(&sealedread.Reader{
			Blobs: objects, Name: one.Name, Size: one.Size,
			Open: func(fetch func(off, n int64) (io.ReadCloser, error), off, n int64, scratch []byte) (io.ReadCloser, error) {
				return opener.RangeWith(fetch, off, n, scratch)
			},
		}, one.Size, cache)
		if err != nil {
			return nil, err
		}
		v, err := s.Without(nil)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}
