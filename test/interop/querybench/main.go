// Command querybench compares the query gateway with a generated grpc-gateway
// on the same messages and the same gRPC node, in one run.
//
// Each gateway is a process of its own; the load comes from this one over
// keep-alive connections. Rounds of all arms are interleaved, so that foreign
// load hits them alike: read the ratios. CPU per request is that of the gateway
// process alone, from /proc.
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
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "node":
		err = runNode(ctx)
	case len(os.Args) == 3 && os.Args[1] == "generated":
		err = runGenerated(ctx, os.Args[2])
	case len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "ours"):
		err = runOurs(ctx, os.Args[2], os.Args[1] == "ours-cached")
	default:
		err = compare(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "querybench:", err)
		os.Exit(1)
	}
}

// child is a process that prints its address in its first line.
type child struct {
	cmd  *exec.Cmd
	addr string
}

func start(ctx context.Context, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	if strings.HasPrefix(args[0], "ours") {
		cmd.Env = append(os.Environ(), "GOGC=200") // as `castalia serve` runs
	}
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
}

func compare(ctx context.Context) error {
	rounds := flag.Int("rounds", 5, "rounds of each arm")
	length := flag.Duration("time", 2*time.Second, "length of a round")
	clients := flag.Int("c", 16, "connections")
	strict := flag.Bool("strict", false, "fail when a bar is missed; needs a quiet machine")
	flag.Parse()
	ctx, cancel := context.WithCancel(ctx)
	children := make(map[string]*child)
	defer func() {
		cancel()
		for _, c := range children { // a child that outlives us holds our caller's pipe open
			_ = c.cmd.Wait()
		}
	}()
	node, err := start(ctx, "node")
	if err != nil {
		return err
	}
	children["node"] = node
	for _, arm := range arms {
		if arm == "direct" {
			continue
		}
		c, err := start(ctx, arm, node.addr)
		if err != nil {
			return err
		}
		children[arm] = c
	}
	fmt.Printf("%d rounds of %s, %d connections, medians; ratios to the generated gateway\n", *rounds, *length, *clients)
	failed := false
	for i, route := range routes {
		samples := make(map[string][]sample)
		for round := range *rounds + 1 {
			for _, arm := range arms {
				s, err := measure(ctx, arm, children[arm], node.addr, route.path, i, *clients, *length)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", route.name, arm, err)
				}
				if round > 0 { // the first one warms up
					samples[arm] = append(samples[arm], s)
				}
			}
		}
		if !report(route.name, samples) {
			failed = true
		}
	}
	if failed && *strict {
		return fmt.Errorf("a bar was missed")
	}
	return nil
}

func measure(ctx context.Context, arm string, c *child, node, path string, which, clients int, length time.Duration) (sample, error) {
	if arm == "direct" {
		return loadGRPC(ctx, node, which, clients, length)
	}
	before, err := cpuTime(c.cmd.Process.Pid)
	if err != nil {
		return sample{}, err
	}
	s, requests, err := loadHTTP(ctx, c.addr, path, clients, length)
	if err != nil {
		return sample{}, err
	}
	after, err := cpuTime(c.cmd.Process.Pid)
	s.cpu = (after - before) / time.Duration(max(1, requests))
	return s, err
}

func report(name string, samples map[string][]sample) bool {
	fmt.Printf("\n%s\n%-12s %10s %8s %10s %10s %12s %8s\n", name, "arm", "req/s", "ratio", "p50", "p99", "CPU/req", "ratio")
	base := median(samples[arms[0]])
	ok := true
	for _, arm := range arms {
		m := median(samples[arm])
		rate, cpu := m.rate/base.rate, float64(m.cpu)/float64(base.cpu)
		fmt.Printf("%-12s %10.0f %7.2fx %10s %10s %12s %7.2fx\n", arm, m.rate, rate,
			m.p50.Round(time.Microsecond), m.p99.Round(time.Microsecond), m.cpu.Round(time.Microsecond), cpu)
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

func median(samples []sample) sample {
	pick := func(value func(sample) float64) float64 {
		all := make([]float64, len(samples))
		for i, s := range samples {
			all[i] = value(s)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return sample{
		rate: pick(func(s sample) float64 { return s.rate }),
		p50:  time.Duration(pick(func(s sample) float64 { return float64(s.p50) })),
		p99:  time.Duration(pick(func(s sample) float64 { return float64(s.p99) })),
		cpu:  time.Duration(pick(func(s sample) float64 { return float64(s.cpu) })),
	}
}
