// Package callrtc is the oracle's end of live calls over WebRTC.
//
// It promises that media flows only with the page whose certificate has the
// fingerprint that came by the authenticated signalling, that the page's sound
// reaches the call in order and at a steady pace whatever the network does, and
// that a video comes back as it was sent. It speaks and understands Opus,
// and G.711 to pages that have nothing else. It refuses offers that are too
// large or odd before the library sees them, and survives packets on which a
// decoder gives up.
//
// Decision: ADR 0060.
package callrtc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
)

// Config says where media is reached. The zero value uses all addresses of the
// machine but loopback, and a port of its own for each call.
type Config struct {
	// PublicIPs replace the machine's own addresses in what pages are told,
	// where a NAT with fixed mappings is in front.
	PublicIPs []string
	// Loopback offers loopback addresses too.
	Loopback bool
	// Port, when set, is the one UDP port of all calls.
	Port int
	// PortMin and PortMax, when set, bound the ports of calls.
	PortMin, PortMax uint16
	// Relay is the embedded relay; Relays are others. Both may be missing.
	Relay  *Relay
	Relays *RelayServers
	// DisconnectedAfter and FailedAfter are how long silence lasts until a way is
	// called lost; 4 s and 20 s.
	DisconnectedAfter, FailedAfter time.Duration
	Log                            *slog.Logger
}

// Endpoint makes peers. It is a call.Endpoint.
type Endpoint struct {
	cfg Config
	api *webrtc.API
	mux *ice.MultiUDPMuxDefault
	log *slog.Logger
	own *addresses
	// spare is a certificate for the next call.
	spare chan *certificate
	// knocks counts the addresses of pages, by their owner.
	knocks *ratelimit.Limiter
}

var _ call.Endpoint = (*Endpoint)(nil)

// New makes an Endpoint. Close releases its port.
func New(cfg Config) (*Endpoint, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.DisconnectedAfter == 0 {
		cfg.DisconnectedAfter = 4 * time.Second
	}
	if cfg.FailedAfter == 0 {
		cfg.FailedAfter = 20 * time.Second
	}
	e := &Endpoint{cfg: cfg, log: cfg.Log, own: &addresses{held: make(map[netip.AddrPort]int)}, knocks: newKnocks()}
	e.spare = make(chan *certificate, 1)
	settings, err := e.settings()
	if err != nil {
		return nil, err
	}
	media := &webrtc.MediaEngine{}
	for _, c := range understood() {
		if err := media.RegisterCodec(c.RTPCodecParameters, c.kind); err != nil {
			return nil, fmt.Errorf("register codec: %w", err)
		}
	}
	chain := &interceptor.Registry{}
	if err := webrtc.ConfigureNack(media, chain); err != nil {
		return nil, fmt.Errorf("configure retransmission: %w", err)
	}
	if err := webrtc.ConfigureRTCPReports(chain); err != nil {
		return nil, fmt.Errorf("configure reports: %w", err)
	}
	e.api = webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(chain),
		webrtc.WithSettingEngine(settings))
	if cfg.Relay != nil {
		cfg.Relay.only(e.own.has)
	}
	return e, nil
}

type codec struct {
	webrtc.RTPCodecParameters
	kind webrtc.RTPCodecType
}

// understood are the codecs we speak and understand, the page's first choice first.
func understood() []codec {
	one := func(mime string, clock uint32, channels uint16, fmtp string, pt webrtc.PayloadType, kind webrtc.RTPCodecType,
		feedback ...webrtc.RTCPFeedback,
	) codec {
		return codec{webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{
				MimeType: mime, ClockRate: clock, Channels: channels, SDPFmtpLine: fmtp, RTCPFeedback: feedback,
			},
			PayloadType: pt,
		}, kind}
	}
	return []codec{
		one(webrtc.MimeTypeOpus, 48000, 2, "minptime=10;useinbandfec=1", 111, webrtc.RTPCodecTypeAudio),
		one(webrtc.MimeTypePCMU, 8000, 0, "", 0, webrtc.RTPCodecTypeAudio),
		one(webrtc.MimeTypeVP8, 90000, 0, "", 96, webrtc.RTPCodecTypeVideo,
			webrtc.RTCPFeedback{Type: "nack"}, webrtc.RTCPFeedback{Type: "nack", Parameter: "pli"},
			webrtc.RTCPFeedback{Type: "ccm", Parameter: "fir"}),
	}
}

func (e *Endpoint) settings() (webrtc.SettingEngine, error) {
	var s webrtc.SettingEngine
	cfg := e.cfg
	s.LoggerFactory = quiet{cfg.Log}
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6})
	s.SetICETimeouts(cfg.DisconnectedAfter, cfg.FailedAfter, time.Second)
	s.SetIncludeLoopbackCandidate(cfg.Loopback)
	s.SetRemoteIPFilter(e.mayReach)
	s.SetSCTPMaxMessageSize(4 * callsignal.MaxMessage)
	if len(cfg.PublicIPs) > 0 {
		if err := s.SetICEAddressRewriteRules(webrtc.ICEAddressRewriteRule{
			External: cfg.PublicIPs, AsCandidateType: webrtc.ICECandidateTypeHost,
		}); err != nil {
			return s, fmt.Errorf("public addresses of calls: %w", err)
		}
	}
	switch {
	case cfg.Port > 0:
		options := []ice.UDPMuxFromPortOption{ice.UDPMuxFromPortWithLogger(s.LoggerFactory.NewLogger("mux"))}
		if cfg.Loopback {
			options = append(options, ice.UDPMuxFromPortWithLoopback())
		}
		mux, err := ice.NewMultiUDPMuxFromPort(cfg.Port, options...)
		if err != nil {
			return s, fmt.Errorf("listen for calls on UDP port %d: %w", cfg.Port, err)
		}
		e.mux = mux
		s.SetICEUDPMux(mux)
	case cfg.PortMax > 0:
		if err := s.SetEphemeralUDPPortRange(cfg.PortMin, cfg.PortMax); err != nil {
			return s, fmt.Errorf("UDP ports of calls: %w", err)
		}
	}
	return s, nil
}

