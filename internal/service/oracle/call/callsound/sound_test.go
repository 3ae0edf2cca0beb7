package callsound

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMuLawKeepsWhatTelephonesKeep(t *testing.T) {
	t.Parallel()
	if got := MuLaw(nil, []int16{0, -1, 32767, -32768, 1000}); !bytes.Equal(got, []byte{0xff, 0x7f, 0x80, 0x00, 0xce}) {
		t.Errorf("% x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.Int16().Draw(t, "sample")
		back := FromMuLaw(nil, MuLaw(nil, []int16{s}))[0]
		if diff := math.Abs(float64(back) - float64(s)); diff > 8+math.Abs(float64(s))/16 && s > -32636 && s < 32636 {
			t.Errorf("%d came back as %d", s, back)
		}
	})
}

func sine(rate int, hertz, level float64, length time.Duration) []int16 {
	return Tone(rate, hertz, level, length)
}

// power is how much of a frequency is in sound.
func power(pcm []int16, rate int, hertz float64) float64 {
	re, im := 0.0, 0.0
	for i, s := range pcm {
		w := 2 * math.Pi * hertz * float64(i) / float64(rate)
		re += float64(s) * math.Cos(w)
		im += float64(s) * math.Sin(w)
	}
	return math.Hypot(re, im) / float64(len(pcm)) / math.MaxInt16 * 2
}

func TestResamplingKeepsVoicesAndCutsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, rates := range [][2]int{
		{8000, 8000},
		{16000, 8000},
		{22050, 8000},
		{24000, 8000},
		{44100, 8000},
		{48000, 8000},
		{8000, 48000},
		{11025, 48000},
		{16001, 48000},
		{22050, 48000},
		{24000, 48000},
		{44100, 48000},
		{96000, 48000},
		{48000, 16000},
	} {
		from, to := rates[0], rates[1]
		for _, c := range []struct{ hertz, low, high float64 }{{440, 0.27, 0.33}, {2500, 0.24, 0.33}} {
			in := sine(from, c.hertz, 0.3, time.Second)
			var out []int16
			r := NewResampler(from, to)
			for len(in) > 0 { // in pieces, as it comes
				n := min(len(in), 1+rand.IntN(700))
				out = r.Add(out, in[:n])
				in = in[n:]
			}
			out = r.Flush(out)
			if n := len(out); n < to*994/1000 || n > to*1008/1000 {
				t.Errorf("%d to %d Hz: %d samples of a second", from, to, n)
			}
			if got := power(out, to, c.hertz); got < c.low || got > c.high {
				t.Errorf("%.0f Hz from %d to %d: level %.3f, want %.2f to %.2f", c.hertz, from, to, got, c.low, c.high)
			}
		}
		if from <= 2*6000 || to >= 2*6000 {
			continue
		}
		r := NewResampler(from, to)
		if got := loudness(r.Add(nil, sine(from, 6000, 0.3, time.Second))); got > -45 {
			t.Errorf("6 kHz from %d is still heard: %.0f dB", from, got)
		}
	}
}

func TestAWAVEFileSaysWhatItIs(t *testing.T) {
	t.Parallel()
	got := WAV([]int16{1, -2}, 16000)
	if len(got) != 48 || string(got[:4]) != "RIFF" || string(got[8:16]) != "WAVEfmt " || string(got[36:40]) != "data" {
		t.Fatalf("% x", got)
	}
	le := binary.LittleEndian
	if le.Uint32(got[4:]) != 40 || le.Uint32(got[24:]) != 16000 || le.Uint32(got[40:]) != 4 ||
		le.Uint16(got[46:]) != 0xfffe {
		t.Errorf("% x", got)
	}
}

// room is a microphone: a hum, with voices over it.
type room struct {
	noise float64
	at    int
	rnd   *rand.Rand
}

func (r *room) frame(voice float64) []int16 {
	out := make([]int16, HeardRate/50)
	for i := range out {
		x := float64(r.at) / HeardRate
		v := r.noise * (2*r.rnd.Float64() - 1)
		if voice > 0 {
			for k := 1.0; k < 10; k++ {
				v += voice / k * math.Sin(2*math.Pi*150*k*x)
			}
		}
		out[i] = clampSample(v * math.MaxInt16)
		r.at++
	}
	return out
}

