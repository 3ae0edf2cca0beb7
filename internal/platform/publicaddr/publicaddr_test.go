package publicaddr_test

import (
	"net/netip"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/publicaddr"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for want, addresses := range map[bool][]string{
		true: {"1.1.1.1", "93.184.215.14", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450:4001::8a", "::ffff:1.1.1.1"},
		false: {
			"0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.31.196.1", "192.52.193.1",
			"192.88.99.1", "192.168.1.1", "192.175.48.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "255.255.255.255",
			"::", "::1", "::127.0.0.1", "::10.0.0.1", "::ffff:127.0.0.1", "::ffff:0:7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "100:0:0:1::1",
			"2001::1", "2001:0:7f00:1::1", "2001:db8::1", "2002:7f00:1::1", "2620:4f:8000::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fe80::1%eth0",
			"fec0::1", "ff02::1", "64:ff9b::7f00:1%1", "2001:db8::1%eth0", "fec0::1%x",
		},
	} {
		for _, text := range addresses {
			if got := publicaddr.Public(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s: %v", text, got)
			}
		}
	}
	if publicaddr.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}
