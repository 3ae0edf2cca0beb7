package callrtc

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the scheme that relays understand
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pion/turn/v5"

	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// RelayServers are TURN servers that share a secret with us: a page gets a name
// that says until when it is good, and a password that proves that we said so.
// coturn calls this use-auth-secret.
type RelayServers struct {
	URLs   []string
	Secret string
}

// relayGrace lets a page that reconnects in the last moment still be relayed.
const relayGrace = 5 * time.Minute

// offer makes the credentials of one user.
func (r *RelayServers) offer(user string, until time.Time) []call.ICEServer {
	s := call.ICEServer{URLs: r.URLs}
	if r.Secret != "" {
		// Relays log user names: a DID does not belong there.
		s.Username = strconv.FormatInt(until.Add(relayGrace).Unix(), 10) + ":" + pseudonym(r.Secret, user)
		s.Credential = relayPassword(r.Secret, s.Username)
	}
	return []call.ICEServer{s}
}

func pseudonym(secret, user string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte("user " + user))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:9])
}

func relayPassword(secret, username string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(username))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// RelayConfig makes an embedded relay.
type RelayConfig struct {
	// Listen is the UDP and TCP address of the relay.
	Listen string
	// PublicIP is where pages reach it.
	PublicIP string
	Secret   string
	// PerUser bounds the relayed ways of one user: 8. PerHost bounds those of one
	// address, whoever its users say to be, and All those of everybody: each has a
	// socket, and where strangers may come a user costs nothing. 128 and 1024.
	PerUser, PerHost, All int
	Log                   *slog.Logger
}

// Relay is a small TURN server for one machine. It relays to the peers of this
// program and to nothing else, so that it opens no way into the network that it
// stands in.
type Relay struct {
	server  *turn.Server
	servers *RelayServers
	allowed atomic.Pointer[func(netip.AddrPort) bool]
	quota   *quota
}

const realm = "castalia"

// listenBoth takes one port for UDP and TCP. Where the system chooses it (port
// 0), it knows of the one protocol only, and the other's may be taken: then
// another is asked for.
func listenBoth(ctx context.Context, address string) (net.PacketConn, net.Listener, error) {
	listen := net.ListenConfig{}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	for tries := 10; ; tries-- {
		packets, err := listen.ListenPacket(ctx, "udp", address)
		if err != nil {
			return nil, nil, err
		}
		streams, err := listen.Listen(ctx, "tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, streams, nil
		}
		_ = packets.Close()
		if port != "0" || tries == 0 || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
	}
}

// NewRelay listens. Close stops it.
func NewRelay(ctx context.Context, cfg RelayConfig) (_ *Relay, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.PerUser, cfg.PerHost, cfg.All = cmp.Or(cfg.PerUser, 8), cmp.Or(cfg.PerHost, 128), cmp.Or(cfg.All, 1024)
	public, err := netip.ParseAddr(cfg.PublicIP)
	if err != nil {
		return nil, fmt.Errorf("public address of the relay: %w", err)
	}
	if cfg.Secret == "" {
		return nil, errors.New("the relay needs a secret")
	}
	packets, streams, err := listenBoth(ctx, cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for relayed calls: %w", err)
	}
	defer func() {
		if err != nil {
			_ = packets.Close()
		}
	}()
	_, port, err := net.SplitHostPort(packets.LocalAddr().String())
	if err != nil {
		return nil, errors.Join(err, streams.Close())
	}
	at := net.JoinHostPort(public.String(), port)
	r := &Relay{
		servers: &RelayServers{Secret: cfg.Secret, URLs: []string{"turn:" + at + "?transport=udp", "turn:" + at + "?transport=tcp"}},
		quota:   newQuota(cfg),
	}
	r.only(func(netip.AddrPort) bool { return false })
	ways := &generator{relay: r, inner: &turn.RelayAddressGeneratorStatic{
		RelayAddress: net.IP(public.AsSlice()), Address: wildcard(public),
	}}
	log := quiet{cfg.Log}
	r.server, err = turn.NewServer(turn.ServerConfig{
		Realm: realm, LoggerFactory: log, AuthHandler: turn.LongTermTURNRESTAuthHandler(cfg.Secret, log.NewLogger("turn")),
		QuotaHandler:      r.quota.allow,
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: packets, RelayAddressGenerator: ways}},
		ListenerConfigs:   []turn.ListenerConfig{{Listener: newRelayListener(streams), RelayAddressGenerator: ways}},
		EventHandler:      turn.EventHandler{OnAllocationCreated: r.quota.created, OnAllocationDeleted: r.quota.deleted},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start relay: %w", err), streams.Close())
	}
	return r, nil
}

