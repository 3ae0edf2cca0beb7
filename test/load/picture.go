package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// canvas writes an SVG whose colours follow the reader's light or dark theme.
type canvas struct {
	bytes.Buffer
	width, height int
}

const style = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:16px;font-weight:600}.dim{fill:#59636e}.small{font-size:11px}
.num{font-variant-numeric:tabular-nums;text-anchor:end}.back{fill:#fff}.grid{stroke:#d1d9e0;stroke-width:1}.span{stroke:#818b98;stroke-width:2}
.a{fill:#0969da}.b{fill:#bc4c00}.c{fill:#8250df}.la{stroke:#0969da}.lb{stroke:#bc4c00}.lc{stroke:#8250df}.ld{stroke:#1a7f37}.le{stroke:#9a6700}.lf{stroke:#cf222e}
.line{fill:none;stroke-width:2}.good{fill:#1a7f37}.bad{fill:#cf222e}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.back{fill:#0d1117}.grid{stroke:#3d444d}.span{stroke:#656c76}
.a{fill:#4493f8}.b{fill:#f0883e}.c{fill:#ab7df8}.la{stroke:#4493f8}.lb{stroke:#f0883e}.lc{stroke:#ab7df8}.ld{stroke:#3fb950}.le{stroke:#d29922}.lf{stroke:#f85149}
.good{fill:#3fb950}.bad{fill:#f85149}}
</style>`

func newCanvas(width, height int, label string) *canvas {
	c := &canvas{width: width, height: height}
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`, width, height, width, height, html.EscapeString(label))
	c.WriteString(style)
	c.put(`<rect class="back" width="%d" height="%d" rx="6"/>`, width, height)
	return c
}

func (c *canvas) put(format string, args ...any) { _, _ = fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(x, y float64, class, format string, args ...any) {
	c.put(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(fmt.Sprintf(format, args...)))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func (c *canvas) dot(x, y, r float64, class, title string) {
	c.put(`<circle cx="%.1f" cy="%.1f" r="%.1f" class="%s"><title>%s</title></circle>`, x, y, r, class, html.EscapeString(title))
}

func (c *canvas) end() []byte {
	c.put("</svg>")
	return c.Bytes()
}

// scale is a logarithmic axis.
type scale struct{ low, high, from, to float64 }

// newScale covers the values with whole powers of ten.
func newScale(values []float64, from, to float64) scale {
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	low, high = math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	return scale{low, max(high, low+1), from, to}
}

func (s scale) at(v float64) float64 {
	share := (math.Log10(max(v, math.Pow(10, s.low))) - s.low) / (s.high - s.low)
	return s.from + share*(s.to-s.from)
}

// ticks are the powers of ten.
func (s scale) ticks() []float64 {
	var out []float64
	for e := s.low; e <= s.high; e++ {
		out = append(out, math.Pow(10, e))
	}
	return out
}

func millis(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.3g s", v/1000)
	case v < 1:
		return fmt.Sprintf("%.3g µs", v*1000)
	}
	return fmt.Sprintf("%.3g ms", v)
}

// drawRun shows one run: a row for every step with p50, p99 and p99.9 on a
// logarithmic axis, then the processes.
func drawRun(r *results) []byte {
	const width, left, right, row, top = 880, 160, 550, 24, 92
	height := top + row*len(r.Steps) + 60 + 20*(len(r.Processes)+1)
	c := newCanvas(width, height, r.title())
	c.text(20, 30, "title", "%s", r.title())
	c.text(20, 50, "dim small", "%s; load average before %s; seed %d; %d users, %d idle pages, preloaded %d", r.Machine, r.LoadBefore, r.Seed, r.Users, r.Idle, r.Preload)
	var values []float64
	for _, s := range r.Steps {
		values = append(values, s.P50, s.P999)
	}
	x := newScale(values, left, right)
	bottom := float64(top + row*len(r.Steps))
	for _, tick := range x.ticks() {
		c.line(x.at(tick), top-8, x.at(tick), bottom, "grid")
		c.text(x.at(tick)-12, top-14, "dim small", "%s", millis(tick))
	}
	for i, head := range []string{"p50", "p99", "p99.9", "count", "errors"} {
		c.text(float64(right+75+i*58), top-14, "dim small num", "%s", head)
	}
	for i, s := range r.Steps {
		y := float64(top + row*i + row/2)
		c.text(20, y+4, "", "%s", s.Name)
		c.line(x.at(s.P50), y, x.at(s.P999), y, "span")
		c.dot(x.at(s.P50), y, 5, "a", "p50 "+millis(s.P50))
		c.dot(x.at(s.P99), y, 5, "b", "p99 "+millis(s.P99))
		c.dot(x.at(s.P999), y, 4, "c", "p99.9 "+millis(s.P999))
		failed := int64(0)
		for _, n := range s.Errors {
			failed += n
		}
		for k, text := range []string{millis(s.P50), millis(s.P99), millis(s.P999), fmt.Sprint(s.Count), fmt.Sprint(failed)} {
			c.text(float64(right+75+k*58), y+4, "small num", "%s", text)
		}
	}
	y := bottom + 20
	for i, key := range []struct{ class, name string }{{"a", "p50"}, {"b", "p99"}, {"c", "p99.9"}} {
		c.dot(float64(left+i*70), y, 5, key.class, key.name)
		c.text(float64(left+10+i*70), y+4, "dim small", "%s", key.name)
	}
	verdict, class := "passed", "good"
	switch {
	case r.Invalid:
		verdict, class = "not valid", "bad"
	case !r.Passed:
		verdict, class = "not passed", "bad"
	}
	c.text(right+60, y+4, class, "%s", verdict)
	y += 30
	for i, head := range []string{"CPU s", "cores", "peak MB"} {
		c.text(float64(left+120+i*80), y, "dim small num", "%s", head)
	}
	for _, p := range r.Processes {
		y += 20
		c.text(20, y, "", "%s", p.Name)
		for i, text := range []string{
			fmt.Sprintf("%.1f", p.CPU), fmt.Sprintf("%.2f", p.Cores),
			fmt.Sprintf("%.0f", float64(p.PeakRSS)/(1<<20)),
		} {
			c.text(float64(left+120+i*80), y, "small num", "%s", text)
		}
	}
	return c.end()
}

// growth draws how p99, memory and processor time grow over several runs.
func growth(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("load growth", flag.ContinueOnError)
	fs.SetOutput(stderr)
	by := fs.String("by", "preload", "what grows: preload, nodes or records")
	most := fs.Float64("most", 0, "how many times what a request costs among the fewest records it may cost among the most; a miss is an error")
	picture := fs.String("picture", "", "draw into this SVG `FILE`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var runs []*results
	for _, file := range fs.Args() {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r := &results{}
		if err := json.Unmarshal(text, r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		runs = append(runs, r)
	}
	if len(runs) < 2 || !slices.Contains([]string{"preload", "nodes", "records"}, *by) {
		return errors.New("want two or more result files, by preload, nodes or records")
	}
	size := func(r *results) int {
		switch *by {
		case "nodes":
			return r.Nodes
		case "records":
			return int(r.Records)
		}
		return r.Preload
	}
	slices.SortFunc(runs, func(a, b *results) int { return size(a) - size(b) })
	printGrowth(stdout, runs, *by, size)
	if *most > 0 && !cheap(stdout, runs[0], runs[len(runs)-1], *most) {
		return errVerdict
	}
	if *picture == "" {
		return nil
	}
	return os.WriteFile(*picture, drawGrowth(runs, *by, size), 0o644)
}

// shown are the steps that stand for their service in pictures of growth.
func shown() []string {
	return []string{"ussd.dial", "chat.first frame", "files.upload 4 KiB", "files.download", "query.claim", "socket.connect"}
}

func (r *results) step(name string) result {
	i := slices.IndexFunc(r.Steps, func(s result) bool { return s.Name == name })
	if i < 0 {
		return result{}
	}
	return r.Steps[i]
}

func (r *results) nodeRSS() (peak int64) {
	for _, p := range r.Processes {
		if p.isNode() {
			peak = max(peak, p.PeakRSS)
		}
	}
	return peak
}

func printGrowth(out io.Writer, runs []*results, by string, size func(*results) int) {
	_, _ = fmt.Fprintf(out, "| p50 / p99 ms, by %s |", by)
	for _, r := range runs {
		_, _ = fmt.Fprintf(out, " %d |", size(r))
	}
	_, _ = fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---:|", len(runs)))
	for _, name := range shown() {
		_, _ = fmt.Fprintf(out, "| %s |", name)
		for _, r := range runs {
			s := r.step(name)
			_, _ = fmt.Fprintf(out, " %.1f / %.1f |", s.P50, s.P99)
		}
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprint(out, "| CPU of nodes per request, ms |")
	for _, r := range runs {
		_, _ = fmt.Fprintf(out, " %.2f |", r.CPUPerRequest)
	}
	if by == "records" {
		_, _ = fmt.Fprint(out, "\n| CPU of the database per request, ms |")
		for _, r := range runs {
			_, _ = fmt.Fprintf(out, " %.2f |", r.DatabaseCPUPerRequest)
		}
		_, _ = fmt.Fprint(out, "\n| rows read per request |")
		for _, r := range runs {
			_, _ = fmt.Fprintf(out, " %.1f |", r.RowsPerRequest)
		}
		_, _ = fmt.Fprint(out, "\n| cores of the database, nobody asking |")
		for _, r := range runs {
			_, _ = fmt.Fprintf(out, " %.4f |", r.AtRest.Cores)
		}
	}
	_, _ = fmt.Fprint(out, "\n| largest node, MB |")
	for _, r := range runs {
		_, _ = fmt.Fprintf(out, " %d |", r.nodeRSS()>>20)
	}
	_, _ = fmt.Fprintln(out)
}

func drawGrowth(runs []*results, by string, size func(*results) int) []byte {
	const width, height, left, right, top, bottom = 860, 400, 70, 600, 80, 350
	what := map[string]string{"preload": "telephone sessions, files and messages there before the run", "nodes": "nodes", "records": "rows in the database"}[by]
	first := runs[0]
	title := fmt.Sprintf("Median latency as %s grow", map[string]string{"preload": "the stores", "nodes": "the nodes", "records": "the records"}[by])
	c := newCanvas(width, height, title)
	c.text(20, 30, "title", "%s", title)
	c.text(20, 50, "dim small", "%s, %.0f journeys a second; %s; %s", first.Shape, first.Rate, what, first.Machine)
	var values []float64
	for _, r := range runs {
		for _, name := range shown() {
			values = append(values, r.step(name).P50)
		}
	}
	y := newScale(values, bottom, top)
	for _, tick := range y.ticks() {
		c.line(left, y.at(tick), right, y.at(tick), "grid")
		c.text(left-8, y.at(tick)+4, "dim small num", "%s", millis(tick))
	}
	place := func(i int) float64 { return left + 40 + float64(i)*float64(right-left-80)/float64(len(runs)-1) }
	for i, r := range runs {
		c.text(place(i)-12, bottom+20, "small", "%d", size(r))
	}
	c.text(left, bottom+40, "dim small", "%s", what)
	for k, name := range shown() {
		class := "l" + string(rune('a'+k))
		var points []string
		for i, r := range runs {
			points = append(points, fmt.Sprintf("%.1f,%.1f", place(i), y.at(r.step(name).P50)))
		}
		c.put(`<polyline points="%s" class="line %s"/>`, strings.Join(points, " "), class)
		row := float64(top + 12 + k*24)
		c.line(right+20, row-4, right+44, row-4, class+" line")
		last := runs[len(runs)-1].step(name).P50
		c.text(right+52, row, "small", "%s", name)
		c.text(width-20, row, "small num", "%s to %s", millis(runs[0].step(name).P50), millis(last))
	}
	row := float64(top + 12 + len(shown())*24 + 16)
	c.text(right+20, row, "dim small", "largest node %d to %d MB", runs[0].nodeRSS()>>20, runs[len(runs)-1].nodeRSS()>>20)
	c.text(right+20, row+20, "dim small", "CPU per request %.2f to %.2f ms", runs[0].CPUPerRequest, runs[len(runs)-1].CPUPerRequest)
	return c.end()
}
