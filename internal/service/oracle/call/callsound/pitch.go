package callsound

import "math"

// The pitches of voices, as the number of samples of a period, and the stretch
// of sound in which they are looked for.
const (
	shortestPeriod = HeardRate / 400
	longestPeriod  = HeardRate / 75
	pitchWindow    = HeardRate / 25
	// pitchLike is how much sound must be like itself a period later.
	pitchLike = 0.55
)

// pitched reports whether sound repeats itself as a voice does. Noise does not
// repeat itself, and a rumble only so slowly that it is filtered out before.
func pitched(pcm []int16) bool {
	if len(pcm) < pitchWindow {
		return false
	}
	var x [pitchWindow]float64
	for i := 1; i < pitchWindow; i++ {
		x[i] = float64(pcm[i]) - 0.95*float64(pcm[i-1])
	}
	const n = pitchWindow - longestPeriod
	first, moved := energy(x[:n]), energy(x[shortestPeriod:shortestPeriod+n])
	if first == 0 {
		return false
	}
	fallen := false // the likeness to itself has gone down: what comes next is a period
	for lag := shortestPeriod; lag <= longestPeriod; lag++ {
		sum := 0.0
		for i := range n {
			sum += x[i] * x[i+lag]
		}
		like := 0.0
		if moved > 0 {
			like = sum / math.Sqrt(first*moved)
		}
		switch {
		case like < pitchLike/2:
			fallen = true
		case fallen && like > pitchLike:
			return true
		}
		if lag < longestPeriod {
			moved += x[lag+n]*x[lag+n] - x[lag]*x[lag] //nolint:gosec // lag+n < pitchWindow, the length of x
		}
	}
	return false
}

func energy(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}
