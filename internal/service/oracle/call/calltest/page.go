package calltest

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/opus"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// Page is somebody with a browser: it makes calls as a browser does.
type Page struct {
	t       testing.TB
	Base    string
	Token   string
	Session string
	Socket  *Socket
	Call    callhttp.Body
	PC      *webrtc.PeerConnection
	other   *webrtc.PeerConnection // of a bare pair
	Channel *webrtc.DataChannel

	// Framed is set for calls with a frame layer.
	Framed *callframe.Keys
	secret *ecdh.PrivateKey

	mu     sync.Mutex
	frames []map[string]any
	news   chan struct{}
	heard  []int16
	video  int
	mic    *webrtc.TrackLocalStaticRTP
	camera *webrtc.TrackLocalStaticRTP
	said   rtp.Header
	// Said is how long the page has talked and paused.
	Said  time.Duration
	voice [][]byte
	work  sync.WaitGroup
	// Telephone is set for pages that have no codec but G.711.
	Telephone bool
	// Language is the one of the calls that it makes.
	Language string
	codec    string // in which the oracle speaks
	// Seen, when set, is told of every video packet that comes back.
	Seen func(*rtp.Packet)
	// Arrived, when set, is told of every packet of sound, which is not listened to then.
	Arrived func(*rtp.Packet)
}

// NewPage makes a session at a node and opens its socket.
func NewPage(t testing.TB, n *Node, who identitytest.Actor, options ...identitytest.Option) *Page {
	t.Helper()
	return OpenPage(t, n.URL, n.URL, identitytest.Invocation(t, who, identitytest.Oracle.DID, options...))
}

// OpenPage makes a session at one address and opens its socket at another.
func OpenPage(t testing.TB, base, socket, token string) *Page {
	t.Helper()
	p := &Page{t: t, Base: base, Token: token, news: make(chan struct{})}
	var made struct{ SessionID string }
	p.Must(http.StatusCreated, "POST", "/sessions", nil, &made)
	p.Session = made.SessionID
	p.Socket = Dial(t, socket, p.Session, token)
	return p
}

// Do sends a request and returns its status and body.
func (p *Page) Do(method, path string, body any) (int, []byte) {
	p.t.Helper()
	var in io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		must(p.t, err)
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.Base+path, in)
	must(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("X-Auth-Type", "ucan")
	resp, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	must(p.t, err)
	return resp.StatusCode, data
}

// Must is Do for a request that is answered with a status.
func (p *Page) Must(status int, method, path string, body, into any) {
	p.t.Helper()
	got, data := p.Do(method, path, body)
	if got != status {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, got, data, status)
	}
	if into != nil {
		must(p.t, json.Unmarshal(data, into))
	}
}

// Create makes the record of a call.
func (p *Page) Create(kind call.Type, framed bool) {
	p.t.Helper()
	p.Must(http.StatusCreated, "POST", "/calls",
		callhttp.CreateBody{SessionID: p.Session, CallType: string(kind), E2EE: framed, Language: p.Language}, &p.Call)
	p.Verify()
	if !framed {
		return
	}
	var err error
	p.secret, err = ecdh.X25519().GenerateKey(rand.Reader)
	must(p.t, err)
	theirs, err := base64.RawURLEncoding.DecodeString(p.Call.Identity.Agreement)
	must(p.t, err)
	public, err := ecdh.X25519().NewPublicKey(theirs)
	must(p.t, err)
	p.Framed, err = callframe.PageKeys(p.Call.CallID, p.secret, public)
	must(p.t, err)
}

// Verify checks the signature of the call's identity, as every page must.
func (p *Page) Verify() {
	p.t.Helper()
	id := p.Call.Identity
	if id == nil {
		p.t.Fatal("the call has no identity")
	}
	signature, err := base64.RawURLEncoding.DecodeString(id.Signature)
	must(p.t, err)
	key, err := did.Parse("did:key:" + id.PublicKey)
	must(p.t, err)
	public, err := did.ParseKey(key)
	must(p.t, err)
	text := call.Statement(p.Call.CallID, id.DID, id.Fingerprint, id.Agreement)
	if !public.Verify(did.EdDSA, text, signature) {
		p.t.Fatal("the identity of the call is not signed by its key")
	}
}

