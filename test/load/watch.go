package main

import (
	"context"
	"os"
	"sync"
	"time"
)

// measured is a process, or a family of them, whose cost is taken.
type measured struct {
	name string
	pids func() []int
	// private leaves shared memory out, which many processes of one server would
	// each be charged with.
	private bool
}

// usage is what processes have used.
type usage struct {
	cpu      time.Duration // user and system, since their start
	resident int64         // bytes now
}

// process is what one part of the deployment cost in the counted time.
type process struct {
	Name string `json:"name"`
	// CPU is processor time, and Cores that over wall time.
	CPU   float64 `json:"cpuSeconds"`
	Cores float64 `json:"cores"`
	// PeakRSS and EndRSS are resident bytes.
	PeakRSS int64 `json:"peakRssBytes"`
	EndRSS  int64 `json:"endRssBytes"`
}

const sampleEvery = 500 * time.Millisecond

// watch begins to measure when the warm-up is over. The function that it returns
// ends that and gives the costs.
func (p *place) watch(ctx context.Context, warmup time.Duration) func() []process {
	all := append([]measured{{name: "load generator", pids: func() []int { return []int{os.Getpid()} }}}, p.own...)
	ctx, cancel := context.WithCancel(ctx)
	out := make([]process, len(all))
	begin := make([]usage, len(all))
	var since time.Time
	look := func() {
		for i, m := range all {
			u := read(m.pids(), m.private)
			if since.IsZero() {
				begin[i] = u
			}
			out[i].Name, out[i].EndRSS = m.name, u.resident
			out[i].PeakRSS = max(out[i].PeakRSS, u.resident)
			out[i].CPU = max(out[i].CPU, (u.cpu - begin[i].cpu).Seconds())
		}
		if since.IsZero() {
			since = time.Now()
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		next := time.NewTimer(warmup)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
				look()
				next.Reset(sampleEvery)
			}
		}
	})
	return func() []process {
		cancel()
		wait.Wait()
		look()
		for i := range out {
			out[i].Cores = out[i].CPU / max(time.Since(since).Seconds(), 0.001)
		}
		return out
	}
}
