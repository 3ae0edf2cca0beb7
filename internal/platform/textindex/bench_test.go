package textindex_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// benchPassages have words by Zipf's law, half of them stop words.
func benchPassages(n int) []textindex.Passage {
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.1, 20, 100_000)
	stops := strings.Fields("the of and to in is that for it with as was on are be by")
	out := make([]textindex.Passage, n)
	for i := range out {
		var b strings.Builder
		for w := range 170 {
			if w%2 == 0 {
				b.WriteString(stops[random.IntN(len(stops))])
			} else {
				fmt.Fprintf(&b, "w%sing", strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(zipf.Uint64())))
			}
			b.WriteByte(" ."[w%15/14])
			if w%15 == 14 {
				b.WriteByte(' ')
			}
		}
		out[i] = textindex.Passage{Document: fmt.Sprint("d", i/10), Number: uint32(i % 10), Title: "Title of it", Text: b.String()}
	}
	return out
}

func BenchmarkBuild(b *testing.B) {
	passages := benchPassages(5000)
	size := 0
	for _, p := range passages {
		size += len(p.Text)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		builder := textindex.NewBuilder("c")
		for _, p := range passages {
			if err := builder.Add(p); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := builder.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMerge joins four segments whose documents come in turns, as those of random
// names do, through a cache as small as joining has.
func BenchmarkMerge(b *testing.B) {
	const parts = 4
	var batches [parts][]textindex.Passage
	size := 0
	for i, p := range benchPassages(20_000) {
		batches[i/10%parts] = append(batches[i/10%parts], p)
		size += len(p.Text)
	}
	var built [parts][]byte
	for i, batch := range batches {
		built[i] = build(b, "c", batch)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		cache := textindex.NewJoinCache(8 << 20)
		var views []*textindex.View
		for _, data := range built {
			segment, err := textindex.Open(bytes.NewReader(data), int64(len(data)), cache)
			if err != nil {
				b.Fatal(err)
			}
			view, err := segment.Without(nil)
			if err != nil {
				b.Fatal(err)
			}
			views = append(views, view)
		}
		if _, err := textindex.Merge(b.Context(), io.Discard, views...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	passages := benchPassages(20_000)
	view := open(b, build(b, "c", passages))
	s := textindex.NewSearcher([]*textindex.View{view}, nil)
	var questions []string
	random := rand.New(rand.NewPCG(2, 2))
	for range 64 {
		words := strings.Fields(passages[random.IntN(len(passages))].Text)
		q := "when is the"
		for range 5 {
			q += " " + strings.Trim(words[2*random.IntN(80)+1], ".")
		}
		questions = append(questions, q)
	}
	i := 0
	for b.Loop() {
		if _, err := s.Search(b.Context(),
			textindex.Query{
				Text: questions[i%len(questions)], Scope: textindex.Scope{"c": textindex.AllDocuments()}, Limit: 5,
			}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
