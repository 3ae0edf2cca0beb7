// Package ratelimit keeps one client from using up what many share.
//
// A Limiter counts by key over a sliding minute and refuses what is beyond its
// limit. It promises that no minute holds more than that, that the wait it names
// is exact, and that its memory is bounded. Nodes exchange counts as hints; when
// these are lost, each node enforces alone.
//
// A Gate shares out the time of expensive checks between client networks: who
// has used up its time waits its turn, round robin by network, and is refused
// only after a wait. It promises that one network's flood costs another network
// nothing but its fair share, and that its memory does not grow with the number
// of networks.
//
// Slots lets so many of one key work at a time, for work that holds much memory.
// Holdings does so by the bytes that are held, for answers that wait to be read.
//
// None of them does I/O or knows what it counts; who measures them asks for Stats.
//
// Decisions: ADR 0022, ADR 0146.
package ratelimit

import (
	"net/netip"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// CodeRefused is the code of a refusal.
const CodeRefused = "throttled"

// Refusal is what a client is told who asked too much.
func Refusal(retryAfter time.Duration) *fault.Error {
	return fault.New(fault.RateLimited, "Too many requests; please wait and try again").WithCode(CodeRefused).WithRetryAfter(retryAfter)
}

// NetworkOf is what counts as one client: an IPv4 address, or the /64 that one
// IPv6 client owns whole. What is not an address stays invalid.
func NetworkOf(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	full := addr.As16()
	clear(full[8:])
	return netip.AddrFrom16(full)
}
