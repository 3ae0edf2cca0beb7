// Command load drives a real deployment with mixed traffic of all services and
// says how it held up.
//
//	go run ./test/load -shape embedded -rate 50 -duration 30s
//	go run ./test/services -- go run ./test/load -shape fleet -nodes 3
//
// It starts the program itself, as one process on a data folder of its own
// (embedded) or as several on PostgreSQL, S3 and NATS (fleet), or takes servers
// that run already (-urls). People then call, chat, upload, download, query and
// keep pages open. The load is open loop: when somebody comes is decided before
// the run by a seed, never by how fast the last answer was, and every latency
// counts from the moment at which the request was meant to start, so that a
// server that stalls is charged for everybody who had to wait.
//
// With -hole, callers fall into a black hole from the middle of the run on: a program that
// their menu asks, and a gateway of text messages, that take everything and answer nothing.
// What the others wait for, before and beside that, stands in one table.
//
// Every answer is checked, and after the run what the deployment holds is
// compared with what it acknowledged. The results are a table, a JSON file, a
// picture and a verdict against a budget file; the exit code is 1 when the
// budget, the check or the comparison failed, and 3 when the run was only too slow
// while the host of a virtual machine withheld the processors, which says nothing.
//
// Decision: ADR 0073.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/test/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errVerdict):
		os.Exit(1)
	case errors.Is(err, errInvalid):
		os.Exit(3)
	default:
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
}

// errVerdict says that the run went through and its results are not good enough.
var errVerdict = errors.New("the run did not pass")

// errInvalid says that nobody knows whether they are.
var errInvalid = errors.New("the run is not valid")

// settings are what a run is told.
type settings struct {
	shape    string
	nodes    int
	binary   string
	urls     []string
	env      []string
	rate     float64
	duration time.Duration
	warmup   time.Duration
	seed     uint64
	mix      mix
	users    int
	idle     int
	preload  int
	records  int64
	hole     float64
	budget   string
	out      string
	picture  string
	profiles string
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "nats":
			return serveNATS(ctx, stdout)
		case "growth":
			return growth(args[1:], stdout, stderr)
		}
	}
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	r, err := run(ctx, s, stderr)
	if err != nil {
		return err
	}
	r.print(stdout)
	if s.out != "" {
		if err := r.save(s.out); err != nil {
			return err
		}
	}
	if s.picture != "" {
		if err := os.WriteFile(s.picture, drawRun(r), 0o644); err != nil {
			return err
		}
	}
	switch {
	case r.Invalid:
		return errInvalid
	case !r.Passed:
		return errVerdict
	}
	return nil
}

func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{mix: usualMix()}
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.shape, "shape", "embedded", "embedded (SQLite, files) or fleet (TEST_POSTGRES_URL, TEST_S3_URL, own NATS)")
	fs.IntVar(&s.nodes, "nodes", 0, "processes of the fleet (1 when embedded, else 3)")
	fs.StringVar(&s.binary, "binary", os.Getenv("CASTALIA_BINARY"), "`FILE` of the program; built when empty (CASTALIA_BINARY)")
	urls := fs.String("urls", "", "comma list of running servers to drive instead of starting any")
	fs.Float64Var(&s.rate, "rate", 50, "journeys that begin in a second; each is one to five requests")
	fs.DurationVar(&s.duration, "duration", 30*time.Second, "how long people keep coming")
	fs.DurationVar(&s.warmup, "warmup", 3*time.Second, "time before that which is not counted")
	fs.Uint64Var(&s.seed, "seed", 1, "of arrivals, people and contents: the same seed is the same traffic")
	fs.Var(&s.mix, "mix", "shares of the journeys")
	fs.IntVar(&s.users, "users", 100, "people with keys of their own")
	fs.IntVar(&s.idle, "idle", 50, "pages that are open all the time")
	fs.IntVar(&s.preload, "preload", 0, "telephone sessions, files and chat messages that are there before the run")
	fs.Int64Var(&s.records, "records", 0, "rows that a fleet's database has before the run: what -preload made, copied under other names")
	fs.Float64Var(&s.hole, "hole", 0, "callers a second, from the middle of the run on, whose program and text gateway never answer")
	fs.StringVar(&s.budget, "budget", "", "budget `FILE` (YAML) that the results are held against")
	fs.StringVar(&s.out, "out", "", "write the results to this JSON `FILE`")
	fs.StringVar(&s.picture, "picture", "", "draw them into this SVG `FILE`")
	fs.StringVar(&s.profiles, "profile", "", "write profiles of processor time and allocations of every node into this `DIR`")
	if err := fs.Parse(args); err != nil {
		return s, err
	}
	if *urls != "" {
		s.urls = strings.Split(*urls, ",")
	}
	if s.profiles != "" {
		s.env = append(s.env, "PROFILING_ENABLED=true")
	}
	switch {
	case fs.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case s.shape != "embedded" && s.shape != "fleet":
		return s, fmt.Errorf("no shape %q: embedded or fleet", s.shape)
	case s.shape == "embedded" && s.nodes > 1:
		return s, errors.New("the embedded shape is one process")
	case s.records > 0 && (s.shape != "fleet" || len(s.urls) > 0 || s.preload == 0):
		return s, errors.New("records are copies of what -preload made in a fleet's database")
	case s.hole < 0:
		return s, errors.New("hole must not be negative")
	case s.rate <= 0 || s.duration <= 0 || s.users < 1:
		return s, errors.New("rate, duration and users must be positive")
	}
	if s.nodes == 0 {
		s.nodes = 3
		if s.shape == "embedded" {
			s.nodes = 1
		}
	}
	return s, nil
}

// run starts the deployment, drives it and takes the results.
func run(ctx context.Context, s settings, progress io.Writer) (*results, error) {
	limits, err := readBudget(s.budget)
	if err != nil {
		return nil, err
	}
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(progress, "load: "+format+"\n", args...)
	}
	before := loadAverage()
	var black *hole
	if s.hole > 0 {
		if black, err = dig(ctx, &s); err != nil {
			return nil, err
		}
		defer black.close()
	}
	place, err := deploy(ctx, s, say)
	if err != nil {
		return nil, err
	}
	defer place.stop()
	w, err := newWorld(ctx, s, place)
	if err != nil {
		return nil, err
	}
	w.hole = black
	if err := w.prepare(ctx, place, say); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	defer w.closePages()
	say("driving %g journeys a second for %s after %s of warm-up", s.rate, s.duration, s.warmup)
	rows, err := place.rowsRead(ctx)
	if err != nil {
		return nil, err
	}
	clock := host.Read()
	watch := place.watch(ctx, s.warmup)
	profiled := profile(ctx, s, place.urls)
	w.drive(ctx)
	processes := watch()
	withheld := host.Read().Since(clock)
	if err := <-profiled; err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	after, err := place.rowsRead(ctx)
	if err != nil {
		return nil, err
	}
	say("comparing what is there with what was acknowledged")
	r := collect(s, w, processes)
	r.LoadBefore, r.Withheld = before, withheld
	// The warm-up has its share of the rows, and of the requests.
	counted := r.Seconds / (r.Seconds + s.warmup.Seconds())
	r.RowsPerRequest = float64(sum(after)-sum(rows)) * counted / float64(max(1, r.Requests))
	r.Differences = w.reconcile(ctx)
	r.judge(limits)
	return r, nil
}