// Ring makes a call of a kind and waits until media flows and the channel is open.
func (p *Page) Ring(kind call.Type, framed bool, change ...func(*webrtc.Configuration)) {
	p.t.Helper()
	p.Create(kind, framed)
	p.Connect(change...)
}

// Connect makes a peer connection for the call and waits for it.
func (p *Page) Connect(change ...func(*webrtc.Configuration)) {
	p.t.Helper()
	p.NewPeer(change...)
	p.Offer(false)
	p.Await("hello")
	p.Pause(1) // nobody speaks in the first moment
}

// NewPeer makes a peer connection with a microphone and, for video, a camera.
func (p *Page) NewPeer(change ...func(*webrtc.Configuration)) {
	p.t.Helper()
	var settings webrtc.SettingEngine
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	media := &webrtc.MediaEngine{}
	mic := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}
	if p.Telephone {
		mic = webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypePCMU, ClockRate: 8000}
		must(p.t, media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: mic}, webrtc.RTPCodecTypeAudio))
	} else {
		must(p.t, media.RegisterDefaultCodecs())
	}
	var cfg webrtc.Configuration
	for _, f := range change {
		f(&cfg)
	}
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media)).NewPeerConnection(cfg)
	must(p.t, err)
	p.PC = pc
	p.t.Cleanup(func() {
		_ = pc.GracefulClose()
		p.work.Wait()
	})
	p.mic, err = webrtc.NewTrackLocalStaticRTP(mic, "mic", "page")
	must(p.t, err)
	_, err = pc.AddTrack(p.mic)
	must(p.t, err)
	if p.Call.CallType == call.Video {
		p.camera, err = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{
			MimeType: webrtc.MimeTypeVP8, ClockRate: 90000,
		}, "camera", "page")
		must(p.t, err)
		_, err = pc.AddTrack(p.camera)
		must(p.t, err)
	}
	p.Channel, err = pc.CreateDataChannel("castalia", nil)
	must(p.t, err)
	p.Channel.OnMessage(func(m webrtc.DataChannelMessage) { p.frame(m.Data) })
	pc.OnTrack(p.tracked)
}

func (p *Page) tracked(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
	p.work.Add(1)
	defer p.work.Done()
	var decode func([]int16, []byte) []int16
	if track.Kind() == webrtc.RTPCodecTypeAudio {
		decode = decoder(p.t, track.Codec().MimeType)
		p.mu.Lock()
		p.codec = track.Codec().MimeType
		p.mu.Unlock()
	}
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		p.mu.Lock()
		if track.Kind() == webrtc.RTPCodecTypeVideo {
			p.video++
			if p.Seen != nil {
				p.Seen(packet)
			}
		} else if p.Arrived != nil {
			p.Arrived(packet)
		} else if payload, ok := p.open(packet.Payload); ok {
			p.heard = decode(p.heard, payload)
		}
		p.wake()
		p.mu.Unlock()
	}
}

// decoder appends what packets of a codec sound like, at callsound.SpokenRate.
func decoder(t testing.TB, mime string) func([]int16, []byte) []int16 {
	if mime == webrtc.MimeTypePCMU {
		rate := callsound.NewResampler(8000, callsound.SpokenRate)
		return func(dst []int16, payload []byte) []int16 { return rate.Add(dst, callsound.FromMuLaw(nil, payload)) }
	}
	d, err := opus.NewDecoderWithOutput(callsound.SpokenRate, 1)
	must(t, err)
	out := make([]int16, 6*callsound.SpokenFrame)
	return func(dst []int16, payload []byte) []int16 {
		n, err := d.DecodeToInt16(payload, out)
		if err != nil {
			t.Errorf("the page does not understand a packet of %d bytes: %v", len(payload), err)
		}
		return append(dst, out[:n]...)
	}
}

// Codec is the one in which the oracle speaks, once it has.
func (p *Page) Codec() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.codec
}

func (p *Page) open(payload []byte) ([]byte, bool) {
	if p.Framed == nil {
		return payload, true
	}
	out, err := p.Framed.OpenAudio.Open(payload, callframe.ClearSpoken)
	return out, err == nil
}

