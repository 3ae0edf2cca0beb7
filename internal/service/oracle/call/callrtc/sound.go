package callrtc

import (
	"fmt"

	"github.com/pion/webrtc/v4"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callopus"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// decoder turns packets into sound at callsound.HeardRate. The slices that it returns
// are good until the next call.
type decoder interface {
	Decode(packet []byte) ([]int16, error)
	// Lost returns what may have been in a packet that did not come. Next is the one
	// behind it; nil where that did not come either.
	Lost(next []byte) []int16
}

// newDecoder knows the codecs that pages may send, and how many bytes of their frames
// stay clear where they are sealed.
func newDecoder(mime string) (d decoder, clear int, err error) {
	switch mime {
	case webrtc.MimeTypeOpus:
		d, err = callopus.NewDecoder()
		return d, callframe.ClearOpus, err
	case webrtc.MimeTypePCMU:
		return &muLawDecoder{}, 0, nil
	}
	return nil, 0, fmt.Errorf("nothing here understands %s", mime)
}

// muLawDecoder doubles the rate by interpolation.
type muLawDecoder struct {
	low, out []int16
	last     int16
	conceal  callsound.Concealer
}

func (d *muLawDecoder) Decode(payload []byte) ([]int16, error) {
	d.low = callsound.FromMuLaw(d.low[:0], payload)
	d.out = d.out[:0]
	for _, s := range d.low {
		d.out = append(d.out, int16((int(d.last)+int(s))/2), s) //nolint:gosec // between two samples
		d.last = s
	}
	d.conceal.Heard(d.out)
	return d.out, nil
}

func (d *muLawDecoder) Lost([]byte) []int16 {
	d.out = append(d.out[:0], make([]int16, callsound.HeardRate/50)...)
	d.conceal.Lost(d.out)
	return d.out
}

// ear hears one page: it puts packets in order, opens them where they are sealed, and
// makes up for those that do not come.
type ear struct {
	decoder decoder
	open    *callframe.Opener // nil means that frames are not sealed
	clear   int
	order   reorder
}

func newEar(mime string, frames *callframe.Keys) (*ear, error) {
	d, clear, err := newDecoder(mime)
	if err != nil {
		return nil, err
	}
	e := &ear{decoder: d, clear: clear}
	if frames != nil {
		e.open = frames.OpenAudio
	}
	return e, nil
}

// take takes a packet and hands on what is heard by now; the sound is only lent.
func (e *ear) take(seq uint16, payload []byte, heard func(pcm []int16)) {
	e.order.add(seq, payload, func(p piece) {
		if packet := e.opened(p.payload); packet != nil {
			if pcm, err := e.decoder.Decode(packet); err == nil {
				heard(pcm)
				return
			}
		}
		heard(e.decoder.Lost(e.opened(p.next)))
	})
}

// opened is a packet as it was before it was sealed; nil where there is none.
func (e *ear) opened(payload []byte) []byte {
	if payload == nil || e.open == nil {
		return payload
	}
	packet, err := e.open.Open(payload, e.clear)
	if err != nil {
		return nil
	}
	return packet
}