func wildcard(a netip.Addr) string {
	switch {
	case a.IsLoopback():
		return a.String()
	case a.Is4():
		return "0.0.0.0"
	}
	return "::"
}

// only says where the relay may send to.
func (r *Relay) only(allowed func(netip.AddrPort) bool) { r.allowed.Store(&allowed) }

// URLs are where pages reach the relay.
func (r *Relay) URLs() []string { return r.servers.URLs }

// Allocations counts the relayed ways that are open.
func (r *Relay) Allocations() int { return r.server.AllocationCount() }

// Close stops the relay.
func (r *Relay) Close() error { return r.server.Close() }

// generator makes relayed ways that lead nowhere but to our own peers.
type generator struct {
	relay *Relay
	inner *turn.RelayAddressGeneratorStatic
}

// Validate implements turn.RelayAddressGenerator.
func (g *generator) Validate() error { return g.inner.Validate() }

// AllocatePacketConn implements turn.RelayAddressGenerator.
func (g *generator) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	conn, addr, err := g.inner.AllocatePacketConn(c)
	if err != nil {
		return nil, nil, err
	}
	return &guarded{PacketConn: conn, relay: g.relay}, addr, nil
}

var errUDPOnly = errors.New("the relay relays UDP only")

// AllocateListener implements turn.RelayAddressGenerator.
func (g *generator) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errUDPOnly
}

// AllocateConn implements turn.RelayAddressGenerator.
func (g *generator) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errUDPOnly }

// guarded sends to our own peers only; the rest is swallowed, as a network would.
type guarded struct {
	net.PacketConn
	relay *Relay
}

// WriteTo sends a packet, if it may go there.
func (g *guarded) WriteTo(p []byte, addr net.Addr) (int, error) {
	to, ok := addr.(*net.UDPAddr)
	if !ok {
		return len(p), nil
	}
	at := to.AddrPort()
	if !(*g.relay.allowed.Load())(netip.AddrPortFrom(at.Addr().Unmap(), at.Port())) {
		return len(p), nil
	}
	return g.PacketConn.WriteTo(p, addr)
}

// quota counts the relayed ways: of each user, of each address, and all.
type quota struct {
	perUser, perHost, most int

	mu    sync.Mutex
	all   int
	users map[string]int
	hosts map[netip.Addr]int
}

func newQuota(cfg RelayConfig) *quota {
	return &quota{
		perUser: cfg.PerUser, perHost: cfg.PerHost, most: cfg.All,
		users: make(map[string]int), hosts: make(map[netip.Addr]int),
	}
}

// userOf is the part of a user name that stays when it is renewed.
func userOf(username string) string {
	if _, user, ok := strings.Cut(username, ":"); ok {
		return user
	}
	return username
}

func (q *quota) allow(username, _ string, from net.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all < q.most && q.hosts[hostOf(from)] < q.perHost && q.users[userOf(username)] < q.perUser
}

func (q *quota) created(from, _ net.Addr, _, userID, _ string, _ net.Addr, _ int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all++
	q.hosts[hostOf(from)]++
	q.users[userOf(userID)]++
}

func (q *quota) deleted(from, _ net.Addr, _, userID, _ string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all--
	lower(q.hosts, hostOf(from))
	lower(q.users, userOf(userID))
}

// lower counts one less, and forgets who has none.
func lower[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] <= 0 {
		delete(counts, of)
	}
}
