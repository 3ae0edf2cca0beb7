package calltest

import (
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// Bare is a page that is connected to the least that can answer it: a peer that
// sends everything back. It is what calls are measured against.
func Bare(t testing.TB, kind call.Type) *Page {
	t.Helper()
	p := &Page{t: t, news: make(chan struct{})}
	p.Call.CallType = kind
	p.NewPeer()
	var settings webrtc.SettingEngine
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	media := &webrtc.MediaEngine{}
	must(t, media.RegisterDefaultCodecs())
	other, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings),
		webrtc.WithMediaEngine(media)).NewPeerConnection(webrtc.Configuration{})
	must(t, err)
	p.other = other
	t.Cleanup(func() {
		_ = other.GracefulClose()
		p.work.Wait()
	})
	tracks := map[webrtc.RTPCodecType]*webrtc.TrackLocalStaticRTP{}
	for codec, mime := range map[webrtc.RTPCodecType]string{
		webrtc.RTPCodecTypeAudio: webrtc.MimeTypeOpus,
		webrtc.RTPCodecTypeVideo: webrtc.MimeTypeVP8,
	} {
		track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: mime}, codec.String(), "echo")
		must(t, err)
		tracks[codec] = track
		if codec == webrtc.RTPCodecTypeVideo && kind != call.Video {
			continue
		}
		_, err = other.AddTrack(track)
		must(t, err)
	}
	other.OnTrack(func(in *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		p.work.Add(1)
		defer p.work.Done()
		for {
			packet, _, err := in.ReadRTP()
			if err != nil {
				return
			}
			_ = tracks[in.Kind()].WriteRTP(packet)
		}
	})
	opened := make(chan struct{})
	p.Channel.OnOpen(func() { close(opened) })
	offer := p.OfferPayload(false)
	sdp, _ := offer["sdp"].(string)
	must(t, other.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: sdp}))
	answer, err := other.CreateAnswer(nil)
	must(t, err)
	gathered := webrtc.GatheringCompletePromise(other)
	must(t, other.SetLocalDescription(answer))
	<-gathered
	must(t, p.PC.SetRemoteDescription(*other.LocalDescription()))
	select {
	case <-opened:
	case <-time.After(Patience):
		t.Fatal("the bare peer never connected")
	}
	return p
}

// Hang closes the page's end, and the other end of a bare pair.
func (p *Page) Hang() {
	_ = p.PC.GracefulClose()
	if p.other != nil {
		_ = p.other.GracefulClose()
	}
	if p.Socket != nil {
		p.Socket.Ask(p.t, "call_end", map[string]any{"callId": p.Call.CallID})
	}
}

// Mumble sends the next 20 ms of recorded voice.
func (p *Page) Mumble() {
	p.t.Helper()
	if p.voice == nil {
		p.voice = packets("voice")
	}
	p.Opus(p.voice[int(p.said.SequenceNumber)%len(p.voice)])
}
