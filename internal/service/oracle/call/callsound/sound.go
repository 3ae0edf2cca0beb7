package callsound

import (
	"encoding/binary"
	"math"
	"time"
)

// MuLaw encodes 16-bit samples as G.711 µ-law, one byte each.
func MuLaw(dst []byte, pcm []int16) []byte {
	for _, s := range pcm {
		dst = append(dst, muLaw(s))
	}
	return dst
}

func muLaw(sample int16) byte {
	const bias, clip = 0x84, 32635
	sign := byte(0)
	s := int(sample)
	if s < 0 {
		s, sign = -s, 0x80
	}
	s = min(s, clip) + bias
	exponent := 7
	for mask := 0x4000; s&mask == 0 && exponent > 0; mask >>= 1 {
		exponent--
	}
	mantissa := s >> (exponent + 3) & 0x0f
	return ^(sign | byte(exponent<<4) | byte(mantissa)) //nolint:gosec // three and four bits
}

// FromMuLaw decodes G.711 µ-law.
func FromMuLaw(dst []int16, data []byte) []int16 {
	for _, b := range data {
		u := ^b
		v := (int(u&0x0f)<<3 + 0x84) << (u >> 4 & 7)
		v -= 0x84
		if u&0x80 != 0 {
			v = -v
		}
		dst = append(dst, int16(v)) //nolint:gosec // at most 32124
	}
	return dst
}

// WAV is mono sound as a WAVE file.
func WAV(pcm []int16, rate int) []byte {
	const header = 44
	out := make([]byte, header, header+2*len(pcm))
	size := uint32(2 * len(pcm)) //nolint:gosec // an utterance is bounded
	le := binary.LittleEndian
	copy(out, "RIFF")
	le.PutUint32(out[4:], 36+size)
	copy(out[8:], "WAVEfmt ")
	le.PutUint32(out[16:], 16)
	le.PutUint16(out[20:], 1)              // PCM
	le.PutUint16(out[22:], 1)              // mono
	le.PutUint32(out[24:], uint32(rate))   //nolint:gosec // a constant of ours
	le.PutUint32(out[28:], uint32(2*rate)) //nolint:gosec // a constant of ours
	le.PutUint16(out[32:], 2)
	le.PutUint16(out[34:], 16)
	copy(out[36:], "data")
	le.PutUint32(out[40:], size)
	for _, s := range pcm {
		out = le.AppendUint16(out, uint16(s)) //nolint:gosec // the bits as they are
	}
	return out
}

// Resampler changes the rate of a stream of samples: a windowed sinc that cuts
// what the lower rate cannot carry, evaluated where the output needs it.
type Resampler struct {
	from, to int // without their common factor
	taps     int // on each side
	cut      float64
	phases   [][]float64 // weights by where an output lies between two inputs, made when needed
	buf      []int16     // what may still be needed
	at       int64       // position of the next output, in 1/to of an input sample, relative to buf
}

// maxPhases bounds the weights that a Resampler holds. Rates in use need fewer;
// for others the nearest will do.
const maxPhases = 512

// NewResampler returns a resampler of sound from one rate to another.
func NewResampler(from, to int) *Resampler {
	common := from
	for rest := to; rest > 0; {
		common, rest = rest, common%rest
	}
	r := &Resampler{from: from / common, to: to / common, taps: 8, cut: 1}
	if to < from {
		r.cut = float64(to) / float64(from) * 0.92
		r.taps = int(math.Ceil(8 * float64(from) / float64(to)))
	}
	r.phases = make([][]float64, min(r.to, maxPhases))
	r.buf = make([]int16, r.taps)
	r.at = int64(r.taps) * int64(r.to)
	return r
}

// Add appends the output that the input makes possible.
func (r *Resampler) Add(dst, in []int16) []int16 {
	if r.from == r.to {
		return append(dst, in...)
	}
	r.buf = append(r.buf, in...)
	to := int64(r.to)
	for r.at/to+int64(r.taps) < int64(len(r.buf)) {
		dst = append(dst, r.sample())
		r.at += int64(r.from)
	}
	if drop := int(r.at/to) - r.taps; drop > 0 {
		r.buf = append(r.buf[:0], r.buf[drop:]...)
		r.at -= int64(drop) * to
	}
	return dst
}

// Flush appends what is left once the input has ended.
func (r *Resampler) Flush(dst []int16) []int16 {
	if r.from == r.to {
		return dst
	}
	return r.Add(dst, make([]int16, r.taps+1))
}

func (r *Resampler) sample() int16 {
	centre, rest := int(r.at/int64(r.to)), int(r.at%int64(r.to))
	sum := 0.0
	near := r.buf[centre-r.taps+1:]
	for k, w := range r.weights(rest * len(r.phases) / r.to) {
		sum += w * float64(near[k])
	}
	return clampSample(sum)
}

// weights are those of the inputs around an output.
func (r *Resampler) weights(phase int) []float64 {
	if w := r.phases[phase]; w != nil {
		return w
	}
	frac := float64(phase) / float64(len(r.phases))
	w := make([]float64, 2*r.taps)
	total := 0.0
	for i := range w {
		x := float64(i+1-r.taps) - frac
		w[i] = sinc(x*r.cut) * (0.5 + 0.5*math.Cos(math.Pi*x/float64(r.taps)))
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	r.phases[phase] = w
	return w
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

func clampSample(v float64) int16 {
	return int16(max(math.MinInt16, min(math.MaxInt16, math.Round(v))))
}

// Tone is a sine that fades in and out.
func Tone(rate int, hertz, level float64, length time.Duration) []int16 {
	n := int(length.Seconds() * float64(rate))
	fade := min(rate/100, n/2)
	out := make([]int16, n)
	for i := range out {
		v := level * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))
		if edge := min(i, n-1-i); edge < fade {
			v *= float64(edge) / float64(fade)
		}
		out[i] = clampSample(v * math.MaxInt16)
	}
	return out
}
