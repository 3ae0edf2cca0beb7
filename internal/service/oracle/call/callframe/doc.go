// Package callframe seals the frames of a call between the page and the oracle,
// so that whoever relays the media hears and sees nothing. Both ends derive the
// keys from an X25519 agreement whose halves they have checked; a frame that
// does not open is refused, and what a relay must read of it stays clear.
//
// Decision: ADR 0061.
package callframe
