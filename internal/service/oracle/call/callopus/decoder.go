package callopus

import (
	"errors"
	"fmt"
	"math"

	"github.com/thesyncim/gopus"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

const (
	// heardFrame is how many samples a packet has that nobody knows yet.
	heardFrame = callsound.HeardRate / 50
	// longestPacket is how many samples a packet can have: 120 ms.
	longestPacket = callsound.HeardRate * 120 / 1000
)

// Decoder turns what a page sends into sound at callsound.HeardRate, one channel. Packets
// are hostile: what is none is an error, and no more. It is not safe for concurrent use.
type Decoder struct {
	dec    *gopus.Decoder
	length int // of the last packet
	made   [longestPacket]float32
	out    [longestPacket]int16
}

// NewDecoder makes a Decoder for one stream of packets.
func NewDecoder() (*Decoder, error) {
	d := &Decoder{length: heardFrame}
	if err := d.renew(); err != nil {
		return nil, err
	}
	return d, nil
}

// renew begins with a fresh state of the library.
func (d *Decoder) renew() error {
	dec, err := gopus.NewDecoder(gopus.DecoderConfig{
		SampleRate: callsound.HeardRate, Channels: 1, MaxPacketSamples: longestPacket, MaxPacketBytes: maxReceived,
	})
	if err != nil {
		return fmt.Errorf("make Opus decoder: %w", err)
	}
	d.dec = dec
	return nil
}

// maxReceived is more than a packet on its way through the internet can have.
const maxReceived = 1500

var errDecoder = errors.New("the Opus decoder gave up")

// Decode returns the sound of a packet, good until the next call.
func (d *Decoder) Decode(packet []byte) (pcm []int16, err error) {
	defer func() {
		if recover() != nil { // a hostile packet must not end the program
			pcm, err = nil, errors.Join(errDecoder, d.renew())
		}
	}()
	if len(packet) == 0 {
		return nil, errDecoder
	}
	n, err := d.dec.DecodeInt16(packet, d.out[:])
	if err != nil {
		return nil, errDecoder
	}
	d.length = n
	return d.out[:n], nil
}

// Lost returns the sound of a packet that did not come, as long as the one before it and
// good until the next call: what the next packet repeats of it, or what may have been
// said. Next is the packet behind it, which is decoded afterwards, and nil where that is not here either.
func (d *Decoder) Lost(next []byte) (pcm []int16) {
	defer func() {
		if recover() != nil || pcm == nil {
			_ = d.renew() // the same could be made before
			clear(d.out[:d.length])
			pcm = d.out[:d.length]
		}
	}()
	n, err := d.dec.DecodeWithFEC(next, d.made[:d.length], true)
	if err != nil && len(next) > 0 { // it is no packet: nobody knows what came before it
		n, err = d.dec.DecodeWithFEC(nil, d.made[:d.length], true)
	}
	if err != nil {
		return nil
	}
	for i, v := range d.made[:n] {
		d.out[i] = int16(math.Round(float64(max(-1, min(1, v))) * math.MaxInt16))
	}
	return d.out[:n]
}
