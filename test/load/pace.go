package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arrival is somebody who comes: when, for what, and the seed of all he does.
type arrival struct {
	at   time.Duration
	kind string
	n    int
	seed uint64
}

// rng is the arrival's own randomness, so that no journey depends on another.
func (a arrival) rng() *rand.Rand { return rand.New(rand.NewPCG(a.seed, uint64(a.n))) }

// plan lists who comes, in order. People come independently of each other (a
// Poisson process), so there are bursts, as there are in life. The same
// arguments are the same plan.
func plan(rate float64, length time.Duration, m mix, seed uint64) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		r := rand.New(rand.NewPCG(seed, 0x10ad))
		at := time.Duration(0)
		for n := 0; ; n++ {
			at += time.Duration(r.ExpFloat64() / rate * float64(time.Second))
			if at >= length || !yield(arrival{at: at, kind: m.pick(r.Float64()), n: n, seed: r.Uint64()}) {
				return
			}
		}
	}
}

// mix is how often each journey is begun, by weight. It keeps an order, so that
// a seed means the same everywhere.
type mix struct {
	names   []string
	weights []float64
}

// kinds are the journeys that there are.
func kinds() []string { return []string{"ussd", "chat", "upload", "download", "query", "socket"} }

func usualMix() mix {
	return mix{names: kinds(), weights: []float64{30, 10, 15, 20, 20, 5}}
}

// String and Set make mix a flag: ussd=30,chat=10.
func (m mix) String() string {
	parts := make([]string, len(m.names))
	for i, name := range m.names {
		parts[i] = fmt.Sprintf("%s=%g", name, m.weights[i])
	}
	return strings.Join(parts, ",")
}

// Set reads a list of shares; journeys that it does not name are not made.
func (m *mix) Set(text string) error {
	var out mix
	sum := 0.0
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		weight, err := strconv.ParseFloat(value, 64)
		if err != nil || !(weight >= 0) || weight > 1e9 {
			return fmt.Errorf("%q: want name=share", part)
		}
		if !slices.Contains(kinds(), name) || slices.Contains(out.names, name) {
			return fmt.Errorf("%q: want each of %s at most once", name, strings.Join(kinds(), ", "))
		}
		out.names, out.weights, sum = append(out.names, name), append(out.weights, weight), sum+weight
	}
	if sum <= 0 {
		return fmt.Errorf("%q has no journeys", text)
	}
	*m = out
	return nil
}

// pick returns the journey at a place between 0 and 1.
func (m mix) pick(place float64) string {
	sum := 0.0
	for _, w := range m.weights {
		sum += w
	}
	place *= sum
	for i, w := range m.weights {
		if place -= w; place < 0 {
			return m.names[i]
		}
	}
	return m.names[len(m.names)-1]
}
