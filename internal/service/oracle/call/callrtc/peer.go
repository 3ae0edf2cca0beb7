package callrtc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
)

// Bounds of what a page may make a peer hold.
const (
	maxMedia      = 8
	maxCandidates = 128
	maxMisread    = 8
	maxSecret     = 128 // of ICE: browsers send 4 and 24 letters, and every ping repeats one
	maxBuffered   = 1 << 20
	// gatherTime is how long an answer waits for our own addresses.
	gatherTime = 100 * time.Millisecond
	// lastWordsTime is how long a closing peer waits for the page to have read.
	lastWordsTime = 300 * time.Millisecond
	lastWordsLook = 5 * time.Millisecond
)

// label is the name of the one data channel.
const label = "castalia"

// peer is one connection. It is a call.Peer.
type peer struct {
	e    *Endpoint
	spec call.PeerSpec
	pc   *webrtc.PeerConnection
	log  *slog.Logger

	voice   *voiceTrack
	picture *picture
	readers sync.WaitGroup
	closing sync.Once

	mu       sync.Mutex
	closed   bool
	answered bool
	early    []webrtc.ICECandidateInit // of the page, before its offer was taken
	taken    int                       // candidates since the page began, or began anew
	names    []string                  // the ice-ufrags that the library may go by
	misread  int                       // offers that the library could not read
	mine     []netip.AddrPort
	channel  *webrtc.DataChannel
}

var _ call.Peer = (*peer)(nil)

// Open implements call.Endpoint.
func (e *Endpoint) Open(s call.PeerSpec) (_ call.Peer, err error) {
	key, ok := s.Key.(*certificate)
	if !ok {
		return nil, errors.New("the transport key is of another endpoint")
	}
	pc := key.take()
	if pc == nil {
		if pc, err = e.connect(key, 0); err != nil {
			return nil, fmt.Errorf("make peer: %w", err)
		}
	}
	defer func() {
		if err != nil {
			_ = pc.GracefulClose()
		}
	}()
	p := &peer{e: e, spec: s, pc: pc, log: e.log, voice: newVoiceTrack(s.Frames)}
	if err = p.send(p.voice, p.voice.heed); err != nil {
		return nil, err
	}
	if s.Video {
		if p.picture, err = newPicture(p); err != nil {
			return nil, err
		}
		if err = p.send(p.picture.track(), p.picture.heed); err != nil {
			return nil, err
		}
	}
	pc.OnICECandidate(p.candidate)
	pc.OnConnectionStateChange(p.stateChanged)
	pc.OnTrack(p.tracked)
	pc.OnDataChannel(p.opened)
	return p, nil
}

// send adds a track of ours and heeds what the page reports about it.
func (p *peer) send(track webrtc.TrackLocal, heed func([]rtcp.Packet)) error {
	sender, err := p.pc.AddTrack(track)
	if err != nil {
		return fmt.Errorf("add track: %w", err)
	}
	p.readers.Go(func() {
		for {
			packets, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			heed(packets)
		}
	})
	return nil
}

// checkOffer refuses what is no offer of a browser before the library parses it, counts
// its candidates and lists its ice-ufrags. The library takes a lone carriage return for
// the end of a line as well; here each line is seen, or the offer is none.
func checkOffer(sdp string) (candidates int, names []string, err error) {
	if !strings.HasPrefix(sdp, "v=0") {
		return 0, nil, fault.New(fault.Invalid, "sdp is not a session description").WithCode("invalid")
	}
	media := 0
	for line := range strings.Lines(sdp) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case len(line) < 2 || line[0] < 'a' || line[0] > 'z' || line[1] != '=' || strings.ContainsAny(line, "\r\x00"):
			return 0, nil, fault.New(fault.Invalid, "sdp has a line that does not begin with a letter and =").WithCode("invalid")
		case strings.HasPrefix(line, "m="):
			media++
		case strings.HasPrefix(line, "a=candidate:"):
			if candidates++; !hasPage(line) {
				return 0, nil, errNoPage
			}
		case (strings.HasPrefix(line, "a=ice-ufrag:") || strings.HasPrefix(line, "a=ice-pwd:")) && len(line) > maxSecret:
			return 0, nil, fault.New(fault.Invalid, "sdp has an ice-ufrag or ice-pwd that is too long").WithCode("invalid")
		case strings.HasPrefix(line, "a=ice-ufrag:"):
			names = append(names, strings.TrimPrefix(line, "a=ice-ufrag:"))
		}
	}
	switch {
	case len(names) > maxMedia+1: // of the session, and of each medium
		return 0, nil, fault.New(fault.Invalid, "sdp has more than one ice-ufrag for a medium").WithCode("invalid")
	case media == 0 || media > maxMedia:
		return 0, nil, fault.Newf(fault.Invalid, "sdp must describe 1 to %d media", maxMedia).WithCode("invalid")
	case candidates > maxCandidates:
		return 0, nil, fault.Newf(fault.Invalid, "sdp must have at most %d candidates", maxCandidates).WithCode("invalid")
	}
	return candidates, names, nil
}

