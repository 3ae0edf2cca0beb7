package callrtc

import (
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/turn/v5"
)

func relay(t *testing.T, perUser int) *Relay {
	t.Helper()
	return relayOf(t, RelayConfig{Listen: "127.0.0.1:0", PublicIP: "127.0.0.1", Secret: "a secret", PerUser: perUser})
}

func relayOf(t *testing.T, cfg RelayConfig) *Relay {
	t.Helper()
	r, err := NewRelay(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// dial opens a client of the relay with credentials.
func dial(t *testing.T, r *Relay, name, password string) *turn.Client {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimSuffix(strings.TrimPrefix(r.URLs()[0], "turn:"), "?transport=udp")
	c, err := turn.NewClient(&turn.ClientConfig{
		STUNServerAddr: at, TURNServerAddr: at, Username: name, Password: password,
		Realm: realm, Conn: conn, RTO: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		_ = conn.Close()
	})
	return c
}

func TestTheRelayTakesOnlyItsOwnCredentials(t *testing.T) {
	t.Parallel()
	r := relay(t, 2)
	offer := func(until time.Time) (string, string) {
		s := r.servers.offer("did:key:alice", until)[0]
		return s.Username, s.Credential
	}
	name, password := offer(time.Now().Add(time.Minute))
	if strings.Contains(name, "alice") {
		t.Errorf("the relay's log would show %s", name)
	}
	for range 2 {
		conn, err := dial(t, r, name, password).Allocate()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	if _, err := dial(t, r, name, password).Allocate(); err == nil {
		t.Error("a third way of one user was opened")
	}
	old, oldPassword := offer(time.Now().Add(-time.Hour))
	for what, given := range map[string][2]string{
		"expired": {old, oldPassword}, "another's password": {name, oldPassword}, "invented": {"99999999999:x", "y"}, "no time": {"x", "y"},
	} {
		if _, err := dial(t, r, given[0], given[1]).Allocate(); err == nil {
			t.Errorf("%s: a way was opened", what)
		}
	}
}

// TestManyUsersOfOneAddressDoNotTakeAllWays makes a user for each way, as whoever makes
// keys does where everybody may come.
func TestManyUsersOfOneAddressDoNotTakeAllWays(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]RelayConfig{"of one address": {PerHost: 3}, "of all": {All: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Listen, cfg.PublicIP, cfg.Secret = "127.0.0.1:0", "127.0.0.1", "a secret"
			r := relayOf(t, cfg)
			allocate := func(user string) (net.PacketConn, error) {
				s := r.servers.offer(user, time.Now().Add(time.Minute))[0]
				return dial(t, r, s.Username, s.Credential).Allocate()
			}
			var ways []net.PacketConn
			for i := range 3 {
				way, err := allocate("did:key:user" + strconv.Itoa(i))
				if err != nil {
					t.Fatal(err)
				}
				ways = append(ways, way)
			}
			if _, err := allocate("did:key:another"); err == nil || r.Allocations() != 3 {
				t.Errorf("another user got a way, and there are %d: %v", r.Allocations(), err)
			}
			for _, way := range ways {
				if err := way.Close(); err != nil {
					t.Error(err)
				}
			}
			deadline := time.Now().Add(10 * time.Second)
			for r.Allocations() > 0 && time.Now().Before(deadline) {
				runtime.Gosched()
			}
			way, err := allocate("did:key:another")
			if err != nil {
				t.Fatalf("nothing is open, and another user gets no way: %v", err)
			}
			_ = way.Close()
		})
	}
}

func TestTheRelayLeadsToOurPeersAlone(t *testing.T) {
	t.Parallel()
	r := relay(t, 8)
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ours, theirs := listen(), listen()
	allowed := ours.LocalAddr().(*net.UDPAddr).AddrPort()
	r.only(func(p netip.AddrPort) bool { return p == allowed })
	s := r.servers.offer("did:key:alice", time.Now().Add(time.Minute))[0]
	conn, err := dial(t, r, s.Username, s.Credential).Allocate()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, to := range []*net.UDPConn{theirs, ours} { // the allowed one last: it comes after what was swallowed
		if _, err := conn.WriteTo([]byte("hello"), to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 16)
	if err := ours.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := ours.ReadFrom(buf); err != nil || string(buf[:n]) != "hello" {
		t.Errorf("our peer got %q, %v", buf[:n], err)
	}
	if err := theirs.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := theirs.ReadFrom(buf); err == nil {
		t.Errorf("somebody else got %q", buf[:n])
	}
}

func TestRelayCredentialsAreTheOnesOfTheScheme(t *testing.T) {
	t.Parallel()
	// As `turnadmin` and the draft compute it: base64(HMAC-SHA1(secret, username)).
	if got := relayPassword("north", "1433895918506:castalia"); got != "lazWLVphnkUSWxIjG0viDl+qyHY=" {
		t.Errorf("%s", got)
	}
	s := (&RelayServers{URLs: []string{"turn:relay.example:3478"}, Secret: "north"}).offer("did:key:alice", time.Unix(1000, 0))[0]
	until, _, _ := strings.Cut(s.Username, ":")
	if until != "1300" || s.Credential != relayPassword("north", s.Username) {
		t.Errorf("%+v", s)
	}
	if s := (&RelayServers{URLs: []string{"stun:x"}}).offer("a", time.Now())[0]; s.Username != "" || s.Credential != "" {
		t.Errorf("without a secret: %+v", s)
	}
}
