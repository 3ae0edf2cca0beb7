package callsound_test

import (
	"math"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// A voice goes on at its pitch for a moment, fades, and what comes then is joined to it.
func TestLostSoundGoesOnAndFades(t *testing.T) {
	t.Parallel()
	const frame = callsound.HeardRate / 50
	tone := callsound.Tone(callsound.HeardRate, 200, 0.5, time.Second)
	var c callsound.Concealer
	c.Heard(append([]int16{}, tone[:10*frame]...))
	made := make([]int16, frame)
	c.Lost(made)
	for i, s := range made {
		want := float64(tone[10*frame+i]) * (1 - float64(i)/(3*frame))
		if math.Abs(float64(s)-want) > 700 {
			t.Fatalf("sample %d is %d, want about %.0f", i, s, want)
		}
	}
	for range 3 {
		c.Lost(made)
	}
	for i, s := range made {
		if s != 0 {
			t.Fatalf("sample %d of the fourth frame is %d", i, s)
		}
	}
	next := append([]int16{}, tone[14*frame:15*frame]...)
	c.Heard(next)
	if next[0] != 0 || next[frame-1] != tone[15*frame-1] {
		t.Errorf("joined: begins with %d, ends with %d", next[0], next[frame-1])
	}
	var silent callsound.Concealer
	silent.Lost(made)
	silent.Heard(made[:7])
	silent.Lost(made)
	for _, s := range made {
		if s != 0 {
			t.Fatal("silence was made up to sound")
		}
	}
}
