package callrtc

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pion/webrtc/v4"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPacketsComeInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, out []int }{
		"in order":    {[]int{1, 2, 3}, []int{1, 2, 3}},
		"swapped":     {[]int{1, 3, 2, 4}, []int{1, 2, 3, 4}},
		"doubled":     {[]int{1, 1, 2, 2}, []int{1, 2}},
		"lost":        {[]int{1, 3, 4, 5, 6}, []int{1, -2, 3, 4, 5, 6}},
		"two lost":    {[]int{1, 4, 5, 6, 7}, []int{1, -2, -3, 4, 5, 6, 7}},
		"too late":    {[]int{1, 3, 4, 5, 6, 2, 7}, []int{1, -2, 3, 4, 5, 6, 7}},
		"around":      {[]int{65534, 65535, 0, 1}, []int{65534, 65535, 0, 1}},
		"a new start": {[]int{1, 2, 30000, 30001}, []int{1, 2, 30000, 30001}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r reorder
			var got []int
			var buffer [2]byte // one for all packets, as in hear
			for _, seq := range c.in {
				binary.BigEndian.PutUint16(buffer[:], uint16(seq))
				r.add(uint16(seq), buffer[:], func(p piece) {
					n := int(p.seq)
					switch {
					case p.payload == nil:
						n = -n
					case binary.BigEndian.Uint16(p.payload) != p.seq:
						t.Errorf("packet %d has the payload of %d", p.seq, binary.BigEndian.Uint16(p.payload))
					}
					got = append(got, n)
				})
			}
			if diff := cmp.Diff(c.out, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		var r reorder
		last, begun := uint16(0), false
		at := rapid.Uint16().Draw(t, "at")
		for range 200 {
			seq := at + uint16(rapid.IntRange(0, 6).Draw(t, "jump"))
			at++
			r.add(seq, []byte{1}, func(p piece) {
				if begun && p.seq != last+1 {
					t.Errorf("%d after %d", p.seq, last)
				}
				last, begun = p.seq, true
			})
			if len(r.held) > reorderDepth+1 {
				t.Errorf("holds %d packets", len(r.held))
			}
		}
	})
}

