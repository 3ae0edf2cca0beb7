package callopus

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pion/opus"
	"github.com/thesyncim/gopus"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// lateness is how many samples later than it went in sound comes out.
const lateness = 312

// speech sounds like somebody who talks: a throat with formants, syllables, a
// hiss now and then, and a pause after each sentence.
func speech(length time.Duration) []int16 {
	const rate = callsound.SpokenRate
	vowels := [][4]float64{
		{700, 1200, 2600, 3500},
		{300, 2300, 3000, 3700},
		{500, 900, 2500, 3400},
		{400, 1700, 2500, 3600},
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	out := make([]int16, int(length.Seconds()*rate))
	var was [4][2]float64
	phase := 0.0
	for i := range out {
		at := float64(i) / rate
		syllable := int(at / 0.22)
		source := 0.0
		if phase += (110 + 30*math.Sin(2*math.Pi*0.7*at)) / rate; phase >= 1 {
			phase--
			source = 1
		}
		if syllable%5 == 4 {
			source = 0.15 * rnd.NormFloat64()
		}
		v := 0.0
		for k, hertz := range vowels[syllable%4] {
			r := math.Exp(-math.Pi * (80 + 40*float64(k)) / rate)
			y := source*(1-r) + 2*r*math.Cos(2*math.Pi*hertz/rate)*was[k][0] - r*r*was[k][1]
			was[k] = [2]float64{y, was[k][0]}
			v += y / float64(k+1)
		}
		if math.Mod(at, 3) < 2.4 {
			out[i] = int16(math.MaxInt16 * max(-0.9, min(0.9, 0.6*v*math.Sin(math.Pi*math.Mod(at, 0.22)/0.22))))
		}
	}
	return out
}

// encode encodes sound for a line that loses a part of it; nil stands for what is not sent.
func encode(t testing.TB, e *Encoder, pcm []int16) (packets [][]byte, bitsPerSecond int) {
	t.Helper()
	for i := 0; i+callsound.SpokenFrame <= len(pcm); i += callsound.SpokenFrame {
		packet, err := e.Encode(pcm[i : i+callsound.SpokenFrame])
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, append([]byte(nil), packet...))
		bitsPerSecond += 8 * len(packet)
	}
	return packets, bitsPerSecond * 50 / len(packets)
}

func newEncoder(t testing.TB, bits, lossPercent int, fec bool) *Encoder {
	t.Helper()
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	e.enc.SetFEC(fec)
	if e.enc.SetBitrate(bits) != nil || e.enc.SetPacketLoss(lossPercent) != nil {
		t.Fatal("the encoder cannot be set")
	}
	return e
}

// likeness is the segmental ratio of signal to noise, in dB: the mean over the
// frames in which somebody speaks, each between -10 and 35.
func likeness(original, heard []int16) float64 {
	total, n := 0.0, 0
	for i := 0; i+callsound.SpokenFrame+lateness <= min(len(original), len(heard)); i += callsound.SpokenFrame {
		var signal, noise float64
		for k := i; k < i+callsound.SpokenFrame; k++ {
			s, d := float64(original[k]), float64(original[k])-float64(heard[k+lateness])
			signal += s * s
			noise += d * d
		}
		if signal/callsound.SpokenFrame < 100*100 {
			continue
		}
		total += min(35, max(-10, 10*math.Log10(signal/(noise+1))))
		n++
	}
	return total / float64(n)
}

// hear decodes with another library than the encoder's.
func hear(t testing.TB, packets [][]byte) []int16 {
	t.Helper()
	d, err := opus.NewDecoderWithOutput(callsound.SpokenRate, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int16, 0, len(packets)*callsound.SpokenFrame)
	frame := make([]int16, 6*callsound.SpokenFrame)
	for i, p := range packets {
		if len(p) == 0 {
			out = append(out, make([]int16, callsound.SpokenFrame)...)
			continue
		}
		n, err := d.DecodeToInt16(p, frame)
		if err != nil || n != callsound.SpokenFrame {
			t.Fatalf("packet %d: %d samples, %v", i, n, err)
		}
		out = append(out, frame[:n]...)
	}
	return out
}

func TestAnotherLibraryHearsWhatWasSaid(t *testing.T) {
	t.Parallel()
	pcm := speech(3 * time.Second)
	last := 0.0
	for _, step := range []int{16000, 24000, 32000} {
		packets, bits := encode(t, newEncoder(t, step, 0, true), pcm)
		like := likeness(pcm, hear(t, packets))
		t.Logf("%d bit/s: used %d, segmental SNR %.1f dB", step, bits, like)
		if bits > step*11/10 || like < 6 || like < last-0.5 {
			t.Errorf("%d bit/s are asked for: %d are used, %.1f dB, with fewer bits %.1f", step, bits, like, last)
		}
		last = like
	}
}

