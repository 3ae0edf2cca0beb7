// Command querybench compares the query gateway with a generated grpc-gateway
// on the same messages and the same gRPC node, in one run.
//
// Each gateway is a process of its own; the load comes from this one over
// keep-alive connections. Rounds are short and their arms interleaved, each
// round beginning with another one, and a ratio is the median of the ratios
// inside the rounds: foreign load hits all arms alike. CPU per request is that
// of the gateway process alone, by its own clock.
//
// -profile DIR writes a CPU profile of every process.
//
// Run it by `make bench-query`, which generates the baseline first.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bars of the benchmark, as ratios to the generated gateway.
const (
	entityRate, listRate, cachedRate = 1.5, 5.0, 5.0
	entityCPU, listCPU               = 0.6, 0.25
)

var routes = []struct{ name, path string }{
	{"entity", "/ixo/entity/did:ixo:entity:1"},
	{"list of 100 claims", "/ixo/claims/claims"},
}

// arms are the ways to an answer; the first is the base.
var arms = []string{"generated", "ours", "ours-cached", "direct"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	finish, err := profile(os.Getenv(profileVariable))
	switch {
	case err != nil:
	case len(os.Args) == 2 && os.Args[1] == "node":
		err = runNode(ctx)
	case len(os.Args) == 3 && os.Args[1] == "generated":
		err = runGenerated(ctx, os.Args[2])
	case len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "ours"):
		err = runOurs(ctx, os.Args[2], os.Args[1] == "ours-cached")
	default:
		err = compare(ctx)
	}
	finish()
	if err != nil {
		fmt.Fprintln(os.Stderr, "querybench:", err)
		os.Exit(1)
	}
}

// profile writes a CPU profile of this process until finish is called.
func profile(file string) (finish func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	out, err := os.Create(file)
	if err != nil {
		return func() {}, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = out.Close()
	}, pprof.StartCPUProfile(out)
}

// child is a process that prints its address in its first line.
type child struct {
	cmd  *exec.Cmd
	addr string
}

// profileVariable names the file into which a child profiles itself.
const profileVariable = "QUERYBENCH_PROFILE"

func start(ctx context.Context, profiles string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = os.Environ()
	if strings.HasPrefix(args[0], "ours") {
		cmd.Env = append(cmd.Env, "GOGC=200") // as `castalia serve` runs
	}
	if profiles != "" {
		cmd.Env = append(cmd.Env, profileVariable+"="+filepath.Join(profiles, args[0]+".pprof"))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // nobody else would end it
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("start %v: %w", args, err)
	}
	return &child{cmd, strings.TrimSpace(line)}, nil
}

// sample is one round of one arm.
type sample struct {
	rate     float64       // requests per second
	p50, p99 time.Duration // of a request
	cpu      time.Duration // of the gateway, per request
	others   time.Duration // of the client and the node, per request
}

type settings struct {
	rounds  int
	length  time.Duration
	clients int
	strict  bool
	only    string
}

func compare(ctx context.Context) error {
	var set settings
	flag.IntVar(&set.rounds, "rounds", 15, "rounds of each arm")
	flag.DurationVar(&set.length, "time", 600*time.Millisecond, "length of a round")
	flag.IntVar(&set.clients, "c", 16, "connections")
	flag.BoolVar(&set.strict, "strict", false, "fail when a bar is missed; needs a quiet machine")
	flag.StringVar(&set.only, "only", "", "the first word of a route's name; both when empty")
	profiles := flag.String("profile", "", "write CPU profiles of the processes into this `DIR`")
	flag.Parse()
	ctx, cancel := context.WithCancel(ctx)
	b := &bench{settings: set, children: make(map[string]*child)}
	defer func() {
		cancel()
		for _, c := range b.children { // a child that outlives us holds our caller's pipe open
			_ = c.cmd.Wait()
		}
	}()
	var err error
	if b.children["node"], err = start(ctx, *profiles, "node"); err != nil {
		return err
	}
	for _, arm := range arms {
		if arm == "direct" {
			continue
		}
		if b.children[arm], err = start(ctx, *profiles, arm, b.children["node"].addr); err != nil {
			return err
		}
	}
	fmt.Printf("%d rounds of %s, %d connections, medians; ratios to the generated gateway in the same round\n", set.rounds, set.length, set.clients)
	met := true
	for i, route := range routes {
		if !strings.HasPrefix(route.name, set.only) {
			continue
		}
		samples, err := b.run(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", route.name, err)
		}
		met = report(route.name, samples) && met
	}
	if !met && set.strict {
		return fmt.Errorf("a bar was missed")
	}
	return nil
}