// voice is a recorded Opus packet.
func voice(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../calltest/testdata/opus.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if packet, ok := strings.CutPrefix(strings.TrimSpace(line), "voice "); ok {
			data, err := hex.DecodeString(packet)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatal("no recorded voice")
	return nil
}

func TestDecoders(t *testing.T) {
	t.Parallel()
	d, clear, err := newDecoder(webrtc.MimeTypeOpus)
	if err != nil || clear != callframe.ClearOpus {
		t.Fatal(clear, err)
	}
	var sum float64
	for range 5 {
		pcm, err := d.Decode(voice(t))
		if err != nil || len(pcm) != callsound.HeardRate/50 {
			t.Fatalf("%d samples, %v", len(pcm), err)
		}
		for _, s := range pcm {
			sum += math.Abs(float64(s))
		}
	}
	if sum == 0 {
		t.Error("the voice is silent")
	}
	if d, clear, err = newDecoder(webrtc.MimeTypePCMU); err != nil || clear != 0 {
		t.Fatal(clear, err)
	}
	pcm, err := d.Decode(callsound.MuLaw(nil, []int16{0, 1000, 2000}))
	if err != nil || len(pcm) != 6 || pcm[3] < 900 || pcm[3] > 1100 || pcm[4] < pcm[3] || pcm[4] > pcm[5] {
		t.Errorf("%v, %v", pcm, err)
	}
	if _, _, err := newDecoder(webrtc.MimeTypeG722); err == nil {
		t.Error("G.722 is understood")
	}
}

// What is lost of a voice as G.711 goes on as it was, and fades.
func TestALostPieceOfATelephoneIsMadeUp(t *testing.T) {
	t.Parallel()
	d, _, err := newDecoder(webrtc.MimeTypePCMU)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Decode(callsound.MuLaw(nil, callsound.Tone(muLawRate, 200, 0.5, 100*time.Millisecond))); err != nil {
		t.Fatal(err)
	}
	var loud []float64
	for range 4 {
		pcm := d.Lost(nil)
		if len(pcm) != callsound.HeardRate/50 {
			t.Fatalf("%d samples", len(pcm))
		}
		sum := 0.0
		for _, s := range pcm {
			sum += math.Abs(float64(s)) / float64(len(pcm))
		}
		loud = append(loud, sum)
	}
	if loud[0] < 2000 || loud[1] > loud[0] || loud[3] != 0 {
		t.Errorf("as loud as %.0f", loud)
	}
}

type nobody struct{}

func (nobody) Candidate(*call.Candidate) {}
func (nobody) PeerState(call.PeerState)  {}
func (nobody) Heard([]int16)             {}
func (nobody) ChannelOpened()            {}
func (nobody) Message([]byte)            {}
func (nobody) MessageRefused()           {}

func endpoint(t testing.TB, cfg Config) *Endpoint {
	t.Helper()
	cfg.Loopback = true
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func open(t testing.TB, e *Endpoint) call.Peer {
	t.Helper()
	key, err := e.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(key.Close)
	p, err := e.Open(call.PeerSpec{Key: key, Remote: key.Fingerprint(), Listener: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// browserOffer is an offer as a browser writes it.
const browserOffer = "v=0\r\no=- 46117317 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=extmap-allow-mixed\r\na=msid-semantic: WMS s\r\n" +
	"m=audio 9 UDP/TLS/RTP/SAVPF 111 0\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\na=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlwv\r\n" +
	"a=ice-options:trickle\r\na=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n" +
	"a=setup:actpass\r\na=mid:0\r\na=sendrecv\r\na=msid:s a\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\n" +
	"a=rtpmap:0 PCMU/8000\r\na=ssrc:3570614608 cname:4TOk42mSjXCkVIa6\r\n" +
	"m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlwv\r\n" +
	"a=fingerprint:sha-256 AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB\r\n" +
	"a=setup:actpass\r\na=mid:1\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"

func TestOffersThatAreNoOffersAreRefused(t *testing.T) {
	t.Parallel()
	e := endpoint(t, Config{})
	for name, sdp := range map[string]string{
		"no description":            "hello",
		"no media":                  "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n",
		"too many media":            "v=0\r\n" + strings.Repeat("m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n", maxMedia+1),
		"too many candidates":       browserOffer + strings.Repeat("a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n", maxCandidates+1),
		"cut":                       browserOffer[:len(browserOffer)/2],
		"without ICE":               strings.ReplaceAll(browserOffer, "a=ice-ufrag:4ZcD\r\n", ""),
		"without understood codecs": strings.ReplaceAll(strings.ReplaceAll(browserOffer, "opus/48000/2", "g719/48000"), "111 0\r\n", "111\r\n"),
	} {
		p := open(t, e)
		answer, err := p.Answer(t.Context(), sdp)
		if err == nil && name != "without understood codecs" {
			t.Errorf("%s: answered with %q", name, answer)
		}
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	p := open(t, e)
	answer, err := p.Answer(t.Context(), browserOffer)
	if err != nil || !strings.Contains(answer, "PCMU/8000") || !strings.Contains(answer, "opus/48000/2") || !strings.Contains(answer, " 127.0.0.1 ") {
		t.Errorf("a browser's offer: %q, %v", answer, err)
	}
	mid := "0"
	for text, ok := range map[string]bool{
		"candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host": true, "": true, "candidate:1 1 udp 1 0d5c-uuid.local 5000 typ host": true, "nonsense": false,
	} {
		if err := p.AddCandidate(call.Candidate{Candidate: text, SDPMid: &mid}); (err == nil) != ok {
			t.Errorf("candidate %q: %v", text, err)
		}
	}
	var last error
	for range maxCandidates {
		last = p.AddCandidate(call.Candidate{Candidate: "candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host", SDPMid: &mid})
	}
	if !fault.Is(last, fault.RateLimited) {
		t.Errorf("after too many candidates: %v", last)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestEveryLineOfAnOfferIsCounted hides lines from whoever looks at their beginnings:
// the library reads on at a lone carriage return.
func TestEveryLineOfAnOfferIsCounted(t *testing.T) {
	t.Parallel()
	e := endpoint(t, Config{})
	for name, more := range map[string]string{
		"media behind a return":      strings.Repeat("\rm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n", 9),
		"a candidate behind one":     "\ra=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n",
		"a return inside":            "a=x\ra=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n",
		"a blank before":             " a=x\r\n",
		"an empty line":              "\r\na=x\r\n",
		"too many candidates":        strings.Repeat("a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n", maxCandidates+1),
		"a name as long as a packet": "a=ice-ufrag:" + strings.Repeat("x", 500) + "\r\n",
	} {
		p := open(t, e)
		if _, err := p.Answer(t.Context(), browserOffer+more); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzOffer answers what a page may send as an offer.
func FuzzOffer(f *testing.F) {
	e := endpoint(f, Config{})
	f.Add(browserOffer)
	f.Add("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n")
	f.Fuzz(func(t *testing.T, sdp string) {
		if len(sdp) > 1<<14 {
			return
		}
		p := open(t, e)
		if _, err := p.Answer(t.Context(), sdp); err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", sdp, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneUDPPortForAllCalls(t *testing.T) {
	t.Parallel()
	port := freeUDP(t)
	e := endpoint(t, Config{Port: port})
	for range 2 {
		p := open(t, e)
		answer, err := p.Answer(t.Context(), browserOffer)
		if err != nil || !strings.Contains(answer, " 127.0.0.1 "+strconv.Itoa(port)+" ") {
			t.Errorf("%q, %v", answer, err)
		}
		for line := range strings.Lines(answer) {
			if fields := strings.Fields(line); strings.HasPrefix(line, "a=candidate:") && fields[5] != strconv.Itoa(port) {
				t.Errorf("another port: %s", line)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(Config{Port: port, Loopback: true}); err == nil {
		t.Error("the port was taken twice")
	}
}

func TestNothingOfOursIsKnockedAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"192.0.2.1": true, "10.0.0.1": true, "2001:db8::1": true, "127.0.0.1": false, "::1": false, "0.0.0.0": false, "224.0.0.1": false,
		"169.254.169.254": false, "fe80::1": false, "255.255.255.255": false,
	} {
		if got := (&Endpoint{}).mayReach(net.ParseIP(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if (&Endpoint{cfg: Config{PublicIPs: []string{"192.0.2.1"}}}).mayReach(net.ParseIP("192.0.2.1")) {
		t.Error("our own address is knocked at")
	}
	if !(&Endpoint{cfg: Config{Loopback: true}}).mayReach(net.ParseIP("127.0.0.1")) {
		t.Error("loopback is refused where it is wanted")
	}
}

func TestCertificatesAreOfOneCall(t *testing.T) {
	t.Parallel()
	e := endpoint(t, Config{})
	a, err := e.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	b, err := e.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if a.Fingerprint() == b.Fingerprint() || !strings.HasPrefix(a.Fingerprint(), "sha-256 ") || len(a.Fingerprint()) != 8+95 {
		t.Errorf("%s and %s", a.Fingerprint(), b.Fingerprint())
	}
}

func freeUDP(t testing.TB) int {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return c.LocalAddr().(*net.UDPAddr).Port
}
