// Package callkit puts live calls together: media, recordings and routes, as the settings of a node ask for them.
//
// It holds no rule of calls, and refuses settings that no call could be made with.
// What it opened is closed again when it fails.
package callkit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callrtc"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

// Deps is what calls stand on.
type Deps struct {
	Settings config.Calls
	// Host is where the program listens; Local says that callers may be on this machine.
	Host  string
	Local bool
	// Node is this node's name, OracleName the oracle's.
	Node, OracleName string

	Signer  did.Signer
	Guard   *identity.Service
	Oracle  *oraclekit.Oracle
	Gateway *oraclesocket.Gateway
	Access  oraclekit.Access
	// Speech are the services of calls, Works tells whether they answer.
	Speech call.SpeechServices
	Works  callhttp.Speech
	// Uploads are the file store's, where recordings go; without them nothing is recorded.
	Uploads *httpserver.Surface

	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	Bus          bus.Bus
	Metrics      *telemetry.Metrics
	Log          *slog.Logger
}

// Calls are live calls with what they stand on.
type Calls struct {
	*call.Service
	Surface  httpserver.Surface
	endpoint *callrtc.Endpoint
	relay    *callrtc.Relay
}

// Close releases ports, after all calls have ended.
func (l *Calls) Close() error {
	err := l.endpoint.Close()
	if l.relay != nil {
		err = errors.Join(err, l.relay.Close())
	}
	return err
}

// New makes live calls for the oracle.
func New(ctx context.Context, d Deps) (_ *Calls, err error) {
	s := d.Settings
	l := &Calls{}
	rtc := callrtc.Config{PublicIPs: s.PublicIPs, Loopback: d.Local, Port: s.UDPPort, Log: d.Log}
	if rtc.PortMin, rtc.PortMax, err = portRange(s.UDPRange); err != nil {
		return nil, err
	}
	if len(s.TurnURLs) > 0 {
		rtc.Relays = &callrtc.RelayServers{URLs: s.TurnURLs, Secret: s.TurnSecret.Reveal()}
	}
	if s.TurnListen != "" {
		if l.relay, err = newRelay(ctx, d); err != nil {
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
		Store: d.Oracle.Store, Endpoint: l.endpoint, Signer: d.Signer, Guard: d.Guard, Pages: d.Gateway,
		Oracle: d.Oracle.Spoken(), Speech: d.Speech, Bus: d.Bus, Log: d.Log,
	}
	if d.Uploads != nil {
		if deps.Archive, err = oraclekit.Recordings(*d.Uploads, d.Access); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.Service = call.New(deps, call.Config{
		Node: d.Node, OracleName: d.OracleName, MaxLength: s.MaxLength, PerUser: s.PerUser, PerNode: s.PerNode,
	})
	d.Gateway.TakeCalls(l.Service)
	l.Surface = d.Oracle.Gated(callhttp.Surface(callhttp.Deps{
		Calls: l.Service, Speech: d.Works, Authenticate: d.Authenticate, CORS: d.CORS,
	}))
	m := d.Metrics
	m.GaugeFunc("calls", "Live calls on this node.", func() float64 { return float64(l.Stats().Live) })
	m.CounterFunc("call_utterances_total", "Times that callers said something.", func() float64 { return float64(l.Stats().Utterances) })
	m.CounterFunc("calls_total", "Calls that were made on this node.", func() float64 { return float64(l.Stats().Served) })
	return l, nil
}

// newRelay makes the embedded relay.
func newRelay(ctx context.Context, d Deps) (*callrtc.Relay, error) {
	s := d.Settings
	secret := s.TurnSecret.Reveal()
	if secret == "" {
		var b [32]byte
		_, _ = rand.Read(b[:]) // never fails
		secret = hex.EncodeToString(b[:])
	}
	public, err := publicIP(s.PublicIPs, d.Host)
	if err != nil {
		return nil, err
	}
	return callrtc.NewRelay(ctx, callrtc.RelayConfig{Listen: s.TurnListen, PublicIP: public, Secret: secret, Log: d.Log})
}

// publicIP is where callers reach this machine: as configured, or as it listens, or
// its first address that others can reach.
func publicIP(configured []string, host string) (string, error) {
	if len(configured) > 0 {
		return configured[0], nil
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
