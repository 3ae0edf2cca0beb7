package callrtc

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// spoken is the recorded voice of the tests, as packets.
func spoken(t testing.TB) [][]byte {
	t.Helper()
	file, err := os.ReadFile("../calltest/testdata/opus.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for line := range strings.Lines(string(file)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "voice "); ok {
			data, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, data)
		}
	}
	return out
}

// heardWith decodes the voice, many times over, of which some packets do not come.
func heardWith(t testing.TB, lost float64, fill func(c *callsound.Concealer, dst []int16)) []int16 {
	t.Helper()
	d, err := newDecoder(webrtc.MimeTypeOpus)
	if err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	var conceal callsound.Concealer
	var out []int16
	for range 40 {
		for _, packet := range spoken(t) {
			made := make([]int16, callsound.HeardRate/50)
			if dice.Float64() < lost {
				fill(&conceal, made)
			} else if made, err = d.decode(packet); err != nil {
				t.Fatal(err)
			} else if lost > 0 {
				conceal.Heard(made)
			}
			out = append(out, made...)
		}
	}
	return out
}

// segmental is the signal against the difference, of pieces of 20 ms and in the mean.
func segmental(want, got []int16) float64 {
	const piece = callsound.HeardRate / 50
	var sum float64
	pieces := 0
	for at := 0; at+piece <= len(want); at += piece {
		var signal, noise float64
		for i := at; i < at+piece; i++ {
			signal += float64(want[i]) * float64(want[i])
			noise += float64(want[i]-got[i]) * float64(want[i]-got[i])
		}
		if signal == 0 {
			continue
		}
		sum += min(35, max(-10, 10*math.Log10(signal/max(noise, 1))))
		pieces++
	}
	return sum / float64(pieces)
}

// With every tenth packet lost, what is heard is nearer to what was said than with
// silence in its place.
func TestLostPacketsAreMadeUp(t *testing.T) {
	t.Parallel()
	whole := heardWith(t, 0, nil)
	silent := segmental(whole, heardWith(t, 0.1, func(*callsound.Concealer, []int16) {}))
	filled := segmental(whole, heardWith(t, 0.1, (*callsound.Concealer).Lost))
	t.Logf("10%% lost: %.1f dB with silence, %.1f dB made up", silent, filled)
	if filled < silent+0.3 {
		t.Errorf("%.2f dB made up, %.2f with silence", filled, silent)
	}
}

// BenchmarkLoss is how near the caller's voice is to the original with every tenth
// packet lost.
func BenchmarkLoss(b *testing.B) {
	var filled float64
	whole := heardWith(b, 0, nil)
	for b.Loop() {
		filled = segmental(whole, heardWith(b, 0.1, (*callsound.Concealer).Lost))
	}
	b.ReportMetric(filled, "dB/10%-lost")
	b.ReportMetric(0, "ns/op")
}
