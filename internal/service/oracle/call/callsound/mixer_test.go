package callsound

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// split separates the two voices of a recording.
func split(data []int16) (left, right []int16) {
	for i := 0; i+1 < len(data); i += 2 {
		left, right = append(left, data[i]), append(right, data[i+1])
	}
	return left, right
}

// level tells whether there is sound in a stretch of time.
func level(pcm []int16, from, to time.Duration) float64 {
	at := func(d time.Duration) int { return min(len(pcm), int(d*RecordedRate/time.Second)) }
	return loudness(pcm[at(from):at(to)])
}

func TestVoicesAreRecordedAsTheySounded(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	began := time.Unix(1_800_000_000, 0)
	m := NewMixer()
	caller := Tone(HeardRate, 300, 0.5, time.Second)
	oracle := Tone(SpokenRate, 440, 0.5, time.Second)
	var data []int16
	// The caller speaks in the first second, and the oracle from 2 s to 3 s.
	for at := time.Duration(0); at < 4*time.Second; at += FrameTime {
		now := began.Add(at + FrameTime)
		if at < time.Second {
			i := int(at * HeardRate / time.Second)
			m.Heard(caller[i:i+HeardRate/50], now)
		}
		if at >= 2*time.Second && at < 3*time.Second {
			i := int((at - 2*time.Second) * SpokenRate / time.Second)
			m.Said(oracle[i:i+SpokenFrame], now)
		}
		if at%(700*ms) == 0 {
			data = m.Take(data, now, false)
		}
	}
	data = m.Take(data, began.Add(4*time.Second), true)
	left, right := split(data)
	for _, c := range []struct {
		what     string
		pcm      []int16
		from, to time.Duration
		loud     bool
	}{
		{"the caller", left, 100 * ms, 900 * ms, true},
		{"the caller's silence", left, 1100 * ms, 2900 * ms, false},
		{"the oracle's silence", right, 0, 1800 * ms, false},
		{"the oracle", right, 2100 * ms, 2800 * ms, true},
	} {
		if got := level(c.pcm, c.from, c.to); got > -20 != c.loud {
			t.Errorf("%s: %.0f dB", c.what, got)
		}
	}
	if seconds := float64(len(left)) / RecordedRate; seconds < 2.9 || seconds > 4.1 {
		t.Errorf("%.2f seconds", seconds)
	}
	if got := power(left[:RecordedRate*9/10], RecordedRate, 300); got < 0.4 {
		t.Errorf("the caller's tone has the level %.2f", got)
	}
}

// Whatever comes when, the voices stay together, nothing is handed out twice,
// and little is held.
func TestARecordingIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := NewMixer()
		now := time.Unix(1_800_000_000, 0)
		began := now
		taken := 0
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause")) * time.Millisecond)
			if rapid.IntRange(0, 40).Draw(t, "sleep") == 0 {
				now = now.Add(10 * time.Hour) // the machine slept
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				m.Heard(make([]int16, rapid.IntRange(1, 320).Draw(t, "heard")), now)
			case 1:
				m.Said(make([]int16, SpokenFrame), now)
			case 2:
				taken += len(m.Take(nil, now, false))
			}
			for _, v := range m.voices {
				if len(v) > mixGap+mixAhead+2000 {
					t.Fatalf("%d samples are held", len(v))
				}
			}
		}
		taken += len(m.Take(nil, now, true))
		if int64(taken) != 2*m.cut {
			t.Errorf("%d samples of %d moments", taken, m.cut)
		}
		if limit := int64(now.Sub(began)/time.Second)*RecordedRate + mixAhead + 4000; m.cut > limit {
			t.Errorf("%d samples in the time of %d", m.cut, limit)
		}
	})
}

func TestAnOpenWAVEFileSaysWhatItIs(t *testing.T) {
	t.Parallel()
	var w Wave
	h, err := w.Add(nil, []int16{0, -32768}, false)
	if err != nil || len(h) < 46 || !slices.Equal(h[46:], MuLaw(nil, []int16{0, -32768})) {
		t.Fatalf("% x, %v", h, err)
	}
	h = h[:46]
	le := binary.LittleEndian
	if len(h) != 46 || string(h[:4]) != "RIFF" || string(h[8:16]) != "WAVEfmt " || string(h[38:42]) != "data" {
		t.Fatalf("% x", h)
	}
	got := []uint32{
		le.Uint32(h[16:]), uint32(le.Uint16(h[20:])), uint32(le.Uint16(h[22:])), le.Uint32(h[24:]),
		le.Uint32(h[28:]), uint32(le.Uint16(h[32:])), uint32(le.Uint16(h[34:])), le.Uint32(h[42:]),
	}
	if want := []uint32{18, 7, 2, 16000, 32000, 2, 8, 0xffffffff}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