func (p *Page) wake() {
	close(p.news)
	p.news = make(chan struct{})
}

func (p *Page) frame(data []byte) {
	var f map[string]any
	if json.Unmarshal(data, &f) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, f)
	p.wake()
}

// RawFingerprint is the fingerprint of a description as it is written there.
func RawFingerprint(sdp string) string {
	for line := range strings.SplitSeq(sdp, "\n") {
		if f, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "a=fingerprint:"); ok {
			return f
		}
	}
	return ""
}

// Fingerprint is that of a description as identities write it.
func Fingerprint(sdp string) string {
	algorithm, digest, _ := strings.Cut(RawFingerprint(sdp), " ")
	return algorithm + " " + strings.ToUpper(digest)
}

// OfferPayload makes an offer with all of the page's own addresses in it.
func (p *Page) OfferPayload(restart bool) map[string]any {
	p.t.Helper()
	offer, err := p.PC.CreateOffer(&webrtc.OfferOptions{ICERestart: restart})
	must(p.t, err)
	gathered := webrtc.GatheringCompletePromise(p.PC)
	must(p.t, p.PC.SetLocalDescription(offer))
	select {
	case <-gathered:
	case <-time.After(Patience):
		p.t.Fatal("the page finds no address of its own")
	}
	sdp := p.PC.LocalDescription().SDP
	out := map[string]any{"callId": p.Call.CallID, "sdp": sdp, "fingerprint": Fingerprint(sdp), "restart": restart}
	if p.secret != nil {
		out["frameKey"] = base64.RawURLEncoding.EncodeToString(p.secret.PublicKey().Bytes())
	}
	return out
}

// Answer is the acknowledgement of an offer.
type Answer struct {
	OK       bool
	SDP      string
	Identity call.Identity
	Error    struct{ Code, Message string }
}

// Offer sends an offer over the socket and takes the answer.
func (p *Page) Offer(restart bool) {
	p.t.Helper()
	var a Answer
	must(p.t, json.Unmarshal(p.Socket.Ask(p.t, "call_offer", p.OfferPayload(restart)), &a))
	if !a.OK {
		p.t.Fatalf("the offer was refused: %s %s", a.Error.Code, a.Error.Message)
	}
	if got := Fingerprint(a.SDP); got != p.Call.Identity.Fingerprint {
		p.t.Fatalf("the answer has the fingerprint %s, signed is %s", got, p.Call.Identity.Fingerprint)
	}
	must(p.t, p.PC.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: a.SDP}))
}

// until waits for something about the page to become true.
func (p *Page) until(what string, ok func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		p.mu.Lock()
		done, news := ok(), p.news
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("never: %s; frames %v, %d samples heard", what, p.frames, len(p.heard))
		}
	}
}

// Await waits for a frame of a type whose fields have values, and takes it and
// everything before it away.
func (p *Page) Await(kind string, fields ...any) map[string]any {
	p.t.Helper()
	return p.AwaitFrame(fmt.Sprint(kind, fields), func(f map[string]any) bool {
		same := f["type"] == kind
		for k := 0; k < len(fields); k += 2 {
			name, _ := fields[k].(string)
			same = same && f[name] == fields[k+1]
		}
		return same
	})
}

// AwaitFrame waits for a frame that is the one, and takes it and everything
// before it away.
func (p *Page) AwaitFrame(what string, is func(map[string]any) bool) map[string]any {
	p.t.Helper()
	var found map[string]any
	p.until(what, func() bool {
		for i, f := range p.frames {
			if is(f) {
				found = f
				p.frames = p.frames[i+1:]
				return true
			}
		}
		return false
	})
	return found
}

// Send sends a frame over the data channel.
func (p *Page) Send(frame any) {
	p.t.Helper()
	data, ok := frame.(string)
	if !ok {
		raw, err := json.Marshal(frame)
		must(p.t, err)
		data = string(raw)
	}
	must(p.t, p.Channel.SendText(data))
}

// Hear waits for so much sound, forgets what came before, and returns it.
func (p *Page) Hear(length time.Duration) []int16 {
	p.t.Helper()
	n := int(length * callsound.SpokenRate / time.Second)
	var out []int16
	p.until("sound", func() bool {
		if len(p.heard) < n {
			return false
		}
		out = p.heard
		p.heard = nil
		return true
	})
	return out
}

