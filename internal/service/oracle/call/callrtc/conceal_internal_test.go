package callrtc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callopus"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// voicePackets are four seconds.
const voicePackets = 200

// spoken is a voice as a browser sends it over a line that it knows to lose a tenth.
func spoken(t testing.TB) (packets [][]byte) {
	t.Helper()
	enc, err := callopus.NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	if err := enc.Report(0.1); err != nil {
		t.Fatal(err)
	}
	pcm := make([]int16, callsound.SpokenFrame)
	for frame := range voicePackets {
		for i := range pcm {
			at := 2 * math.Pi * float64(frame*len(pcm)+i) / callsound.SpokenRate
			sum := 0.0
			for k := 1.0; k <= 5; k++ {
				sum += math.Sin(k*(140*at+3*math.Sin(2*at))) / k
			}
			pcm[i] = int16(5000 * sum * (0.55 + 0.45*math.Sin(4*at)))
		}
		packet, err := enc.Encode(pcm)
		if err != nil || len(packet) == 0 {
			t.Fatalf("%d bytes, %v", len(packet), err)
		}
		packets = append(packets, append([]byte(nil), packet...))
	}
	return packets
}

// losing says which packets of a line that loses a tenth do not come.
func losing() func(int) bool {
	dice := rand.New(rand.NewPCG(1, 2))
	var gone [voicePackets]bool
	for i := range gone {
		gone[i] = i > 0 && dice.Float64() < 0.1
	}
	return func(i int) bool { return i < len(gone) && gone[i] }
}

// heardBy is what an ear hears of packets, when all of them were due.
func heardBy(t testing.TB, e *ear, packets [][]byte, lost func(int) bool) (out []int16) {
	t.Helper()
	keep := func(pcm []int16) { out = append(out, pcm...) }
	for i, packet := range packets {
		if !lost(i) {
			e.take(uint16(i), packet, keep)
		}
	}
	return out
}

func none(int) bool { return false }

func opusEar(t testing.TB, frames *callframe.Keys) *ear {
	t.Helper()
	e, err := newEar(webrtc.MimeTypeOpus, frames)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// guessing does not look at the packet behind one that is lost.
type guessing struct{ decoder }

func (g guessing) Lost([]byte) []int16 { return g.decoder.Lost(nil) }

// segmental is the signal against the difference, of pieces of 20 ms and in the mean.
func segmental(want, got []int16) float64 {
	const piece = callsound.HeardRate / 50
	var sum float64
	pieces := 0
	for at := 0; at+piece <= min(len(want), len(got)); at += piece {
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

// With every tenth packet lost, what is heard is nearer to what was said when it is
// taken from the next packet.
func TestAPacketThatIsLostIsTakenFromTheNext(t *testing.T) {
	t.Parallel()
	packets, lost := spoken(t), losing()
	whole := heardBy(t, opusEar(t, nil), packets, none)
	deaf := opusEar(t, nil)
	deaf.decoder = guessing{deaf.decoder}
	guessed := segmental(whole, heardBy(t, deaf, packets, lost))
	heard := heardBy(t, opusEar(t, nil), packets, lost)
	taken := segmental(whole, heard)
	t.Logf("10%% lost: %.1f dB guessed, %.1f dB taken from the next", guessed, taken)
	if taken < guessed+0.5 {
		t.Errorf("%.2f dB taken from the next packet, %.2f guessed", taken, guessed)
	}
	if len(whole) != len(packets)*callsound.HeardRate/50 || len(heard) != len(whole) {
		t.Errorf("%d samples of %d packets, %d with some lost", len(whole), len(packets), len(heard))
	}

	page, oracle := agreed(t)
	var sealed [][]byte
	for _, packet := range packets {
		sealed = append(sealed, page.SealAudio.Seal(packet, callframe.ClearOpus))
	}
	if diff := cmp.Diff(heard, heardBy(t, opusEar(t, oracle), sealed, lost)); diff != "" {
		t.Error("sealed frames are heard otherwise")
	}
}

// agreed are the keys of a page and of the oracle in one call.
func agreed(t *testing.T) (page, oracle *callframe.Keys) {
	t.Helper()
	mine, _, err := callframe.NewAgreement()
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, err := callframe.NewAgreement()
	if err != nil {
		t.Fatal(err)
	}
	if page, err = callframe.PageKeys("c", theirs, mine.PublicKey()); err != nil {
		t.Fatal(err)
	}
	if oracle, err = callframe.OracleKeys("c", mine, theirs.PublicKey()); err != nil {
		t.Fatal(err)
	}
	return page, oracle
}

// BenchmarkLoss is how near the caller's voice is to the original with every tenth
// packet lost.
func BenchmarkLoss(b *testing.B) {
	var filled float64
	packets, lost := spoken(b), losing()
	whole := heardBy(b, opusEar(b, nil), packets, none)
	for b.Loop() {
		filled = segmental(whole, heardBy(b, opusEar(b, nil), packets, lost))
	}
	b.ReportMetric(filled, "dB/10%-lost")
	b.ReportMetric(0, "ns/op")
}