var errNoPage = fault.New(fault.Invalid, "A candidate has an address that no page has").WithCode("invalid")

// hasPage reports whether a page could be at a candidate's address: not where many listen,
// nor nobody. What cannot be read is left to the library.
func hasPage(candidate string) bool {
	fields := strings.Fields(candidate)
	if len(fields) < 6 {
		return true
	}
	ip, err := netip.ParseAddr(fields[4])
	if err != nil {
		return true
	}
	ip = ip.Unmap()
	return !ip.IsMulticast() && !ip.IsUnspecified() && ip != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

var errCandidates = fault.New(fault.RateLimited, "Too many candidates").WithCode("rate_limited")

// take counts the candidates of an offer. The library keeps them, and knocks at each,
// until the page begins anew: it does when none of its ice-ufrags was there before,
// whichever of them the library goes by. What came before is forgotten only when the
// library has taken the offer, which done says.
func (p *peer) take(candidates int, names []string) (done func(error), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.taken
	if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.names, name) }) {
		before = len(p.early) // those that came before the offer
	}
	if before+candidates > maxCandidates || p.misread >= maxMisread {
		return nil, errCandidates
	}
	if err := p.mayKnock(candidates); err != nil {
		return nil, err
	}
	forgotten := p.taken - before
	p.taken += candidates
	return func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.taken -= forgotten
			p.names = names
			return
		}
		p.misread++
		p.names = append(p.names, names...) // the library may go by them already
	}, nil
}

// Answer implements call.Peer.
func (p *peer) Answer(ctx context.Context, offer string) (string, error) {
	candidates, names, err := checkOffer(offer)
	if err != nil {
		return "", err
	}
	if len(p.pc.GetTransceivers()) > 2*maxMedia { // the library forgets none
		return "", fault.Newf(fault.Invalid, "a call must describe at most %d media in all its offers", 2*maxMedia).WithCode("invalid")
	}
	done, err := p.take(candidates, names)
	if err != nil {
		return "", err
	}
	err = p.describe(offer)
	if done(err); err != nil {
		return "", err
	}
	answer, err := p.pc.CreateAnswer(nil)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "The offer cannot be answered", err).WithCode("invalid")
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(answer); err != nil {
		return "", fault.Wrap(fault.Invalid, "The offer cannot be answered", err).WithCode("invalid")
	}
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-gathered:
	case <-timer.C:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	p.mu.Lock()
	p.answered = true
	p.mu.Unlock()
	return p.pc.LocalDescription().SDP, nil
}

// describe takes the page's description, and the candidates that came before it.
func (p *peer) describe(offer string) (err error) {
	defer func() {
		if recover() != nil { // a hostile description must not end the program
			err = fault.New(fault.Invalid, "The offer cannot be read").WithCode("invalid")
		}
	}()
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return fault.Wrap(fault.Invalid, "The offer cannot be read", err).WithCode("invalid")
	}
	p.mu.Lock()
	early := p.early
	p.early = nil
	p.mu.Unlock()
	for _, c := range early {
		if err := p.pc.AddICECandidate(c); err != nil {
			p.log.Debug("an early candidate was refused", slog.Any("error", err))
		}
	}
	return nil
}

