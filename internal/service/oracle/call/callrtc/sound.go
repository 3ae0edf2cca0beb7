package callrtc

import (
	"errors"
	"fmt"

	"github.com/pion/opus"
	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// decoder turns packets into sound at callsound.HeardRate. The slice that it returns
// is good until the next call.
type decoder interface {
	decode(payload []byte) ([]int16, error)
}

// newDecoder knows the codecs that pages may send.
func newDecoder(mime string) (decoder, error) {
	switch mime {
	case webrtc.MimeTypeOpus:
		d, err := opus.NewDecoderWithOutput(callsound.HeardRate, 1)
		if err != nil {
			return nil, fmt.Errorf("make Opus decoder: %w", err)
		}
		return &opusDecoder{d: d, out: make([]int16, callsound.HeardRate/1000*120)}, nil
	case webrtc.MimeTypePCMU:
		return &muLawDecoder{}, nil
	}
	return nil, fmt.Errorf("nothing here understands %s", mime)
}

type opusDecoder struct {
	d   opus.Decoder
	out []int16
}

var errDecoder = errors.New("the decoder gave up")

func (d *opusDecoder) decode(payload []byte) (pcm []int16, err error) {
	defer func() {
		if recover() != nil { // a hostile packet must not end the program
			pcm, err = nil, errDecoder
		}
	}()
	n, err := d.d.DecodeToInt16(payload, d.out)
	if err != nil {
		return nil, errDecoder
	}
	return d.out[:n], nil
}

// muLawDecoder doubles the rate by interpolation.
type muLawDecoder struct {
	low, out []int16
	last     int16
}

func (d *muLawDecoder) decode(payload []byte) ([]int16, error) {
	d.low = callsound.FromMuLaw(d.low[:0], payload)
	d.out = d.out[:0]
	for _, s := range d.low {
		d.out = append(d.out, int16((int(d.last)+int(s))/2), s) //nolint:gosec // between two samples
		d.last = s
	}
	return d.out, nil
}