// bench is the processes and how they are asked.
type bench struct {
	settings
	children map[string]*child
}

// run measures all arms on one route, round by round.
func (b *bench) run(ctx context.Context, route int) (map[string][]sample, error) {
	samples := make(map[string][]sample)
	for round := range b.rounds + 1 {
		for turn := range arms {
			arm := arms[(round+turn)%len(arms)]
			s, err := b.measure(ctx, arm, route)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arm, err)
			}
			if round > 0 { // the first one warms up
				samples[arm] = append(samples[arm], s)
			}
		}
	}
	return samples, nil
}

func (b *bench) measure(ctx context.Context, arm string, route int) (sample, error) {
	gateway := 0
	if c := b.children[arm]; c != nil {
		gateway = c.cmd.Process.Pid
	}
	others := []int{os.Getpid(), b.children["node"].cmd.Process.Pid}
	before, err := cpuTimes(gateway, others)
	if err != nil {
		return sample{}, err
	}
	var s sample
	var requests int
	if arm == "direct" {
		s, requests, err = loadGRPC(ctx, b.children["node"].addr, route, b.clients, b.length)
	} else {
		s, requests, err = loadHTTP(ctx, b.children[arm].addr, routes[route].path, b.clients, b.length)
	}
	if err != nil {
		return sample{}, err
	}
	after, err := cpuTimes(gateway, others)
	s.cpu = (after[0] - before[0]) / time.Duration(max(1, requests))
	s.others = (after[1] - before[1]) / time.Duration(max(1, requests))
	return s, err
}

// cpuTimes is what the gateway has used and what the others have.
func cpuTimes(gateway int, others []int) (sums [2]time.Duration, err error) {
	if gateway != 0 {
		if sums[0], err = cpuTime(gateway); err != nil {
			return sums, err
		}
	}
	for _, pid := range others {
		used, err := cpuTime(pid)
		if err != nil {
			return sums, err
		}
		sums[1] += used
	}
	return sums, nil
}

func report(name string, samples map[string][]sample) bool {
	fmt.Printf("\n%s\n%-12s %10s %8s %10s %10s %12s %8s\n", name, "arm", "req/s", "ratio", "p50", "p99", "CPU/req", "ratio")
	base := samples[arms[0]]
	ok := true
	for _, arm := range arms {
		s := samples[arm]
		rates, cpus := make([]float64, len(s)), make([]float64, len(s))
		for i := range s {
			rates[i] = s[i].rate / base[i].rate
			cpus[i] = float64(s[i].cpu) / float64(base[i].cpu)
		}
		rate, cpu := median(rates), median(cpus)
		fmt.Printf("%-12s %10.0f %7.2fx %10s %10s %12s %7.2fx\n", arm, medianOf(s, func(s sample) float64 { return s.rate }), rate,
			durationOf(s, func(s sample) time.Duration {
				return s.p50
			}), durationOf(s, func(s sample) time.Duration { return s.p99 }),
			durationOf(s, func(s sample) time.Duration { return s.cpu }), cpu)
		slices.Sort(rates)
		fmt.Printf("  half of the rounds between %.2fx and %.2fx; client and node used %s per request\n",
			rates[len(rates)/4], rates[len(rates)*3/4], durationOf(s, func(s sample) time.Duration { return s.others }))
		wantRate, wantCPU := entityRate, entityCPU
		if name != routes[0].name {
			wantRate, wantCPU = listRate, listCPU
		}
		switch {
		case arm == "ours" && (rate < wantRate || cpu > wantCPU):
			fmt.Printf("  missed: at least %.1fx requests and at most %.2fx CPU\n", wantRate, wantCPU)
			ok = false
		case arm == "ours-cached" && rate < cachedRate:
			fmt.Printf("  missed: at least %.1fx requests\n", cachedRate)
			ok = false
		}
	}
	return ok
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func medianOf(samples []sample, value func(sample) float64) float64 {
	all := make([]float64, len(samples))
	for i, s := range samples {
		all[i] = value(s)
	}
	return median(all)
}

func durationOf(samples []sample, value func(sample) time.Duration) time.Duration {
	return time.Duration(medianOf(samples, func(s sample) float64 { return float64(value(s)) })).Round(time.Microsecond)
}