// AddCandidate implements call.Peer.
func (p *peer) AddCandidate(c call.Candidate) error {
	if c.Candidate == "" || strings.Contains(c.Candidate, ".local ") {
		return nil // the end of candidates, or a name that only the page's own network knows
	}
	if !hasPage(c.Candidate) {
		return errNoPage
	}
	given := webrtc.ICECandidateInit{
		Candidate: c.Candidate, SDPMid: c.SDPMid, SDPMLineIndex: c.SDPMLineIndex, UsernameFragment: c.UsernameFragment,
	}
	p.mu.Lock()
	if p.taken++; p.taken > maxCandidates || p.mayKnock(1) != nil {
		p.mu.Unlock()
		return errCandidates
	}
	if p.pc.RemoteDescription() == nil {
		p.early = append(p.early, given)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	if err := p.pc.AddICECandidate(given); err != nil {
		return fault.Wrap(fault.Invalid, "The candidate cannot be read", err).WithCode("invalid")
	}
	return nil
}

// candidate tells the page of an address that came after the answer.
func (p *peer) candidate(c *webrtc.ICECandidate) {
	p.mu.Lock()
	late := p.answered
	if c != nil && !p.closed {
		if ip, err := netip.ParseAddr(c.Address); err == nil {
			at := netip.AddrPortFrom(ip.Unmap(), c.Port)
			p.mine = append(p.mine, at)
			p.e.own.add(at)
		}
	}
	p.mu.Unlock()
	if !late {
		return
	}
	if c == nil {
		p.spec.Listener.Candidate(nil)
		return
	}
	init := c.ToJSON()
	p.spec.Listener.Candidate(&call.Candidate{
		Candidate: init.Candidate, SDPMid: init.SDPMid,
		SDPMLineIndex: init.SDPMLineIndex, UsernameFragment: init.UsernameFragment,
	})
}

// stateChanged tells the call how the way to the page is.
func (p *peer) stateChanged(s webrtc.PeerConnectionState) {
	switch s {
	case webrtc.PeerConnectionStateConnected:
		if !p.genuine() {
			p.log.Warn("a page came with another certificate than it had said", slog.String("event", "call.certificate_changed"))
			go func() { _ = p.pc.Close() }()
			return
		}
		p.spec.Listener.PeerState(call.PeerConnected)
	case webrtc.PeerConnectionStateDisconnected, webrtc.PeerConnectionStateFailed:
		p.spec.Listener.PeerState(call.PeerLost)
	case webrtc.PeerConnectionStateClosed:
		p.spec.Listener.PeerState(call.PeerClosed)
	}
}

// genuine compares the certificate of the transport itself with what the page
// said over the authenticated signalling.
func (p *peer) genuine() bool {
	seen, ok := fingerprintOf(p.pc.SCTP().Transport().GetRemoteCertificate())
	return ok && seen == p.spec.Remote
}

// opened takes the page's data channel.
func (p *peer) opened(c *webrtc.DataChannel) {
	p.mu.Lock()
	ours := c.Label() == label && p.channel == nil && !p.closed
	if ours {
		p.channel = c
	}
	p.mu.Unlock()
	if !ours {
		go func() { _ = c.Close() }()
		return
	}
	c.OnOpen(func() {
		if p.genuine() {
			p.spec.Listener.ChannelOpened()
		}
	})
	c.OnMessage(func(m webrtc.DataChannelMessage) {
		if !m.IsString || len(m.Data) > callsignal.MaxMessage {
			p.spec.Listener.MessageRefused()
			return
		}
		p.spec.Listener.Message(m.Data)
	})
}

var errNoChannel = errors.New("there is no data channel")

// Send implements call.Peer.
func (p *peer) Send(text []byte) error {
	p.mu.Lock()
	c := p.channel
	p.mu.Unlock()
	switch {
	case c == nil || c.ReadyState() != webrtc.DataChannelStateOpen:
		return errNoChannel
	case c.BufferedAmount() > maxBuffered:
		return errors.New("the page does not read")
	}
	return c.SendText(string(text))
}

// Say implements call.Peer.
func (p *peer) Say(pcm []int16, first bool) error { return p.voice.say(pcm, first) }

// tracked reads what the page sends.
func (p *peer) tracked(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.readers.Add(1)
	}
	p.mu.Unlock()
	if closed {
		return
	}
	defer p.readers.Done()
	switch {
	case !p.genuine():
	case track.Kind() == webrtc.RTPCodecTypeAudio:
		p.hear(track)
	case p.picture != nil:
		p.picture.echo(track)
	default:
		discard(track)
	}
}

// maxPacket is more than a packet on its way through the internet can have.
const maxPacket = 1500

func discard(track *webrtc.TrackRemote) {
	buffer := make([]byte, maxPacket)
	for {
		if _, _, err := track.Read(buffer); err != nil {
			return
		}
	}
}

// hear decodes the page's sound until it ends.
func (p *peer) hear(track *webrtc.TrackRemote) {
	ear, err := newEar(track.Codec().MimeType, p.spec.Frames)
	if err != nil {
		p.log.Warn("a page speaks what nobody understands", slog.String("event", "call.codec_unknown"), slog.Any("error", err))
		discard(track)
		return
	}
	var (
		buffer [maxPacket]byte
		packet rtp.Packet
	)
	for {
		n, _, err := track.Read(buffer[:])
		if err != nil || packet.Unmarshal(buffer[:n]) != nil {
			return
		}
		if len(packet.Payload) > 0 {
			ear.take(packet.SequenceNumber, packet.Payload, p.spec.Listener.Heard)
		}
	}
}

// lastWords waits a moment until the page has what was sent to it.
func (p *peer) lastWords(c *webrtc.DataChannel) {
	look := time.NewTicker(lastWordsLook)
	defer look.Stop()
	for until := time.Now().Add(lastWordsTime); c.ReadyState() == webrtc.DataChannelStateOpen && c.BufferedAmount() > 0 &&
		time.Now().Before(until); {
		<-look.C
	}
}

// Close implements call.Peer.
func (p *peer) Close() error {
	var err error
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		mine, channel := p.mine, p.channel
		p.mine = nil
		p.mu.Unlock()
		if channel != nil {
			p.lastWords(channel)
		}
		err = p.pc.GracefulClose()
		p.readers.Wait()
		for _, at := range mine {
			p.e.own.remove(at)
		}
	})
	return err
}
