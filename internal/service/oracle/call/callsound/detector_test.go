package callsound

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// racket is 20 ms of something that is no voice, at a time.
type racket func(rnd *rand.Rand, at int) float64

// noises are what microphones hear beside people.
func noises() map[string]racket {
	var low float64
	return map[string]racket{
		"a keyboard": func(rnd *rand.Rand, at int) float64 { // clicks of 15 ms, eight a second
			in := at % (HeardRate / 8)
			if in > HeardRate*15/1000 {
				return 0
			}
			return 0.5 * math.Exp(-float64(in)/60) * (2*rnd.Float64() - 1)
		},
		"applause": func(rnd *rand.Rand, at int) float64 { // noise that comes and goes
			return 0.3 * max(0, math.Sin(2*math.Pi*0.7*float64(at)/HeardRate)) * (2*rnd.Float64() - 1)
		},
		"a lorry": func(rnd *rand.Rand, at int) float64 { // a rumble that swells
			low += 0.02 * ((2*rnd.Float64() - 1) - low)
			return 3 * low * max(0, math.Sin(2*math.Pi*0.3*float64(at)/HeardRate))
		},
		"a beep": func(_ *rand.Rand, at int) float64 { // 400 Hz for 40 ms, twice a second
			if at%(HeardRate/2) > HeardRate/25 {
				return 0
			}
			return 0.4 * math.Sin(2*math.Pi*400*float64(at)/HeardRate)
		},
		"a knock": func(_ *rand.Rand, at int) float64 { // a table that rings on
			in := float64(at % HeardRate)
			return 0.6 * math.Exp(-in/400) * math.Sin(2*math.Pi*180*in/HeardRate)
		},
	}
}

// syllable is a voice, 200 ms of it and 100 ms of a sharp sound.
func syllable(rnd *rand.Rand, at int, pitch float64) float64 {
	if at%(HeardRate*3/10) > HeardRate/5 {
		return 0.03 * (2*rnd.Float64() - 1)
	}
	v := 0.0
	for k := 1.0; k < 15; k++ {
		v += 0.12 / k * math.Sin(2*math.Pi*pitch*k*float64(at)/HeardRate+k)
	}
	return v
}

func TestOnlyAVoiceInterrupts(t *testing.T) {
	t.Parallel()
	for name, noise := range noises() {
		for _, pitch := range []float64{0, 90, 210} {
			rnd := rand.New(rand.NewPCG(5, 6))
			d := NewDetector(DetectorConfig{})
			const spoken = 10 * HeardRate // when somebody begins to speak
			insisted, heard := -1, false
			for at := 0; at < 14*HeardRate; {
				pcm := make([]int16, HeardRate/50)
				for i := range pcm {
					v := 0.0005*(2*rnd.Float64()-1) + noise(rnd, at)
					if pitch > 0 && at > spoken {
						v += syllable(rnd, at-spoken, pitch)
					}
					pcm[i] = clampSample(v * math.MaxInt16)
					at++
				}
				if d.Feed(pcm).Insists && insisted < 0 {
					insisted = at
				}
				heard = heard || d.Speaking()
			}
			if !heard && name != "a keyboard" && name != "a beep" {
				t.Errorf("%s is not loud enough to prove anything", name)
			}
			switch after := time.Duration(insisted-spoken) * time.Second / HeardRate; {
			case pitch == 0 && insisted >= 0, pitch > 0 && insisted >= 0 && insisted < spoken:
				t.Errorf("%s interrupts after %v", name, time.Duration(insisted)*time.Second/HeardRate)
			case pitch > 0 && (insisted < 0 || after > 1700*time.Millisecond):
				t.Errorf("a voice of %.0f Hz beside %s interrupts after %v", pitch, name, after)
			}
		}
	}
}

