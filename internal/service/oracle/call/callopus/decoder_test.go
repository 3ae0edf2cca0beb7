package callopus

import (
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pion/opus"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// recorded are packets as another encoder made them, of a voice and of silence.
func recorded(t testing.TB) (out [][]byte) {
	t.Helper()
	text, err := os.ReadFile("../calltest/testdata/opus.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if kind, packet, ok := strings.Cut(strings.TrimSpace(line), " "); ok && kind != "#" {
			data, err := hex.DecodeString(packet)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, data)
		}
	}
	return out
}

func newDecoder(t testing.TB) *Decoder {
	t.Helper()
	d, err := NewDecoder()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What is heard is what another library hears, but for rounding.
func TestItHearsWhatAnotherLibraryHears(t *testing.T) {
	t.Parallel()
	ours, _ := encode(t, newEncoder(t, 24000, 0, false), speech(3*time.Second))
	for name, packets := range map[string][][]byte{"of another encoder": recorded(t), "of ours": ours} {
		d := newDecoder(t)
		other, err := opus.NewDecoderWithOutput(callsound.HeardRate, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int16, longestPacket)
		for i, packet := range packets {
			if len(packet) == 0 {
				continue
			}
			got, err := d.Decode(packet)
			if err != nil {
				t.Fatalf("packet %d %s: %v", i, name, err)
			}
			n, err := other.DecodeToInt16(packet, want)
			if err != nil || n != len(got) {
				t.Fatalf("packet %d %s: %d samples, %d, %v", i, name, len(got), n, err)
			}
			for k := range got {
				if diff := math.Abs(float64(got[k]) - float64(want[k])); diff > 300 {
					t.Fatalf("packet %d %s: %d, want %d", i, name, got[k], want[k])
				}
			}
		}
	}
}

// What does not come is as long as what came before it, whatever its length is.
func TestALostPacketTakesItsTime(t *testing.T) {
	t.Parallel()
	d := newDecoder(t)
	if got := d.Lost(nil); len(got) != heardFrame {
		t.Errorf("%d samples before anything came", len(got))
	}
	packet := recorded(t)[0]
	double := append([]byte{packet[0] | 1}, append(packet[1:len(packet):len(packet)], packet[1:]...)...)
	if got, err := d.Decode(double); err != nil || len(got) != 2*heardFrame {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	for _, next := range [][]byte{nil, packet, double, {0xff}, {0x03, 0xff, 0xff}} {
		if got := d.Lost(next); len(got) != 2*heardFrame {
			t.Errorf("%d samples before %x", len(got), next)
		}
	}
}

// FuzzDecoder hears whatever a page may send, with packets lost between.
func FuzzDecoder(f *testing.F) {
	all := recorded(f)
	ours, _ := encode(f, newEncoder(f, 24000, 10, true), speech(time.Second))
	f.Add(all[0], all[1], all[len(all)-1])
	f.Add(ours[10], ours[11], all[0])
	f.Add([]byte{0xff}, []byte{0x03, 0xff, 0xff}, []byte{0x78})
	f.Add(append([]byte{ours[12][0] | 1}, append(ours[12][1:], ours[12][1:]...)...), []byte{0x00}, ours[13])
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		d := newDecoder(t)
		check := func(pcm []int16) {
			if len(pcm) == 0 || len(pcm) > longestPacket {
				t.Errorf("%d samples", len(pcm))
			}
		}
		for _, packet := range [][]byte{first, second, third} {
			check(d.Lost(packet))
			if pcm, err := d.Decode(packet); err == nil {
				check(pcm)
			}
			check(d.Lost(nil))
		}
	})
}

// BenchmarkDecode is what a frame of a caller's speech costs.
func BenchmarkDecode(b *testing.B) {
	packets, _ := encode(b, newEncoder(b, 24000, 10, true), speech(3*time.Second))
	d := newDecoder(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % len(packets) {
		if len(packets[i]) == 0 {
			d.Lost(nil)
		} else if _, err := d.Decode(packets[i]); err != nil {
			b.Fatal(err)
		}
	}
}
