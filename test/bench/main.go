// Command bench runs the project's benchmarks in groups and holds them against
// their bars.
//
//	go run ./test/bench [-only ussd,query] [-record FILE]
//
// Each group has a time limit, after which it and its processes are ended and
// named; the others go on. A bar is a ratio to a baseline that is measured in
// the same run wherever that is possible, so that it means something on any
// machine. -record writes the table between the markers of a Markdown file.
//
// The exit code is 1 when a group failed or ran out of time. A missed bar is no
// failure unless -strict is given, since it needs a quiet machine.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/test/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	only := fs.String("only", "", "comma list of groups; all when empty")
	record := fs.String("record", "", "write the table into this Markdown `FILE`")
	strict := fs.Bool("strict", false, "fail when a bar is missed")
	if err := fs.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	before := loadAverage()
	var outcomes []outcome
	var failed []string
	for _, g := range chosen {
		_, _ = fmt.Fprintf(stdout, "== %s: %s (at most %s)\n", g.name, g.about, g.limit)
		if err := build(ctx, g, stdout); err != nil {
			return err
		}
		begin, clock := time.Now(), host.Read()
		said, err := execute(ctx, g, stdout)
		if err != nil {
			_, _ = fmt.Fprintf(stdout, "-- %s FAILED: %v\n", g.name, err)
			failed = append(failed, g.name)
		}
		values := parse(said)
		for _, b := range g.bars {
			outcomes = append(outcomes, outcome{group: g, bar: b, got: b.value(values), withheld: host.Read().Since(clock)})
		}
		_, _ = fmt.Fprintf(stdout, "-- %s took %s\n\n", g.name, time.Since(begin).Round(time.Second))
	}
	show(stdout, outcomes)
	missed := slices.ContainsFunc(outcomes, func(o outcome) bool { return !o.met() && !o.invalid() })
	if *record != "" {
		if err := recordInto(*record, outcomes, before); err != nil {
			return err
		}
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("groups that failed: %s", strings.Join(failed, ", "))
	case missed && *strict:
		return errors.New("a bar was missed")
	}
	return nil
}

func choose(only string) ([]group, error) {
	all := groups()
	if only == "" {
		return all, nil
	}
	var out []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if i < 0 {
			var names []string
			for _, g := range all {
				names = append(names, g.name)
			}
			return nil, fmt.Errorf("no group %q: %s", name, strings.Join(names, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// build compiles what a group's Go benchmarks are made of, outside of the group's limit: on a
// machine that has nothing yet that takes longer than measuring.
func build(ctx context.Context, g group, stdout io.Writer) error {
	for _, command := range g.commands {
		pkg, ok := tested(command)
		if !ok {
			continue
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", pkg)
		cmd.Stderr = stdout
		if out, err := cmd.Output(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// tested returns the package whose Go benchmarks a command runs, if it runs some.
func tested(command []string) (pkg string, ok bool) {
	if len(command) < 3 || command[0] != "go" || command[1] != "test" {
		return "", false
	}
	at := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, "./") })
	if at < 0 {
		return "", false
	}
	return command[at], true
}

// execute runs a group's commands one after the other within its limit, and
// returns what they said.
func execute(ctx context.Context, g group, stdout io.Writer) (string, error) {
	limited, cancel := context.WithTimeout(ctx, g.limit)
	defer cancel()
	var said bytes.Buffer
	for _, command := range g.commands {
		cmd := exec.CommandContext(limited, command[0], command[1:]...)
		cmd.Stdout = io.MultiWriter(&said, stdout)
		cmd.Stderr = cmd.Stdout
		ownGroup(cmd)                    // so that its children end with it
		cmd.WaitDelay = 10 * time.Second // a child that is left must not hold our pipe
		if err := cmd.Run(); err != nil {
			if limited.Err() != nil && ctx.Err() == nil {
				err = fmt.Errorf("not done after %s", g.limit)
			}
			return said.String(), err
		}
	}
	return said.String(), nil
}

// outcome is a bar and what was measured.
type outcome struct {
	group group
	bar   bar
	got   float64 // NaN when the run did not print it
	// withheld is the share of the processors' time that the host gave to others meanwhile.
	withheld float64
}

// invalid says that the bar was missed while the host withheld the processors: nobody
// knows whether the program did that.
func (o outcome) invalid() bool {
	return !math.IsNaN(o.got) && !o.met() && o.withheld >= host.TooMuch
}

func (o outcome) met() bool {
	switch o.bar.kind {
	case atLeast:
		return o.got >= o.bar.want
	case atMost:
		return o.got <= o.bar.want
	default:
		return !math.IsNaN(o.got)
	}
}

func (o outcome) wanted() string {
	switch o.bar.kind {
	case atLeast:
		return "at least " + o.bar.write(o.bar.want)
	case atMost:
		return "at most " + o.bar.write(o.bar.want)
	default:
		return "reported"
	}
}

// denied says that the host withheld the processors, where it did.
func (o outcome) denied() string {
	if o.withheld < host.TooMuch {
		return ""
	}
	return fmt.Sprintf(", the host withheld %.0f%%", 100*o.withheld)
}

func (o outcome) measured() string {
	if math.IsNaN(o.got) {
		return "not measured"
	}
	return o.bar.write(o.got)
}

func (o outcome) verdict() string {
	switch {
	case math.IsNaN(o.got):
		return "?"
	case o.bar.kind == reported:
		return ""
	case o.met():
		return "met"
	case o.invalid():
		return "invalid"
	}
	return "MISSED"
}

func show(out io.Writer, outcomes []outcome) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "group\tfigure\tbar\tmeasured\t")
	for _, o := range outcomes {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", o.group.name, o.bar.what, o.wanted(), o.measured(), o.verdict())
	}
	_ = t.Flush()
}

// The table of a Markdown file stands between these.
const (
	beginMark = "<!-- make bench writes from here -->"
	endMark   = "<!-- to here -->"
)

// recordInto replaces the rows of the groups that ran, and keeps the others.
func recordInto(file string, outcomes []outcome, before string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out, err := merge(string(text), outcomes, fmt.Sprintf("%s, %d cores, %s, load average before %s",
		time.Now().UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), runtime.Version(), before))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(out), 0o644)
}

func merge(text string, outcomes []outcome, where string) (string, error) {
	head, rest, ok := strings.Cut(text, beginMark)
	old, tail, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return "", errors.New("the markers of the table are missing")
	}
	kept := map[string]string{}
	for line := range strings.Lines(old) {
		if cells := strings.Split(line, " | "); len(cells) == 6 && strings.HasPrefix(line, "| `make ") {
			kept[cells[0]+cells[1]] = line
		}
	}
	for _, o := range outcomes {
		command := fmt.Sprintf("| `make bench BENCH=%s`", o.group.name)
		cells := []string{command, o.bar.what, o.wanted(), o.measured(), o.verdict(), where + o.denied()}
		kept[command+o.bar.what] = strings.Join(cells, " | ") + " |\n"
	}
	var b strings.Builder
	b.WriteString(head + beginMark + "\n\n| command | figure | bar | measured | | when and where |\n|---|---|---|---|---|---|\n")
	for _, g := range groups() {
		for _, r := range g.bars {
			command := fmt.Sprintf("| `make bench BENCH=%s`", g.name)
			line, ok := kept[command+r.what]
			if !ok {
				o := outcome{group: g, bar: r}
				line = fmt.Sprintf("%s | %s | %s | not measured yet | | |\n", command, r.what, o.wanted())
			}
			b.WriteString(line)
		}
	}
	b.WriteString("\n" + endMark + tail)
	return b.String(), nil
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}