func TestSilenceIsNotSent(t *testing.T) {
	t.Parallel()
	e := newEncoder(t, 32000, 0, true)
	encode(t, e, speech(time.Second))
	packets, _ := encode(t, e, make([]int16, 2*callsound.SpokenRate))
	sent := 0
	for _, p := range packets {
		if len(p) > 0 {
			sent++
		}
	}
	if sent > 20 {
		t.Errorf("%d of %d frames of silence are sent", sent, len(packets))
	}
}

// lossy decodes what is left of packets after a line has lost some: as browsers
// do, a lost frame is taken from the next packet, or guessed.
func lossy(t testing.TB, packets [][]byte, lost func(int) bool) []int16 {
	t.Helper()
	d, err := gopus.NewDecoder(gopus.DefaultDecoderConfig(callsound.SpokenRate, 1))
	if err != nil {
		t.Fatal(err)
	}
	var out []int16
	frame := make([]float32, callsound.SpokenFrame)
	for i, p := range packets {
		gone := len(p) == 0 || lost(i)
		switch {
		case gone && i+1 < len(packets) && len(packets[i+1]) > 0 && !lost(i+1):
			_, err = d.DecodeWithFEC(packets[i+1], frame, true)
		case gone:
			_, err = d.Decode(nil, frame)
		default:
			_, err = d.Decode(p, frame)
		}
		if err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
		for _, v := range frame {
			out = append(out, int16(math.MaxInt16*max(-1, min(1, v))))
		}
	}
	return out
}

func TestALineThatLosesPacketsIsStillUnderstood(t *testing.T) {
	t.Parallel()
	pcm := speech(6 * time.Second)
	for _, line := range []struct{ bits, percent int }{{20000, 25}, {24000, 10}, {32000, 10}} {
		rnd := rand.New(rand.NewPCG(3, 4))
		gone := make(map[int]bool)
		for i := 5; i < len(pcm)/callsound.SpokenFrame; i++ {
			gone[i] = rnd.IntN(100) < line.percent
		}
		var like [2]float64
		for i, fec := range []bool{false, true} {
			packets, bits := encode(t, newEncoder(t, line.bits, line.percent, fec), pcm)
			like[i] = likeness(pcm, lossy(t, packets, func(i int) bool { return gone[i] }))
			t.Logf("%d bit/s, %d%% lost, FEC %t: used %d, segmental SNR %.1f dB", line.bits, line.percent, fec, bits, like[i])
		}
		if like[1] < like[0]+0.4 {
			t.Errorf("%d bit/s, %d%% lost: %.1f dB with frames sent again, %.1f without", line.bits, line.percent, like[1], like[0])
		}
	}
}

func TestTheLineDecidesHowManyBitsItGets(t *testing.T) {
	t.Parallel()
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	report := func(lost float64, times int) int {
		for range times {
			if err := e.Report(lost); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.enc.Bitrate(); got != e.bits() {
			t.Errorf("the library is set to %d bit/s, want %d", got, e.bits())
		}
		return e.bits()
	}
	for _, c := range []struct {
		what  string
		lost  float64
		times int
		want  int
	}{
		{"nothing is lost", 0, 5, 32000},
		{"some is lost, once", 0.06, 1, 24000},
		{"much is lost, once", 0.3, 1, 20000},
		{"it may come again", 0, 1, 20000},
		{"it was a while ago", 0, 20, 32000},
		{"nonsense", 7, 1, 20000},
		{"nonsense of the other kind", -3, 40, 32000},
	} {
		if got := report(c.lost, c.times); got != c.want {
			t.Errorf("%s: %d bit/s, want %d", c.what, got, c.want)
		}
	}
}

func TestAFrameOfAnotherLengthIsRefused(t *testing.T) {
	t.Parallel()
	e := newEncoder(t, 24000, 0, true)
	for _, n := range []int{0, 1, callsound.SpokenFrame - 1, callsound.SpokenFrame + 1} {
		if packet, err := e.Encode(make([]int16, n)); err == nil {
			t.Errorf("%d samples make %d bytes", n, len(packet))
		}
	}
}

// BenchmarkEncode is what a frame of speech costs.
func BenchmarkEncode(b *testing.B) {
	pcm := speech(3 * time.Second)
	e := newEncoder(b, 32000, 5, true)
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + callsound.SpokenFrame) % (len(pcm) - callsound.SpokenFrame) {
		if _, err := e.Encode(pcm[i : i+callsound.SpokenFrame]); err != nil {
			b.Fatal(err)
		}
	}
}