func TestTheDetectorFindsUtterances(t *testing.T) {
	t.Parallel()
	type part struct {
		voice  float64
		length time.Duration
	}
	const s, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		noise float64
		parts []part
		want  []time.Duration // of the utterances, roughly
	}{
		"silence":                  {0, []part{{0, 5 * s}}, nil},
		"a hum":                    {0.01, []part{{0, 20 * s}}, nil},
		"a sentence":               {0.001, []part{{0, s}, {0.1, 2 * s}, {0, s}}, []time.Duration{2 * s}},
		"quietly, in a quiet room": {0.0002, []part{{0, s}, {0.01, s}, {0, s}}, []time.Duration{s}},
		"in a loud room":           {0.02, []part{{0, 10 * s}, {0.3, 2 * s}, {0, 2 * s}}, []time.Duration{2 * s}},
		"words with short gaps": {
			0.001,
			[]part{{0, s}, {0.1, 400 * ms}, {0, 300 * ms}, {0.1, 400 * ms}, {0, s}},
			[]time.Duration{1100 * ms},
		},
		"two sentences":             {0.001, []part{{0, s}, {0.1, s}, {0, s}, {0.1, s}, {0, s}}, []time.Duration{s, s}},
		"a click":                   {0.001, []part{{0, s}, {0.5, 40 * ms}, {0, 2 * s}}, nil},
		"a cough":                   {0.001, []part{{0, s}, {0.5, 100 * ms}, {0, 2 * s}}, nil},
		"a fan that is switched on": {0.0005, []part{{0, s}, {0.05, 20 * s}}, []time.Duration{3 * s}},
		"without an end": {
			0.001, slices.Repeat([]part{{0.1, 900 * ms}, {0, 100 * ms}}, 70), []time.Duration{30 * s, 30 * s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewDetector(DetectorConfig{})
			r := &room{noise: c.noise, rnd: rand.New(rand.NewPCG(1, 2))}
			starts := 0
			var got []time.Duration
			for _, p := range c.parts {
				for at := time.Duration(0); at < p.length; at += FrameTime {
					f := d.Feed(r.frame(p.voice))
					if f.Insists {
						starts++
					}
					if f.Utterance != nil {
						got = append(got, time.Duration(len(f.Utterance))*time.Second/HeardRate)
					}
				}
			}
			if len(got) != len(c.want) || len(c.want) > 0 && starts < len(c.want) {
				t.Fatalf("heard %v with %d insisting, want %v", got, starts, c.want)
			}
			for i, want := range c.want {
				if got[i] < want-300*ms || got[i] > want+800*ms {
					t.Errorf("utterance %d has %v, want about %v", i, got[i], want)
				}
			}
		})
	}
}

func TestTheDetectorsMemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := NewDetector(DetectorConfig{Longest: time.Second})
	r := &room{noise: 0.001, rnd: rand.New(rand.NewPCG(3, 4))}
	for range 3000 {
		d.Feed(r.frame(0.1))
		if cap(d.sound) > 4*HeardRate {
			t.Fatalf("holds %d samples", cap(d.sound))
		}
	}
}

func TestTheSpeakerKeepsThePaceOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		var firsts []int
		loud := 0
		began := time.Now()
		s := NewSpeaker(func(pcm []int16, first bool) {
			if first {
				firsts = append(firsts, len(at))
			}
			at = append(at, time.Since(began))
			if pcm[0] != 0 {
				loud++
			}
		})
		sound := func(n int) []int16 { return slices.Repeat([]int16{1}, n) }
		done := make(chan struct{})
		go func() { defer close(done); s.Run(t.Context()) }()
		if err := s.Add(t.Context(), sound(10*SpokenFrame)); err != nil {
			t.Fatal(err)
		}
		if err := s.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := s.Add(t.Context(), sound(5*SpokenFrame-1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		// Each spurt ends in a moment of silence.
		if loud != 15 || len(at) != 15+2*tailFrames || !cmp.Equal(firsts, []int{0, 10 + tailFrames}) {
			t.Fatalf("%d frames, %d with sound, spurts at %v", len(at), loud, firsts)
		}
		for i := 1; i < 10+tailFrames; i++ {
			if at[i]-at[i-1] != FrameTime {
				t.Errorf("frame %d came after %v", i, at[i]-at[i-1])
			}
		}
		// A flush silences at once, and a full queue holds the writer.
		if err := s.Add(t.Context(), sound(aheadFrames*SpokenFrame)); err != nil {
			t.Fatal(err)
		}
		s.Flush()
		synctest.Wait()
		said := loud
		time.Sleep(time.Second)
		synctest.Wait()
		if loud > said+1 {
			t.Errorf("%d frames after the flush", loud-said)
		}
	})
}

// A voice that is held says nothing, and goes on where it was.
func TestAHeldVoiceGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	frames := make(chan []int16, 64)
	s := NewSpeaker(func(pcm []int16, _ bool) { frames <- append([]int16(nil), pcm...) })
	if s.Hold() {
		t.Error("nothing was said, and is held")
	}
	sound := make([]int16, 4*SpokenFrame)
	for i := range sound {
		sound[i] = int16(1 + i/SpokenFrame)
	}
	if err := s.Add(t.Context(), sound); err != nil {
		t.Fatal(err)
	}
	if !s.Hold() {
		t.Error("sound waits, and is not held")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { s.Run(ctx) })
	defer work.Wait()
	defer cancel()
	for range 3 {
		if err := s.Add(t.Context(), make([]int16, SpokenFrame)); err != nil { // what comes meanwhile waits, too
			t.Fatal(err)
		}
	}
	if len(frames) > 0 {
		t.Error("a held voice speaks")
	}
	s.GoOn()
	for want := range int16(4) {
		if got := <-frames; got[0] != want+1 {
			t.Errorf("frame %d is %d", want, got[0])
		}
	}
}
