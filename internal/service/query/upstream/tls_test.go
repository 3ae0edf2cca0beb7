package upstream_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

// encrypted puts TLS before a node, with a certificate for example.com, and
// returns the address and the file of the authority.
func encrypted(t *testing.T, node *querytest.Node) (addr, ca string) {
	t.Helper()
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			inner, err := new(net.Dialer).DialContext(t.Context(), "tcp", node.Addr)
			if err != nil {
				_ = outer.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{outer, inner}, {inner, outer}} {
				running.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		node.Stop()
		running.Wait()
	})
	return listener.Addr().String(), ca
}

// TestTLS reaches a node by a connection that is encrypted and checked, and not
// one whose certificate is for somebody else.
func TestTLS(t *testing.T) {
	t.Parallel()
	addr, ca := encrypted(t, named(t, 10, nil))
	chains, err := upstream.ParseTargets([]string{addr + "?ca=" + ca + "&server_name=example.com"})
	if err != nil {
		t.Fatal(err)
	}
	pool := querytest.StartPool(t, chains[0])
	if _, err := invoke(t, pool, 0); err != nil {
		t.Error(err)
	}
	for _, options := range []string{"?ca=" + ca + "&server_name=elsewhere.example", "?tls=1", ""} {
		chains, err := upstream.ParseTargets([]string{addr + options})
		if err != nil {
			t.Fatal(err)
		}
		stranger, err := upstream.New(t.Context(), chains[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := invoke(t, stranger, 0); err == nil {
			t.Errorf("%q reached the node", options)
		}
		_ = stranger.Close()
	}
}