// mayReach refuses addresses that no page has, so that an offer cannot make
// this node knock at its own doors.
func (e *Endpoint) mayReach(ip net.IP) bool {
	switch {
	case ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast(), ip.IsInterfaceLocalMulticast(),
		ip.Equal(net.IPv4bcast):
		return false
	case ip.IsLoopback():
		return e.cfg.Loopback
	}
	return e.cfg.Loopback || !e.isOwn(ip)
}

// isOwn reports whether an interface of this machine has the address. What cannot be
// looked up counts as ours: pages are also found by what they send.
func (e *Endpoint) isOwn(ip net.IP) bool {
	if slices.Contains(e.cfg.PublicIPs, ip.String()) {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// Close releases the port of all calls. The peers are closed before.
func (e *Endpoint) Close() error {
	if e.mux == nil {
		return nil
	}
	return e.mux.Close()
}

// Servers implements call.Endpoint.
func (e *Endpoint) Servers(user string, until time.Time) []call.ICEServer {
	out := []call.ICEServer{}
	if r := e.cfg.Relays; r != nil {
		out = append(out, r.offer(user, until)...)
	}
	if r := e.cfg.Relay; r != nil {
		out = append(out, r.servers.offer(user, until)...)
	}
	return out
}

// certificate is a call.TransportKey.
type certificate struct {
	cert        webrtc.Certificate
	fingerprint string
	made        time.Time

	mu sync.Mutex
	// early gets the connection of the first peer, or nil; it is nil when that was taken.
	early chan *webrtc.PeerConnection
}

// Fingerprint implements call.TransportKey.
func (c *certificate) Fingerprint() string { return c.fingerprint }

// Close implements call.TransportKey.
func (c *certificate) Close() {
	if pc := c.take(); pc != nil {
		_ = pc.GracefulClose()
	}
}

// take returns the connection that was made ahead, once. There may be none.
func (c *certificate) take() *webrtc.PeerConnection {
	c.mu.Lock()
	early := c.early
	c.early = nil
	c.mu.Unlock()
	if early == nil {
		return nil
	}
	return <-early
}

// spareFor is how long a certificate may wait for its call. The library lets one live for
// a month.
const spareFor = 24 * time.Hour

// Prepare implements call.Endpoint: each call has a certificate of its own. It was made
// before, while nobody waited, and the one for the next call is begun. While the call is
// stored and its page makes an offer, our end is opened and finds its own addresses.
func (e *Endpoint) Prepare() (call.TransportKey, error) {
	c, err := e.certificate()
	if err != nil {
		return nil, err
	}
	c.early = make(chan *webrtc.PeerConnection, 1)
	go func(early chan<- *webrtc.PeerConnection) {
		pc, err := e.connect(c, 1)
		if err != nil {
			pc = nil // who needs it finds the error
		}
		early <- pc
		e.putBy()
	}(c.early)
	return c, nil
}

func (e *Endpoint) certificate() (*certificate, error) {
	select {
	case c := <-e.spare:
		if time.Since(c.made) < spareFor {
			return c, nil
		}
	default:
	}
	return newCertificate()
}

// connect opens our end of a connection; ahead is 1 to find our addresses at once.
func (e *Endpoint) connect(c *certificate, ahead uint8) (*webrtc.PeerConnection, error) {
	return e.api.NewPeerConnection(webrtc.Configuration{
		Certificates: []webrtc.Certificate{c.cert}, ICECandidatePoolSize: ahead,
	})
}

// putBy makes a certificate for the next call, if there is none.
func (e *Endpoint) putBy() {
	if c, err := newCertificate(); err == nil { // who needs it finds the error
		select {
		case e.spare <- c:
		default:
		}
	}
}

func newCertificate() (*certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make transport key: %w", err)
	}
	cert, err := webrtc.GenerateCertificate(key)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	all, err := cert.GetFingerprints()
	if err != nil {
		return nil, fmt.Errorf("fingerprint certificate: %w", err)
	}
	for _, f := range all {
		if f.Algorithm == "sha-256" {
			return &certificate{cert: *cert, fingerprint: "sha-256 " + strings.ToUpper(f.Value), made: time.Now()}, nil
		}
	}
	return nil, errors.New("the certificate has no SHA-256 fingerprint")
}

// fingerprintOf is the fingerprint of a certificate in its DER form.
func fingerprintOf(der []byte) (string, bool) {
	if _, err := x509.ParseCertificate(der); err != nil {
		return "", false
	}
	sum := sha256.Sum256(der)
	var b strings.Builder
	b.WriteString("sha-256 ")
	for i, c := range sum {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", c)
	}
	return b.String(), true
}

// addresses are where the peers of this node listen.
type addresses struct {
	mu   sync.Mutex
	held map[netip.AddrPort]int
}

func (a *addresses) add(p netip.AddrPort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[p]++
}

func (a *addresses) remove(p netip.AddrPort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[p]--; a.held[p] <= 0 {
		delete(a.held, p)
	}
}

func (a *addresses) has(p netip.AddrPort) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held[p] > 0
}