// The oracle's voice is held within 150 ms of somebody beginning to speak, wherever in a
// piece of sound that is.
func TestAVoiceIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	const piece = HeardRate / 50
	for _, pitch := range []float64{85, 120, 180, 250, 330} {
		for offset := 0; offset < piece; offset += piece / 8 {
			rnd := rand.New(rand.NewPCG(7, 8))
			d := NewDetector(DetectorConfig{})
			began, noticed := 2*HeardRate+offset, -1
			for at := 0; at < 3*HeardRate && noticed < 0; {
				pcm := make([]int16, piece)
				for i := range pcm {
					v := 0.0005 * (2*rnd.Float64() - 1)
					if at >= began {
						v += syllable(rnd, at-began, pitch)
					}
					pcm[i] = clampSample(v * math.MaxInt16)
					at++
				}
				if d.Feed(pcm).Noticed {
					noticed = at
				}
			}
			after := time.Duration(noticed-began) * time.Second / HeardRate
			if noticed < began || after > 150*time.Millisecond {
				t.Errorf("a voice of %.0f Hz that begins at sample %d is noticed after %v", pitch, offset, after)
			}
		}
	}
}

// BenchmarkDetector hears ten seconds of a voice with its pauses.
func BenchmarkDetector(b *testing.B) {
	rnd := rand.New(rand.NewPCG(5, 6))
	sound := make([]int16, 10*HeardRate)
	for at := HeardRate; at < len(sound); at++ { // after a second of silence
		sound[at] = clampSample(syllable(rnd, at, 120) * math.MaxInt16)
	}
	b.ReportAllocs()
	for b.Loop() {
		d := NewDetector(DetectorConfig{})
		for at := 0; at < len(sound); at += HeardRate / 50 {
			d.Feed(sound[at : at+HeardRate/50])
		}
	}
}

// A silence is told once, before it is known whether it is the end; who understands
// what was said decides when it is.
func TestAPauseIsToldBeforeItIsTheEnd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	type heard struct {
		pauses, goneOn int
		utterance      []int16
	}
	play := func(d *Detector, voice bool, length time.Duration, into *heard) {
		for at := 0; at < samples(length); {
			pcm := make([]int16, HeardRate/50)
			for i := range pcm {
				v := 0.0005 * (2*rnd.Float64() - 1)
				if voice {
					v += 0.2 * math.Sin(2*math.Pi*150*float64(at)/HeardRate)
				}
				pcm[i] = clampSample(v * math.MaxInt16)
				at++
			}
			found := d.Feed(pcm)
			if found.Pause != nil {
				into.pauses++
			}
			if found.GoesOn {
				into.goneOn++
			}
			if found.Utterance != nil {
				into.utterance = found.Utterance
			}
		}
	}
	const second = time.Second
	for name, c := range map[string]struct {
		endAfter time.Duration
		silence  time.Duration
		ends     bool
	}{
		"by the clock, too early": {0, 580 * time.Millisecond, false},
		"by the clock":            {0, 600 * time.Millisecond, true},
		"a whole sentence":        {250 * time.Millisecond, 260 * time.Millisecond, true},
		"one that breaks off":     {second, 980 * time.Millisecond, false},
		"one that broke off":      {second, second, true},
	} {
		d := NewDetector(DetectorConfig{})
		var got heard
		play(d, false, second, &got)
		d.EndAfter(time.Millisecond) // nobody has spoken: it means nothing
		play(d, true, second, &got)
		d.EndAfter(time.Millisecond) // nor while somebody speaks
		play(d, false, 200*time.Millisecond, &got)
		play(d, true, second, &got) // it was not the end
		if got.pauses != 1 || got.goneOn != 1 || got.utterance != nil {
			t.Errorf("%s: %d pauses, %d went on", name, got.pauses, got.goneOn)
		}
		play(d, false, 200*time.Millisecond, &got)
		if c.endAfter > 0 {
			d.EndAfter(c.endAfter)
		}
		play(d, false, c.silence-200*time.Millisecond, &got)
		if ended := got.utterance != nil; ended != c.ends || got.pauses != 2 {
			t.Errorf("%s: ended %v after %d pauses", name, ended, got.pauses)
		}
		if spoken := samples(2200 * time.Millisecond); c.ends && len(got.utterance) < spoken {
			t.Errorf("%s: %d of %d samples are left", name, len(got.utterance), spoken)
		}
	}
}
