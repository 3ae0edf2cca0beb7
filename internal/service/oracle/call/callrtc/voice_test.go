package callrtc

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// line is what a track is bound to; it keeps what is sent.
type line struct {
	webrtc.TrackLocalContext
	codecs  []string
	headers []rtp.Header
	bytes   int
}

func (l *line) CodecParameters() (out []webrtc.RTPCodecParameters) {
	for i, mime := range l.codecs {
		out = append(out, webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: mime}, PayloadType: webrtc.PayloadType(100 + i),
		})
	}
	return out
}

func (l *line) SSRC() webrtc.SSRC                    { return 7 }
func (l *line) WriteStream() webrtc.TrackLocalWriter { return l }
func (l *line) Write([]byte) (int, error)            { return 0, errors.New("packets come in two parts") }

func (l *line) WriteRTP(h *rtp.Header, payload []byte) (int, error) {
	l.headers = append(l.headers, *h)
	l.bytes += len(payload)
	return len(payload), nil
}

// say says noise, or silence, at the pace of time. The noise is the same each time: of
// another one an encoder may make a tenth more.
func say(t *testing.T, v *voiceTrack, frames int, loud, first bool) {
	t.Helper()
	noise := rand.New(rand.NewPCG(1, 2))
	pcm := make([]int16, callsound.SpokenFrame)
	for range frames {
		for i := range pcm {
			if loud {
				pcm[i] = int16(noise.IntN(8000) - 4000)
			}
		}
		if err := v.say(pcm, first); err != nil {
			t.Fatal(err)
		}
		first = false
		time.Sleep(callsound.FrameTime)
	}
}

func TestAVoiceTakesTheBestCodecOfBoth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codecs []string
		want   int // payload type
	}{
		{[]string{"audio/PCMU", "audio/opus"}, 101},
		{[]string{"audio/OPUS"}, 100},
		{[]string{"audio/G722", "audio/pcmu"}, 101},
		{[]string{"audio/G722"}, 0},
		{nil, 0},
	} {
		got, err := newVoiceTrack(nil).Bind(&line{codecs: c.codecs})
		if int(got.PayloadType) != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v: %d, %v", c.codecs, got.PayloadType, err)
		}
	}
}

// Pauses within speech, and between, are not sent; the clock of packets keeps the
// time of the world, and a gap in their numbers would be a loss.
func TestPausesAreNotSentAndTakeTheirTime(t *testing.T) {
	t.Parallel()
	for mime, clock := range map[string]time.Duration{"audio/opus": 48000, "audio/PCMU": 8000} {
		synctest.Test(t, func(t *testing.T) {
			l := &line{codecs: []string{mime}}
			v := newVoiceTrack(nil)
			say(t, v, 3, true, true) // nobody listens yet
			if _, err := v.Bind(l); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var sent []time.Time
			note := func() {
				for len(sent) < len(l.headers) {
					sent = append(sent, time.Now())
				}
			}
			for i := range 250 { // two seconds of speech with a pause of one, then three
				loud := i < 50 || i >= 200
				say(t, v, 1, loud, i == 0)
				note()
			}
			time.Sleep(3 * time.Second)
			say(t, v, 5, true, true)
			note()
			if mime == "audio/opus" && len(l.headers) > 150 {
				t.Errorf("%d packets are sent", len(l.headers))
			}
			first := l.headers[0]
			for i, h := range l.headers {
				if i > 0 && h.SequenceNumber != l.headers[i-1].SequenceNumber+1 {
					t.Fatalf("%s: number %d follows %d", mime, h.SequenceNumber, l.headers[i-1].SequenceNumber)
				}
				if i > 0 && i < len(l.headers)-5 { // the last five were noted together
					due := uint32((sent[i].Sub(began) - callsound.FrameTime) * clock / time.Second)
					if off := int32(h.Timestamp - first.Timestamp - due); off > int32(clock/50) || off < -int32(clock/50) {
						t.Fatalf("%s: packet %d is %d ticks off", mime, i, off)
					}
				}
			}
			again := l.headers[len(l.headers)-5]
			if gap := time.Duration(again.Timestamp-first.Timestamp) * time.Second / clock; !again.Marker ||
				gap < 7900*time.Millisecond || gap > 8100*time.Millisecond {
				t.Errorf("%s: marker %t after %v", mime, again.Marker, gap)
			}
		})
	}
}

func TestAVoiceHeedsWhatIsReportedAboutIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{codecs: []string{"audio/opus"}}
		v := newVoiceTrack(nil)
		// before anything is agreed on
		v.heed([]rtcp.Packet{&rtcp.ReceiverReport{Reports: []rtcp.ReceptionReport{{SSRC: 7, FractionLost: 99}}}})
		if _, err := v.Bind(l); err != nil {
			t.Fatal(err)
		}
		size := func(ssrc uint32, lost uint8, times int) int {
			for i := range times {
				report := []rtcp.ReceptionReport{{SSRC: ssrc, FractionLost: lost}}
				v.heed([]rtcp.Packet{&rtcp.PictureLossIndication{}, &rtcp.ReceiverReport{Reports: report}})
				if i == 0 {
					v.heed([]rtcp.Packet{&rtcp.SenderReport{Reports: report}})
				}
			}
			before := l.bytes
			say(t, v, 100, true, false)
			return l.bytes - before
		}
		good := size(7, 0, 10)
		others := size(8, 200, 1)
		bad := size(7, 80, 1)
		if others < good*9/10 || bad > good*8/10 {
			t.Errorf("%d bytes on a good line, %d when another one is bad, %d on a bad one", good, others, bad)
		}
	})
}
