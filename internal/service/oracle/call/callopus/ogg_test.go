package callopus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/pion/opus"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// check reads a file by another library, which checks the sum of every page.
func check(t *testing.T, file []byte) *oggreader.OggHeader {
	t.Helper()
	r, head, err := oggreader.NewWith(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if head.Channels != 2 || head.ChannelMap != 0 || head.SampleRate != callsound.RecordedRate || head.OutputGain != 0 {
		t.Fatalf("%+v", head)
	}
	payload, _, err := r.ParseNextPage()
	if err != nil || !bytes.Equal(payload, []byte("OpusTags\x08\x00\x00\x00castalia\x00\x00\x00\x00")) {
		t.Fatalf("the second page is %q, %v", payload, err)
	}
	for err == nil {
		_, _, err = r.ParseNextPage()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return head
}

// listen reads a file as players do, and tells whether it says that it has ended.
func listen(t *testing.T, file []byte) (left, right []int16, length time.Duration, ended bool) {
	t.Helper()
	head := check(t, file)
	d, err := opus.NewDecoderWithOutput(callsound.RecordedRate, 2)
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]int16, 2*recordedFrame)
	var granule uint64
	for page := 0; len(file) > 0; page++ {
		const header = 27
		granule, ended = binary.LittleEndian.Uint64(file[6:]), file[5]&lastPage != 0
		table := file[header : header+int(file[26])]
		file = file[header+len(table):]
		n := 0
		for _, size := range table {
			if n += int(size); size == segment {
				continue
			}
			if page > 1 {
				if _, err := d.DecodeToInt16(file[:n], frame); err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(frame); i += 2 {
					left, right = append(left, frame[i]), append(right, frame[i+1])
				}
			}
			file, n = file[n:], 0
		}
	}
	skip := int(head.PreSkip) / granules
	length = time.Duration(granule-uint64(head.PreSkip)) * time.Second / 48000
	end := min(len(left), skip+int(length*callsound.RecordedRate/time.Second))
	return left[skip:end], right[skip:end], length, ended
}

// voicesOf are two tones, one at a time.
func voicesOf(length time.Duration) []int16 {
	n := int(length.Seconds() * callsound.RecordedRate)
	out := make([]int16, 2*n)
	for i := range n {
		at := float64(i) / callsound.RecordedRate
		if i < n/2 {
			out[2*i] = int16(9000 * math.Sin(2*math.Pi*300*at))
		} else {
			out[2*i+1] = int16(9000 * math.Sin(2*math.Pi*440*at))
		}
	}
	return out
}

func loudness(pcm []int16) float64 {
	sum := 0.0
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return math.Sqrt(sum / float64(len(pcm)))
}

func TestPlayersHearARecordingAndKnowItsLength(t *testing.T) {
	t.Parallel()
	for _, length := range []time.Duration{
		time.Millisecond, 20 * time.Millisecond, 990 * time.Millisecond, time.Second,
		4321 * time.Millisecond,
	} {
		o, err := NewOgg()
		if err != nil {
			t.Fatal(err)
		}
		pcm := voicesOf(length)
		var file []byte
		for i := 0; i < len(pcm); i += 2 * 777 { // in pieces, as it comes
			if file, err = o.Add(file, pcm[i:min(len(pcm), i+2*777)], false); err != nil {
				t.Fatal(err)
			}
		}
		if file, err = o.Add(file, nil, true); err != nil {
			t.Fatal(err)
		}
		left, right, got, ended := listen(t, file)
		if got != length || len(left) != len(pcm)/2 || !ended {
			t.Errorf("%v and %d samples of %v and %d, ended %t", got, len(left), length, len(pcm)/2, ended)
		}
		if length < time.Second {
			continue
		}
		n := len(left)
		for name, c := range map[string]struct {
			pcm  []int16
			loud bool
		}{
			"the caller": {left[n/20 : n/2-n/20], true}, "the caller's silence": {left[n/2+n/20:], false},
			"the oracle's silence": {right[n/20 : n/2-n/20], false}, "the oracle": {right[n/2+n/20:], true},
		} {
			if got := loudness(c.pcm); c.loud && got < 4000 || !c.loud && got > 300 {
				t.Errorf("%v: %s has the level %.0f", length, name, got)
			}
		}
	}
}

// A node that dies leaves what was handed out, which is a file up to there.
func TestARecordingIsAWholeFileAtEveryMoment(t *testing.T) {
	t.Parallel()
	o, err := NewOgg()
	if err != nil {
		t.Fatal(err)
	}
	if file, err := o.Add(nil, nil, true); err != nil || len(file) > 0 {
		t.Fatalf("without sound there are %d bytes, %v", len(file), err)
	}
	pcm := voicesOf(7 * time.Second)
	var file []byte
	for i := range 7 {
		if file, err = o.Add(file, pcm[i*2*callsound.RecordedRate:(i+1)*2*callsound.RecordedRate], false); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue // the first second is on its way
		}
		left, _, length, ended := listen(t, file)
		if want := time.Duration(i) * time.Second; length < want-20*time.Millisecond || length > want+time.Second ||
			len(left) == 0 || ended {
			t.Errorf("after %d s the file has %v", i+1, length)
		}
	}
	if perSecond := len(file) / 7; perSecond > 6500 {
		t.Errorf("%d bytes for a second", perSecond)
	}
}

// BenchmarkOgg is what a second of a recording costs.
func BenchmarkOgg(b *testing.B) {
	o, err := NewOgg()
	if err != nil {
		b.Fatal(err)
	}
	pcm := voicesOf(time.Second)
	var out []byte
	for b.Loop() {
		if out, err = o.Add(out[:0], pcm, false); err != nil {
			b.Fatal(err)
		}
	}
}
