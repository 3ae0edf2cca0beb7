package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

const (
	seed          = 20261116
	vocabulary    = 300_000
	partText      = 8 << 20 // what is indexed at once
	joinParts     = 4       // as the service joins them
	joinLevels    = 3       // until they are as large as the service makes them
	joinCache     = 8 << 20
	asked         = 200
	passageWords  = 170
	perDocument   = 12
	questionWords = 5
)

// corpus makes passages whose words are as unequally common as those of people:
// half of them stop words, the rest by Zipf's law over a large vocabulary.
type corpus struct {
	words []string
	stops []string
	// sums are the shares of the words, added up.
	sums []float64
}

func newCorpus() *corpus {
	random := rand.New(rand.NewPCG(seed, 0))
	c := &corpus{stops: strings.Fields("the of and to in a is that for it with as was on are be by this from at not or have an they which you has were their")}
	starts, middles := strings.Fields("b c d f g h k l m n p r s t v w br ch cl dr fl gr kw ml nd ng pr sh st tr"), strings.Fields("a e i o u ai ou ia")
	seen := make(map[string]bool)
	for len(c.words) < vocabulary {
		var b strings.Builder
		for range 2 + random.IntN(3) {
			b.WriteString(starts[random.IntN(len(starts))])
			b.WriteString(middles[random.IntN(len(middles))])
		}
		if w := b.String(); !seen[w] {
			seen[w] = true
			c.words = append(c.words, w)
		}
	}
	sum := 0.0
	for i := range c.words {
		sum += 1 / math.Pow(float64(i)+20, 1.05)
		c.sums = append(c.sums, sum)
	}
	return c
}

func (c *corpus) word(random *rand.Rand) string {
	at, _ := slices.BinarySearch(c.sums, random.Float64()*c.sums[len(c.sums)-1])
	return c.words[min(at, len(c.words)-1)]
}

// passage makes the passage of a number, always the same.
func (c *corpus) passage(number int) textindex.Passage {
	random := rand.New(rand.NewPCG(seed, uint64(number)+1))
	topic := rand.New(rand.NewPCG(seed+1, uint64(number/perDocument)))
	themes := []string{c.word(topic), c.word(topic), c.word(topic)}
	var b strings.Builder
	for i := range passageWords {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch n := random.IntN(20); {
		case n < 9:
			b.WriteString(c.stops[random.IntN(len(c.stops))])
		case n == 9:
			b.WriteString(themes[random.IntN(len(themes))])
		default:
			b.WriteString(c.word(random))
		}
		if i%14 == 13 {
			b.WriteByte('.')
		}
	}
	return textindex.Passage{
		Document: fmt.Sprintf("document-%07d", number/perDocument), Number: uint32(number % perDocument),
		Title: themes[0] + " " + themes[1], Headings: themes[2], Text: b.String(),
	}
}

// question takes words from a passage as somebody would who has seen it.
func (c *corpus) question(number, passages int) string {
	random := rand.New(rand.NewPCG(seed+2, uint64(number)))
	p := c.passage(random.IntN(passages))
	words := strings.Fields(strings.ReplaceAll(p.Text, ".", ""))
	out := []string{"when", "is", "the"}
	for len(out) < 3+questionWords {
		if w := words[random.IntN(len(words))]; !slices.Contains(c.stops, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

func measureSpeed(ctx context.Context, stdout, stderr io.Writer, sizes, dir string) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "knowledge-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := newCorpus()
	least, most := 0.0, 0.0
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 1 {
			return fmt.Errorf("a size is %q", size)
		}
		folder := filepath.Join(dir, fmt.Sprintf("passages-%d", n))
		if _, err := os.Stat(filepath.Join(folder, listFile)); err != nil {
			if err := buildIndex(ctx, stdout, c, n, folder); err != nil {
				return err
			}
		}
		var questions strings.Builder
		for i := range asked {
			questions.WriteString(c.question(i, n) + "\n")
		}
		ask := exec.CommandContext(ctx, self, "ask", folder, strconv.Itoa(n))
		ask.Stdin = strings.NewReader(questions.String())
		ask.Stderr = stderr
		said, err := ask.Output()
		if err != nil {
			return fmt.Errorf("ask %d passages: %w", n, err)
		}
		if _, err := stdout.Write(said); err != nil {
			return err
		}
		if fields := strings.Fields(string(said)); len(fields) > 2 {
			if most, err = strconv.ParseFloat(fields[2], 64); err != nil {
				return err
			}
			least = cmp.Or(least, most)
		}
	}
	_, err = fmt.Fprintf(stdout, "BenchmarkAskGrowth 1 %.3f x-cpu\n", most/least)
	return err
}

// measureQueries asks an index the questions of stdin and says what one costs
// and what the process holds.
func measureQueries(ctx context.Context, stdin io.Reader, stdout io.Writer, folder, passages string) error {
	var questions []string
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		questions = append(questions, lines.Text())
	}
	views, err := openIndex(folder)
	if err != nil {
		return err
	}
	s := textindex.NewSearcher(views, analyse.Concepts())
	scope := textindex.Scope{"bench": textindex.AllDocuments()}
	found := 0
	costs := make([]time.Duration, 0, len(questions))
	for _, q := range questions {
		begin := processCPU()
		result, err := s.Search(ctx, textindex.Query{Text: q, Scope: scope, Limit: 5})
		if err != nil {
			return err
		}
		costs = append(costs, processCPU()-begin)
		found += min(len(result.Hits), 1)
	}
	sum := time.Duration(0)
	for _, d := range costs {
		sum += d
	}
	slices.Sort(costs)
	_, err = fmt.Fprintf(stdout, "BenchmarkAsk/passages=%s %d %.3f cpu-ms/op %.3f median-cpu-ms %.3f worst-cpu-ms %.1f rss-MB %d found\n", passages, len(costs),
		sum.Seconds()*1e3/float64(len(costs)), costs[len(costs)/2].Seconds()*1e3, costs[len(costs)-1].Seconds()*1e3,
		residentMB(), found)
	return err
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentMB is the most memory that the process has held. The kernel's number
// in Rusage would be the parent's if that held more.
func residentMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return math.NaN()
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return math.NaN()
	}
	kilobytes, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return math.NaN()
	}
	return kilobytes / 1024
}