// Heard is how much sound has come and was not taken yet.
func (p *Page) Heard() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// See waits for video packets to come back.
func (p *Page) See(packets int) {
	p.t.Helper()
	p.until("video", func() bool { return p.video >= packets })
}

// Opus sends one packet of 20 ms from the microphone; a telephone sends silence.
func (p *Page) Opus(payload []byte) {
	p.t.Helper()
	if p.Telephone {
		payload = bytes.Repeat([]byte{0xff}, 160)
	}
	if p.Framed != nil {
		payload = p.Framed.SealAudio.Seal(payload, callframe.ClearOpus)
	}
	p.said.SequenceNumber++
	p.said.Timestamp += 960
	must(p.t,
		p.mic.WriteRTP(&rtp.Packet{Header: rtp.Header{
			Version: 2, SequenceNumber: p.said.SequenceNumber, Timestamp: p.said.Timestamp,
		}, Payload: payload}))
}

//go:embed testdata/opus.txt
var opusPackets string

//go:embed testdata/vp8.txt
var vp8Frames string

// Frame is a VP8 key frame of 64 by 48 pixels: "halves" is red on the left and
// blue on the right, "dark" is black.
func Frame(name string) []byte { return lines(vp8Frames, name)[0] }

// packets of the recorded voice, or of its silence.
func packets(kind string) [][]byte { return lines(opusPackets, kind) }

func lines(file, kind string) [][]byte {
	var out [][]byte
	for line := range strings.Lines(file) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), kind+" "); ok {
			data, err := hex.DecodeString(text)
			if err != nil {
				panic(err) // the file is embedded
			}
			out = append(out, data)
		}
	}
	return out
}

// pace is how fast recorded sound is sent: faster than life, because nothing
// here depends on the clock, and slow enough for the network.
const pace = 2 * time.Millisecond

// Talk speaks half a second of recorded voice into the microphone, so often.
func (p *Page) Talk(times int) { p.play("voice", times) }

// Live speaks for so long at the pace of life; then it is silent until ended says so.
func (p *Page) Live(length time.Duration, ended func() bool) {
	p.t.Helper()
	tick := time.NewTicker(callsound.FrameTime)
	defer tick.Stop()
	voice, quiet := packets("voice"), packets("quiet")
	for i := range int(length / callsound.FrameTime) {
		p.Opus(voice[i%len(voice)])
		<-tick.C
	}
	for i := 0; !ended(); i++ {
		p.Opus(quiet[i%len(quiet)])
		<-tick.C
	}
}

// Pause is silent for a second, so often.
func (p *Page) Pause(times int) { p.play("quiet", 10*times) }

// Breath is silent for a moment that ends no sentence which breaks off.
func (p *Page) Breath() { p.play("quiet", 3) }

func (p *Page) play(kind string, times int) {
	p.t.Helper()
	all := packets(kind)
	for range times {
		for _, data := range all {
			p.Opus(data)
			p.Said += callsound.FrameTime
			time.Sleep(pace)
		}
	}
}

// Show sends a VP8 frame, in one packet, until stop is called.
func (p *Page) Show(frame []byte) (stop func()) {
	p.t.Helper()
	ended := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := uint16(0); ; i++ {
			data := frame
			if p.Framed != nil {
				data = p.Framed.SealVideo.Seal(frame, callframe.ClearVP8(frame))
			}
			_ = p.camera.WriteRTP(&rtp.Packet{ // a line that is closing takes nothing
				Header:  rtp.Header{Version: 2, Marker: true, SequenceNumber: i, Timestamp: 3000 * uint32(i)},
				Payload: append([]byte{0x10}, data...),
			})
			select {
			case <-ended:
				return
			case <-time.After(33 * time.Millisecond):
			}
		}
	})
	return func() {
		close(ended)
		work.Wait()
	}
}

// Camera sends one video packet.
func (p *Page) Camera(packet *rtp.Packet) {
	p.t.Helper()
	must(p.t, p.camera.WriteRTP(packet))
}
