package callrtc

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callopus"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// voiceTrack is the track on which the oracle speaks: Opus, and G.711 to a page that
// takes nothing else.
type voiceTrack struct {
	seal *callframe.Sealer // nil means that frames are not sealed

	mu    sync.Mutex
	to    webrtc.TrackLocalWriter // nil before the codec is agreed on
	coder coder
	out   rtp.Header
	ends  time.Time // of what was said last
}

var _ webrtc.TrackLocal = (*voiceTrack)(nil)

func newVoiceTrack(frames *callframe.Keys) *voiceTrack {
	v := &voiceTrack{}
	if frames != nil {
		v.seal = frames.SealAudio
	}
	v.out.Version = 2
	//nolint:gosec // where the numbers begin is no secret
	v.out.SequenceNumber, v.out.Timestamp = uint16(rand.Uint32()), rand.Uint32()
	return v
}

// Bind implements webrtc.TrackLocal: it takes the best codec that both have.
func (v *voiceTrack) Bind(c webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	for _, mime := range []string{webrtc.MimeTypeOpus, webrtc.MimeTypePCMU} {
		for _, codec := range c.CodecParameters() {
			if !strings.EqualFold(codec.MimeType, mime) {
				continue
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.to, v.coder = c.WriteStream(), newCoder(mime)
			v.out.SSRC, v.out.PayloadType = uint32(c.SSRC()), uint8(codec.PayloadType)
			return codec, nil
		}
	}
	return webrtc.RTPCodecParameters{}, webrtc.ErrUnsupportedCodec
}

// Unbind implements webrtc.TrackLocal.
func (v *voiceTrack) Unbind(webrtc.TrackLocalContext) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.to = nil
	return nil
}

// ID implements webrtc.TrackLocal.
func (v *voiceTrack) ID() string { return "voice" }

// RID implements webrtc.TrackLocal.
func (v *voiceTrack) RID() string { return "" }

// StreamID implements webrtc.TrackLocal.
func (v *voiceTrack) StreamID() string { return label }

// Kind implements webrtc.TrackLocal.
func (v *voiceTrack) Kind() webrtc.RTPCodecType { return webrtc.RTPCodecTypeAudio }

// say sends a frame; first says that there was silence before.
func (v *voiceTrack) say(pcm []int16, first bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.to == nil {
		return nil
	}
	now := time.Now()
	if silence := now.Sub(v.ends); first && !v.ends.IsZero() && silence > 0 { // it takes its time
		//nolint:gosec // wraps around by design
		v.out.Timestamp += uint32(silence * time.Duration(v.coder.clock()) / time.Second)
	}
	v.ends = now.Add(callsound.FrameTime)
	v.out.Marker = v.out.Marker || first
	payload, ticks, err := v.coder.encode(pcm)
	at := v.out.Timestamp
	v.out.Timestamp += uint32(ticks) //nolint:gosec // a frame
	if err != nil {
		return err
	}
	if len(payload) == 0 { // a pause: what comes next begins anew
		v.out.Marker = true
		return nil
	}
	if v.seal != nil {
		payload = v.seal.Seal(payload, callframe.ClearSpoken)
	}
	header := v.out
	header.Timestamp = at
	v.out.Marker = false
	v.out.SequenceNumber++
	_, err = v.to.WriteRTP(&header, payload)
	return err
}

// heed takes what the page reports about the line.
func (v *voiceTrack) heed(packets []rtcp.Packet) {
	for _, p := range packets {
		var reports []rtcp.ReceptionReport
		switch p := p.(type) {
		case *rtcp.ReceiverReport:
			reports = p.Reports
		case *rtcp.SenderReport:
			reports = p.Reports
		}
		for _, r := range reports {
			v.reported(r)
		}
	}
}

func (v *voiceTrack) reported(r rtcp.ReceptionReport) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.to != nil && r.SSRC == v.out.SSRC {
		v.coder.report(float64(r.FractionLost) / 256)
	}
}

// coder turns frames of callsound.SpokenFrame samples into payloads.
type coder interface {
	// clock is how many ticks a second has.
	clock() int
	// encode returns a payload, good until the next call and empty when nothing
	// need be sent, and how many ticks it lasts.
	encode(pcm []int16) (payload []byte, ticks int, err error)
	// report says which part of the packets was lost lately.
	report(lost float64)
}

func newCoder(mime string) coder {
	if mime == webrtc.MimeTypeOpus {
		return &opusCoder{}
	}
	return &muLawCoder{lower: callsound.NewResampler(callsound.SpokenRate, muLawRate)}
}

// opusCoder makes its encoder, which holds 0.4 MB, with the first frame: setting a call
// up does not wait for it, and a call in which nothing is said does without.
type opusCoder struct{ enc *callopus.Encoder }

func (c *opusCoder) clock() int { return callsound.SpokenRate }

func (c *opusCoder) encode(pcm []int16) ([]byte, int, error) {
	if c.enc == nil {
		enc, err := callopus.NewEncoder()
		if err != nil {
			return nil, len(pcm), err
		}
		c.enc = enc
	}
	payload, err := c.enc.Encode(pcm)
	return payload, len(pcm), err
}

func (c *opusCoder) report(lost float64) {
	if c.enc != nil { // what is reported is about what was said
		_ = c.enc.Report(lost) // what was set before is good enough
	}
}

// muLawRate is the rate of G.711.
const muLawRate = 8000

type muLawCoder struct {
	lower *callsound.Resampler
	low   []int16
	out   []byte
}

func (c *muLawCoder) clock() int { return muLawRate }

func (c *muLawCoder) encode(pcm []int16) ([]byte, int, error) {
	c.low = c.lower.Add(c.low[:0], pcm)
	c.out = callsound.MuLaw(c.out[:0], c.low)
	return c.out, len(c.out), nil
}

func (c *muLawCoder) report(float64) {}
