package callrtc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// remoteCandidates counts the addresses of the page that a peer keeps and knocks at.
func remoteCandidates(p *peer) (n int) {
	for _, s := range p.pc.GetStats() {
		if c, ok := s.(webrtc.ICECandidateStats); ok && c.Type == webrtc.StatsTypeRemoteCandidate {
			n++
		}
	}
	return n
}

// candidateLines are addresses that no other round has.
func candidateLines(round, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a=candidate:%d 1 udp 1 198.51.100.%d %d typ host\r\n", i+1, round+1, 10000+i)
	}
	return b.String()
}

// offerOf is a browser's offer with addresses, in the medium that the library reads them from.
func offerOf(round, n int) string {
	return strings.Replace(browserOffer, "a=mid:0\r\n", "a=mid:0\r\n"+candidateLines(round, n), 1)
}

// TestOffersWithoutARestartShareOneMeasureOfCandidates repeats an offer with other
// addresses each time: the library keeps all of them until the page begins anew.
func TestOffersWithoutARestartShareOneMeasureOfCandidates(t *testing.T) {
	t.Parallel()
	p := open(t, endpoint(t, Config{})).(*peer)
	defer func() { _ = p.Close() }()
	var last error
	for round := range 8 {
		_, last = p.Answer(t.Context(), offerOf(round, maxCandidates/2))
	}
	if got := remoteCandidates(p); got > maxCandidates {
		t.Errorf("the peer keeps %d addresses of the page, want at most %d", got, maxCandidates)
	}
	if !fault.Is(last, fault.RateLimited) {
		t.Errorf("the last offer: %v", last)
	}
	if err := p.AddCandidate(call.Candidate{Candidate: "candidate:1 1 udp 1 203.0.113.1 9 typ host"}); !fault.Is(err, fault.RateLimited) {
		t.Errorf("one more address: %v", err)
	}
	// Whoever begins anew has a new measure: the addresses before are forgotten.
	anew := strings.NewReplacer("4ZcD", "5ZcD", "2/1muCWoOi3uLifh0NuRHlwv", "3/1muCWoOi3uLifh0NuRHlwv").Replace(offerOf(9, maxCandidates/2))
	if _, err := p.Answer(t.Context(), anew); err != nil {
		t.Errorf("a restart: %v", err)
	}
	if got := remoteCandidates(p); got > maxCandidates {
		t.Errorf("after a restart the peer keeps %d addresses, want at most %d", got, maxCandidates)
	}
}

// Where many listen, or nobody, is no page.
func TestAddressesThatNoPageHas(t *testing.T) {
	t.Parallel()
	p := open(t, endpoint(t, Config{})).(*peer)
	defer func() { _ = p.Close() }()
	if _, err := p.Answer(t.Context(), offerOf(0, 1)); err != nil {
		t.Fatal(err)
	}
	for address, fine := range map[string]bool{
		"224.0.0.1": false, "239.255.255.250": false, "255.255.255.255": false, "0.0.0.0": false, "::": false, "ff02::1": false,
		"::ffff:224.0.0.1": false, "::ffff:255.255.255.255": false,
		"10.0.0.1": true, "127.0.0.1": true, "198.51.100.7": true, "2001:db8::1": true,
	} {
		text := "candidate:1 1 udp 1 " + address + " 9999 typ host"
		if err := p.AddCandidate(call.Candidate{Candidate: text, SDPMid: new("0")}); (err == nil) != fine {
			t.Errorf("%s trickles: %v", address, err)
		}
		offer := strings.Replace(browserOffer, "a=mid:0\r\n", "a=mid:0\r\na="+text+"\r\n", 1)
		if _, _, err := checkOffer(offer); (err == nil) != fine {
			t.Errorf("%s in an offer: %v", address, err)
		}
	}
}

// TestAnOfferThatCannotBeReadForgetsNoCandidates: the library keeps those that it has.
func TestAnOfferThatCannotBeReadForgetsNoCandidates(t *testing.T) {
	t.Parallel()
	p := open(t, endpoint(t, Config{})).(*peer)
	defer func() { _ = p.Close() }()
	if _, err := p.Answer(t.Context(), offerOf(0, maxCandidates/2)); err != nil {
		t.Fatal(err)
	}
	for round := range 4 * maxMisread {
		if _, err := p.Answer(t.Context(), "v=0\r\nm=x\r\n"); err == nil {
			t.Fatal("an offer that is none was answered")
		}
		for i := range maxCandidates / 2 {
			_ = p.AddCandidate(call.Candidate{
				Candidate: fmt.Sprintf("candidate:1 1 udp 1 203.0.113.%d %d typ host", round, 9+i), SDPMid: new("0"),
			})
		}
	}
	if got := remoteCandidates(p); got > maxCandidates {
		t.Errorf("the peer keeps %d addresses of the page, want at most %d", got, maxCandidates)
	}
	if _, err := p.Answer(t.Context(), offerOf(1, 1)); !fault.Is(err, fault.RateLimited) {
		t.Errorf("an offer after very many that could not be read: %v", err)
	}
}
