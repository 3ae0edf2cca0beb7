package busnats_test

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// cluster starts three servers that pass messages on to each other.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	var all []*server.Server
	var routes []*url.URL
	for i := range 3 {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("nats", i+1), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: -1}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { stop(s) })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("the NATS server does not start")
		}
		if i == 0 { // the others learn of each other from it
			routes = []*url.URL{{Scheme: "nats", Host: s.ClusterAddr().String()}}
		}
		all = append(all, s)
	}
	for _, s := range all {
		eventually(t, "every server knows the others", func() bool { return s.NumRemotes() == 2 })
	}
	return all
}

// guideAddress is the address that the guide shows, for other servers.
func guideAddress(t *testing.T, servers []*server.Server) string {
	t.Helper()
	guide, err := os.ReadFile("../../../../docs/guides/high-availability.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^    NATS_URL=(\S+)$`).FindSubmatch(guide)
	if found == nil {
		t.Fatal("the guide shows no address")
	}
	address := string(found[1])
	for i, s := range servers {
		name := fmt.Sprintf("nats%d:4222", i+1)
		if !strings.Contains(address, name) {
			t.Fatalf("the guide's address lacks %s: %s", name, address)
		}
		address = strings.Replace(address, name, s.Addr().String(), 1)
	}
	return address
}

// TestOneServerOfThreeIsEnough loses one server after the other, and the nodes with the
// address of the guide hear each other again by those that are left.
func TestOneServerOfThreeIsEnough(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	address := guideAddress(t, servers)
	one, other := connect(t, address), connect(t, address)
	got := make(chan string, 10_000)
	if _, err := other.Subscribe("x", func(m bus.Message) { got <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	heard := func(text string) {
		t.Helper()
		eventually(t, text, func() bool {
			_ = one.Publish(t.Context(), "x", []byte(text))
			for {
				select {
				case m := <-got:
					if m == text {
						return true
					}
				default:
					return false
				}
			}
		})
	}
	heard("with three servers")
	stop(servers[0])
	heard("with two servers")
	stop(servers[1])
	heard("with one server")
	if a, b := one.Lapses(), other.Lapses(); a > 2 || b > 2 {
		t.Errorf("they lost their servers %d and %d times, of which two went away", a, b)
	}
}
