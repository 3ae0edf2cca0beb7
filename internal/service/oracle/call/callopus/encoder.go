package callopus

import (
	"errors"
	"fmt"
	"math"

	"github.com/thesyncim/gopus"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

const (
	// complexity is where more work is no longer heard, at half the cost of the
	// library's most.
	complexity = 5
	// maxPacket is more than any frame of ours has.
	maxPacket = 1275
	// untold is the longest packet that says nothing but that there is nothing:
	// it need not be sent.
	untold = 2
	// unreported is the loss that a line is taken to have before it reports: the
	// first words are the ones that nobody has heard yet.
	unreported = 0.05
	// forget is how much of a loss that is over still counts at the next report.
	forget = 0.7
)

// ladder is how many bits a second a line gets that loses no more than this: one
// that loses is often full. With fewer bits, frames that are sent again are worth
// less than what they cost (ADR 0230).
var ladder = [...]struct {
	lost float64
	bits int
}{{0.02, 32000}, {0.20, 24000}, {1, 20000}}

// Encoder encodes one voice. It is not safe for concurrent use.
type Encoder struct {
	enc  *gopus.Encoder
	lost float64
	out  [maxPacket]byte
}

// NewEncoder makes an Encoder for a line that has not reported anything yet.
func NewEncoder() (*Encoder, error) {
	e := &Encoder{lost: unreported}
	if err := e.renew(); err != nil {
		return nil, err
	}
	return e, nil
}

// renew begins with a fresh state of the library.
func (e *Encoder) renew() error {
	enc, err := gopus.NewEncoder(gopus.EncoderConfig{
		SampleRate: callsound.SpokenRate, Channels: 1, Application: gopus.ApplicationVoIP,
	})
	if err != nil {
		return fmt.Errorf("make Opus encoder: %w", err)
	}
	enc.SetDTX(true)
	enc.SetFEC(true)
	if err := errors.Join(enc.SetFrameSize(callsound.SpokenFrame), enc.SetComplexity(complexity),
		enc.SetSignal(gopus.SignalVoice)); err != nil {
		return fmt.Errorf("set up Opus encoder: %w", err)
	}
	e.enc = enc
	return e.suit()
}

// Report says which part of the packets, 0 to 1, a line has lost lately. Loss
// counts at once, and is forgotten slowly.
func (e *Encoder) Report(lost float64) error {
	lost = min(1, max(0, lost))
	e.lost = max(lost, forget*e.lost+(1-forget)*lost)
	return e.suit()
}

// suit sets the library to the line.
func (e *Encoder) suit() error {
	if err := errors.Join(e.enc.SetBitrate(e.bits()), e.enc.SetPacketLoss(int(math.Round(100*e.lost)))); err != nil {
		return fmt.Errorf("suit Opus encoder to its line: %w", err)
	}
	return nil
}

// bits is how many bits a second the line gets.
func (e *Encoder) bits() int {
	for _, step := range ladder {
		if e.lost <= step.lost {
			return step.bits
		}
	}
	return ladder[len(ladder)-1].bits
}

var errEncoder = errors.New("the Opus encoder gave up")

// Encode encodes callsound.SpokenFrame samples. The packet is good until the next
// call, and empty when nothing need be sent.
func (e *Encoder) Encode(pcm []int16) (packet []byte, err error) {
	defer func() {
		if recover() != nil { // a fault of the library must not end the program
			packet, err = nil, errors.Join(errEncoder, e.renew())
		}
	}()
	n, err := e.enc.EncodeInt16(pcm, e.out[:])
	if err != nil {
		return nil, fmt.Errorf("encode Opus: %w", err)
	}
	if n <= untold {
		return nil, nil
	}
	return e.out[:n], nil
}
