package call

import (
	"context"
	"encoding/json"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
)

// Endpoint makes our ends of calls, and tells pages how to reach them.
type Endpoint interface {
	// Prepare makes the transport key of one call.
	Prepare() (TransportKey, error)
	// Open makes a peer, which hears nothing before its first Answer.
	Open(s PeerSpec) (Peer, error)
	// Servers are the relays that a page may use until a time.
	Servers(user string, until time.Time) []ICEServer
}

// TransportKey is the certificate of one call.
type TransportKey interface {
	// Fingerprint is "sha-256 AB:CD:…", in upper case.
	Fingerprint() string
	// Close gives up what was prepared for the first peer, if none took it.
	Close()
}

// ICEServer is a relay, as browsers want it described.
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   string   `json:"username,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// PeerSpec is what a peer is made of.
type PeerSpec struct {
	// Owner is whose page it is.
	Owner string
	Key   TransportKey
	// Remote is the fingerprint that the page's transport must have.
	Remote string
	Video  bool
	// Frames open and seal media; nil means that there is no such layer.
	Frames   *callframe.Keys
	Listener Listener
}

// PeerState is what is known of the way to the page.
type PeerState uint8

// The states of a peer.
const (
	PeerConnected PeerState = iota + 1
	PeerLost                // for now: it may come back by itself or by a new offer
	PeerClosed              // for good
)

// Listener is told what happens at a peer. Its methods must not block.
type Listener interface {
	// Candidate is one of our addresses; nil says that there are no more.
	Candidate(c *Candidate)
	PeerState(s PeerState)
	// Heard is mono sound at callsound.HeardRate, about callsound.FrameTime of it. It is only lent.
	Heard(pcm []int16)
	// ChannelOpened says that Send works.
	ChannelOpened()
	// Message is what the page sent over the data channel, at most callsignal.MaxMessage bytes.
	Message(data []byte)
	// MessageRefused says that the page sent too much, or no text.
	MessageRefused()
}

// Peer is our end of a call.
type Peer interface {
	// Answer takes the page's offer, also a later one, and returns the answer.
	Answer(ctx context.Context, offer string) (string, error)
	// AddCandidate takes one of the page's addresses.
	AddCandidate(c Candidate) error
	// Say sends callsound.SpokenFrame samples. first says that there was silence before.
	Say(pcm []int16, first bool) error
	// Look returns what the page's camera shows, as a JPEG picture. It fails when
	// there is nothing to see before ctx ends.
	Look(ctx context.Context) ([]byte, error)
	// Send sends text over the data channel.
	Send(text []byte) error
	// Close ends the peer and waits for what it runs.
	Close() error
}

// Candidate is an address, as browsers write it.
type Candidate = oracle.CallCandidate

// raw encodes what cannot fail.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`{}`) // strings, numbers and their structs always encode
	}
	return data
}
