package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callrtc"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

// lines are the oracle's telephone lines: live calls with what they stand on.
type lines struct {
	*call.Service
	surface  httpserver.Surface
	endpoint *callrtc.Endpoint
	relay    *callrtc.Relay
}

// Close releases ports, after all calls have ended.
func (l *lines) Close() error {
	err := l.endpoint.Close()
	if l.relay != nil {
		err = errors.Join(err, l.relay.Close())
	}
	return err
}

// newCalls makes live calls for the oracle. Recordings are uploads of the file
// store's; without one nothing is recorded.
func (a *App) newCalls(
	ctx context.Context, o *oraclekit.Oracle, gateway *oraclesocket.Gateway, access oraclekit.Access, uploads *httpserver.Surface,
) (_ *lines, err error) {
	s := a.opt.Settings.Calls
	signer, err := serviceSigner(a.opt.Settings.Identity)
	if err != nil {
		return nil, err
	}
	l := &lines{}
	rtc := callrtc.Config{PublicIPs: s.PublicIPs, Loopback: a.localCalls(), Port: s.UDPPort, Log: a.opt.Log}
	if rtc.PortMin, rtc.PortMax, err = portRange(s.UDPRange); err != nil {
		return nil, err
	}
	if len(s.TurnURLs) > 0 {
		rtc.Relays = &callrtc.RelayServers{URLs: s.TurnURLs, Secret: s.TurnSecret.Reveal()}
	}
	if s.TurnListen != "" {
		if l.relay, err = a.newRelay(ctx, s); err != nil {
			return nil, fmt.Errorf("TURN_LISTEN: %w", err)
		}
		rtc.Relay = l.relay
	}
	if l.endpoint, err = callrtc.New(rtc); err != nil {
		if l.relay != nil {
			err = errors.Join(err, l.relay.Close())
		}
		return nil, fmt.Errorf("CALLS_UDP_PORT: %w", err)
	}
	deps := call.Deps{
		Store: o.Store, Endpoint: l.endpoint, Signer: signer, Guard: a.identity, Pages: gateway, Oracle: o.Spoken(), Bus: a.res.bus, Log: a.opt.Log,
	}
	if err = speech(&deps, s); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if uploads != nil {
		if deps.Archive, err = oraclekit.Recordings(*uploads, access); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.Service = call.New(deps, call.Config{
		Node: a.res.node, OracleName: a.opt.Settings.Oracle.Name, MaxLength: s.MaxLength, PerUser: s.PerUser, PerNode: s.PerNode,
	})
	gateway.TakeCalls(l.Service)
	l.surface = o.Gated(callhttp.Surface(callhttp.Deps{Calls: l.Service, Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS()}))
	m := a.res.metrics
	m.GaugeFunc("calls", "Live calls on this node.", func() float64 { return float64(l.Stats().Live) })
	m.CounterFunc("call_utterances_total", "Times that callers said something.", func() float64 { return float64(l.Stats().Utterances) })
	m.CounterFunc("calls_total", "Calls that were made on this node.", func() float64 { return float64(l.Stats().Served) })
	return l, nil
}

// speech adds the services that understand and speak, where they are given.
func speech(d *call.Deps, s config.Calls) error {
	if s.HearURL.Given() {
		hearing, err := callspeech.New(callspeech.Config{BaseURL: s.HearURL.Reveal(), Key: s.SpeechKey.Reveal(), Model: s.HearModel})
		if err != nil {
			return fmt.Errorf("SPEECH_TO_TEXT_URL: %w", err)
		}
		d.Hearing = hearing
	}
	if s.VoiceURL.Given() {
		voice, err := callspeech.New(callspeech.Config{BaseURL: s.VoiceURL.Reveal(), Key: s.SpeechKey.Reveal(), Model: s.VoiceModel, Voice: s.Voice})
		if err != nil {
			return fmt.Errorf("TEXT_TO_SPEECH_URL: %w", err)
		}
		d.Voice = voice
	}
	return nil
}

// localCalls reports whether callers may be on this machine: always when the
// program is for itself, and in a fleet only when it listens on loopback.
func (a *App) localCalls() bool {
	if !a.opt.Settings.Storage.Database.Given() {
		return true
	}
	return isLoopback(a.opt.Settings.Server.Host)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// newRelay makes the embedded relay.
func (a *App) newRelay(ctx context.Context, s config.Calls) (*callrtc.Relay, error) {
	secret := s.TurnSecret.Reveal()
	if secret == "" {
		var b [32]byte
		_, _ = rand.Read(b[:]) // never fails
		secret = hex.EncodeToString(b[:])
	}
	public, err := publicIP(s.PublicIPs, a.opt.Settings.Server.Host)
	if err != nil {
		return nil, err
	}
	return callrtc.NewRelay(ctx, callrtc.RelayConfig{Listen: s.TurnListen, PublicIP: public, Secret: secret, Log: a.opt.Log})
}

// publicIP is where callers reach this machine: as told, or as it listens, or
// its first address that others can reach.
func publicIP(told []string, host string) (string, error) {
	if len(told) > 0 {
		return told[0], nil
	}
	if host == "localhost" {
		return "127.0.0.1", nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && !ip.IsUnspecified() {
		return ip.String(), nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String(), nil
		}
	}
	return "127.0.0.1", nil
}

func portRange(text string) (low, high uint16, err error) {
	if text == "" {
		return 0, 0, nil
	}
	from, to, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseUint(strings.TrimSpace(from), 10, 16)
	b, errB := strconv.ParseUint(strings.TrimSpace(to), 10, 16)
	if errA != nil || errB != nil || a == 0 || b < a {
		return 0, 0, fmt.Errorf("CALLS_UDP_RANGE: given %q, allowed is two ports such as 50000-50999", text)
	}
	return uint16(a), uint16(b), nil
}
