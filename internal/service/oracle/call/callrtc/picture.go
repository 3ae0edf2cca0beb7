package callrtc

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/samplebuilder"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
)

// maxLate is how many packets a frame of video may wait for one that is missing.
const maxLate = 256

// picture sends the page's video back: packet by packet, or, where frames are
// sealed, frame by frame under our own key.
type picture struct {
	p      *peer
	plain  *webrtc.TrackLocalStaticRTP
	sealed *webrtc.TrackLocalStaticSample
	source atomic.Uint32 // the page's stream
	gaze   gaze
}

func newPicture(p *peer) (*picture, error) {
	v := &picture{p: p}
	vp8 := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
	var err error
	if p.spec.Frames != nil {
		v.sealed, err = webrtc.NewTrackLocalStaticSample(vp8, "picture", label)
	} else {
		v.plain, err = webrtc.NewTrackLocalStaticRTP(vp8, "picture", label)
	}
	if err != nil {
		return nil, fmt.Errorf("make picture: %w", err)
	}
	return v, nil
}

func (v *picture) track() webrtc.TrackLocal {
	if v.sealed != nil {
		return v.sealed
	}
	return v.plain
}

// asksKeyFrame reports whether the page could not follow our picture.
func asksKeyFrame(packets []rtcp.Packet) bool {
	for _, p := range packets {
		switch p.(type) {
		case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
			return true
		}
	}
	return false
}

// heed takes what the page reports about our picture.
func (v *picture) heed(packets []rtcp.Packet) {
	if asksKeyFrame(packets) {
		v.wantsKeyFrame()
	}
}

// wantsKeyFrame asks the page for a picture that stands by itself.
func (v *picture) wantsKeyFrame() {
	if source := v.source.Load(); source != 0 {
		_ = v.p.pc.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: source}}) // it asks again
	}
}

// echo sends back what comes, until it ends.
func (v *picture) echo(track *webrtc.TrackRemote) {
	v.source.Store(uint32(track.SSRC()))
	v.wantsKeyFrame()
	if v.sealed != nil {
		v.echoFrames(track)
		return
	}
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		packet.Extension, packet.Extensions = false, nil // their numbers mean nothing the other way
		v.gaze.packet(packet)
		if err := v.plain.WriteRTP(packet); err != nil {
			v.p.log.Debug("a picture was not sent", slog.Any("error", err))
		}
	}
}

// echoFrames opens each frame and seals it with our own key: a frame that is
// merely thrown back does not open at the page.
func (v *picture) echoFrames(track *webrtc.TrackRemote) {
	frames := v.p.spec.Frames
	whole := samplebuilder.New(maxLate, &codecs.VP8Packet{}, 90000)
	asked := time.Now()
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		whole.Push(packet)
		for s := whole.Pop(); s != nil; s = whole.Pop() {
			frame, err := frames.OpenVideo.Open(s.Data, callframe.ClearVP8(s.Data))
			if err != nil {
				if time.Since(asked) > time.Second {
					asked = time.Now()
					v.wantsKeyFrame()
				}
				continue
			}
			v.gaze.frame(frame)
			sealed := frames.SealVideo.Seal(frame, callframe.ClearVP8(frame))
			if err := v.sealed.WriteSample(media.Sample{Data: sealed, Duration: max(s.Duration, time.Millisecond)}); err != nil {
				v.p.log.Debug("a picture was not sent", slog.Any("error", err))
			}
		}
	}
}
